"""From a demonstration to a workflow that can be run: recorded, compiled with the answers of a file, admitted.

Laws of this module:

- It does what a person does with ``surehand record``, ``compile``, ``certify`` and ``admit``, and nothing else.
- Answers come from ``<name>/answers.toml`` alone; a question that the file does not answer stops everything.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen
from returns.result import Failure

from apps.apps import App, AppName
from apps.demonstration import Demonstration, Values
from apps.proxy import SaveSign
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.compile import AnswerProblem, Draft, compile_recordings, confirm
from surehand.core.workflow.policy import POLICIES, Profile
from surehand.core.workflow.recording import Recording
from surehand.shell.admission import Proposal, Registry
from surehand.shell.authoring.recorder import Recorder
from surehand.shell.bundles import load_bundle, write_bundle

_FOLDER: Final = Path(__file__).parent
_PATIENCE_MS: Final = 60_000

#: The policy under which the workflows are certified.
POLICY: Final = POLICIES["permissive"]


class NotCompiledError(Exception):
    """A demonstration did not become a workflow; the message holds the refusals, or what is not answered."""


@frozen
class Sheet:
    """What an app's file says.

    ``shown`` are the numbers of the sets of inputs that are demonstrated, ``answers`` those of a person to the
    compiler's questions, ``requests`` those about requests and sockets by method and path. ``inputs`` names the value
    of a demonstration for each input of the workflow, ``save`` is how the save is known on its way, ``sign_in`` where
    one signs in. ``database`` is the app's SQLite file below its state folder, where an operator connected it.
    """

    shown: tuple[int, ...]
    answers: Mapping[str, str]
    requests: Mapping[str, str]
    inputs: Mapping[str, str]
    save: SaveSign
    sign_in: str
    database: str | None


def sheet_of(name: AppName) -> Sheet:
    """The file of an app."""
    data = tomllib.loads((_FOLDER / name.value / "answers.toml").read_text(encoding="utf-8"))
    save = data["save"]
    sign = SaveSign(save["method"], re.compile(save["path"]), re.compile(save.get("body", "").encode()))
    shown = tuple(data.get("shown", [0]))
    return Sheet(
        shown, data["answers"], data.get("requests", {}), data["inputs"], sign, data["sign_in"], data.get("database")
    )


async def record(app: App, demonstration: Demonstration, shown: tuple[int, ...]) -> tuple[tuple[Recording, ...], str]:
    """Record demonstrations of these sets of inputs, the first with the sign-in; with them comes the session."""
    recordings: list[Recording] = []
    session: str | None = None
    for place in shown:
        async with Recorder.open(app.origin, headed=False, session=session) as recorder:
            recorder.page.set_default_timeout(_PATIENCE_MS)
            if session is None:
                await demonstration.sign_in(recorder.page, app)
            await demonstration.demonstrate(recorder.page, app, demonstration.INPUTS[place])
            recordings.append(await recorder.stop())
            session = await recorder.session_state()
    return tuple(recordings), session or ""


def compiled(recordings: tuple[Recording, ...], sheet: Sheet) -> Bundle:
    """The workflow.

    Raises:
        NotCompiledError: It is refused, or a question is open.
    """
    found = compile_recordings(recordings)
    if isinstance(found, Failure):
        refused = [f"refused: {each.code.value} at event {each.step}" for each in found.failure()]
        raise NotCompiledError("\n".join(refused))
    draft = found.unwrap()
    # Which requests happen while a form is filled in differs from one time to the next.
    asked = {each.id: sheet.requests[each.subject] for each in draft.questions if each.subject in sheet.requests}
    bundle = confirm(draft, {**sheet.answers, **asked})
    if isinstance(bundle, Failure):
        raise NotCompiledError("\n".join(_lines(draft, bundle.failure())))
    return bundle.unwrap()


def _lines(draft: Draft, problems: tuple[AnswerProblem, ...]) -> list[str]:
    """What is wrong with the answers, and the questions that are not answered rightly."""
    asked = {question.id: question for question in draft.questions}
    lines: list[str] = []
    for problem in problems:
        lines.append(f"{problem.id}: {problem.code.value} {problem.rule or ''}")
        if problem.id in asked:
            question = asked[problem.id]
            lines.append(f"   {question.subject}: {' '.join(question.options)}")
            lines += [f"   {each.code.value} {each.number} {each.text}" for each in question.evidence]
    return lines


def install(bundle: Bundle, folder: Path, state_folder: Path) -> None:
    """Write the workflow, and do what a person does before it may run."""
    write_bundle(folder, bundle)
    kept = load_bundle(folder)
    registry = Registry(state_folder)
    registry.certify(kept, POLICY)
    registry.admit(Proposal(folder=kept, policy=POLICY, profile=Profile.STANDARD))


def inputs_for(sheet: Sheet, values: Values) -> dict[str, str]:
    """The inputs of the workflow for one set of values."""
    return {name: values[key] for name, key in sheet.inputs.items()}
