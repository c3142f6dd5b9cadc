"""``surehand compile``: recordings become a workflow, once a person has answered what the recordings cannot say.

Laws of this module:

- Questions are asked at a terminal, answered by a file, or printed; none is answered by itself.
- What was typed or seen in a recording is printed nowhere, and a refused recording leaves nothing behind.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn, cast

import click
from attrs import evolve
from returns.result import Failure

from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.compile import (
    AnswerProblem,
    CompileRefusal,
    Draft,
    Question,
    compile_recordings,
    confirm,
    is_asked,
    with_optional,
)
from surehand.core.workflow.compiler.wording import PROBLEMS, evidence_text, option_text, question_text
from surehand.core.workflow.recording import Recording
from surehand.shell.authoring.protected import (
    KEY_VARIABLE,
    RecordingProblem,
    RecordingRefusedError,
    find_recording_key,
    read_recording,
)
from surehand.shell.bundles import BundleRefusedError, bundle_key, write_bundle
from surehand.shell.cli.app import NOT_IN_ORDER, json_option, key_file_option, runs_dir_option
from surehand.shell.cli.bundle import EXPLAINED
from surehand.shell.config import settings
from surehand.shell.identity import DamagedKeyError
from surehand.shell.output import make_console, print_json
from surehand.shell.reading import UnreadableError, reading

#: Questions are open: nothing was written.
UNANSWERED: Final = 3

#: Why a recording cannot be read, and what to do about it.
UNREADABLE: Final = {
    RecordingProblem.MISSING: "there is none in it; surehand record makes one",
    RecordingProblem.TAKEN: "there is another one in it",
    RecordingProblem.DOES_NOT_OPEN: (
        f"its key is another one, or it is damaged; {KEY_VARIABLE} has to be what it was when it was recorded"
    ),
    RecordingProblem.NOT_UNDERSTOOD: "another version of Surehand wrote it; record the task again",
    RecordingProblem.FOLDER_UNUSABLE: "it is no folder, or you may not read what is in it",
}

_NAME: Final = re.compile("[a-z][a-z0-9_]{0,39}")

EPILOG = """\b
Examples:
  surehand compile recordings/note --out workflows/add_note             asks what it has to know
  surehand compile recordings/note --out workflows/add_note --json      prints the questions
  surehand compile recordings/note recordings/note2 --out workflows/add_note --answers answers.toml

\b
A file of answers holds one line for each question, its id and an option:
  "field.note.value" = "input"
  "write.post_drafts_3f1c" = "hold_back"

\b
Exit codes:
  0  the workflow is written
  1  a recording cannot become a workflow, or a folder cannot be used
  2  bad usage
  3  a question is not answered, or answered with something else than its options
"""


@click.command(epilog=EPILOG)
@click.argument("recordings", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RECORDING...")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="The workflow's folder.")
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Answers to the questions, in TOML.",
)
@click.option("--name", metavar="NAME", help="How callers name the workflow.  [default: after the page that saves]")
@click.option(
    "--optional",
    multiple=True,
    metavar="STEP",
    help="A step, by its name in `surehand bundle show`, that a person may leave out of a run that stops at it.",
)
@key_file_option
@runs_dir_option
@json_option
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    recordings: tuple[Path, ...],
    out: Path,
    answers: Path | None,
    name: str | None,
    optional: tuple[str, ...],
    key_file: Path | None,
    runs_dir: str | None,
    as_json: bool,
) -> None:
    """Make a workflow of one or more recordings of the same task."""
    if name is not None and not _NAME.fullmatch(name):
        raise click.BadParameter("small letters, digits and underscores, at most 40", param_hint="--name")
    given = {} if answers is None else _answers_of(answers)
    compiled = compile_recordings(_recordings(recordings, runs_dir))
    if isinstance(compiled, Failure):
        _refused(compiled.failure(), as_json=as_json)
    draft = compiled.unwrap()
    if not as_json and sys.stdin.isatty() and sys.stdout.isatty():
        given |= _asked(draft, given)
    confirmed = confirm(draft, given)
    made = confirmed if isinstance(confirmed, Failure) else with_optional(confirmed.unwrap(), frozenset(optional))
    if isinstance(made, Failure):
        _open(draft, given, made.failure(), as_json=as_json)
    bundle = made.unwrap()
    _write(out, bundle if name is None else evolve(bundle, workflow=name), key_file, as_json=as_json)


def _recordings(folders: tuple[Path, ...], runs_dir: str | None) -> tuple[Recording, ...]:
    """The recordings, opened; the process ends where one cannot be."""
    try:
        key = find_recording_key(settings(runs_dir).state_folder)
    except DamagedKeyError:
        _leave("the key of recordings is damaged.")
    found: list[Recording] = []
    for folder in folders:
        try:
            found.append(read_recording(folder, key))
        except RecordingRefusedError as error:
            _leave(f"{folder} cannot be read as a recording ({error.code.value}): {UNREADABLE[error.code]}.")
    return tuple(found)


def _leave(message: str) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(NOT_IN_ORDER)


def _answers_of(path: Path) -> dict[str, str]:
    """The answers of a file; ``a.b = "c"`` and ``"a.b" = "c"`` mean the same."""
    try:
        with reading():
            data = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnreadableError as error:
        raise click.BadParameter(f"{path}: {error}", param_hint="--answers") from None
    flat = dict(_flat("", data))
    if not all(isinstance(answer, str) for answer in flat.values()):
        raise click.BadParameter("every answer is a text", param_hint="--answers")
    return {name: str(answer) for name, answer in flat.items()}


def _flat(prefix: str, data: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", cast("dict[str, object]", value))
        else:
            yield f"{prefix}{name}", value


# Asking


def _asked(draft: Draft, given: Mapping[str, str]) -> dict[str, str]:
    """The answers of the person at the terminal to whatever is not answered yet."""
    from rich.prompt import Prompt  # noqa: PLC0415 - slow to load, and needed by people only

    answers = dict(given)
    console = make_console()
    for question in draft.questions:
        if question.id in answers or not is_asked(question, answers):
            continue
        _print_question(question)
        choices = list(question.options) or None
        answers[question.id] = Prompt.ask("Answer", choices=choices, console=console)
    return answers


def _print_question(question: Question) -> None:
    click.echo(f"\n{question_text(question)}   [{question.id}]")
    for evidence in question.evidence:
        click.echo(f"    {evidence_text(evidence)}")
    for option in question.options:
        meaning = option_text(option)
        click.echo(f"  {option}" if meaning == option else f"  {option:20} {meaning}")


# Ends


def _refused(refusals: tuple[CompileRefusal, ...], *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"status": "refused", "refusals": [_refusal(each) for each in refusals]})
    for each in refusals if not as_json else ():
        place = "" if each.step is None else f"recording {each.recording + 1}, event {each.step + 1}: "
        click.echo(f"refused  {each.code.value}\n  {place}{each.sentence}")
    raise SystemExit(NOT_IN_ORDER)


def _refusal(refusal: CompileRefusal) -> dict[str, object]:
    row: dict[str, object] = {"code": refusal.code.value, "recording": refusal.recording, "sentence": refusal.sentence}
    return row if refusal.step is None else {**row, "step": refusal.step}


def _open(draft: Draft, given: Mapping[str, str], problems: tuple[AnswerProblem, ...], *, as_json: bool) -> NoReturn:
    """Print the questions that are open, or what is wrong with the answers."""
    from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which text does without

    if as_json:
        questions = [to_wire(question) for question in draft.questions]
        print_json({"status": "questions", "questions": questions, "problems": [to_wire(each) for each in problems]})
        raise SystemExit(UNANSWERED)
    missing = {problem.id for problem in problems}
    for question in draft.questions:
        if question.id in missing and is_asked(question, given):
            _print_question(question)
    click.echo()
    for problem in problems:
        rule = "" if problem.rule is None else f" ({problem.rule})"
        click.echo(f"{problem.id} {PROBLEMS[problem.code]}{rule}")
    raise SystemExit(UNANSWERED)


def _write(out: Path, bundle: Bundle, key_file: Path | None, *, as_json: bool) -> None:
    try:
        written = write_bundle(out, bundle, key=bundle_key(key_file))
    except BundleRefusedError as error:
        _leave(f"{out} cannot be written as a workflow's folder ({error.code.value}): {EXPLAINED[error.code]}.")
    inputs = [parameter.name for parameter in bundle.parameters]
    if as_json:
        print_json({"status": "written", "workflow": bundle.workflow, "digest": written.digest, "inputs": inputs})
        return
    click.echo(f"written    {bundle.workflow}")
    click.echo(f"  inputs     {', '.join(inputs)}")
    click.echo(f"  digest     {written.digest}")
    click.echo("\nNext:")
    following = {
        f"surehand bundle show {out}": "what it does, step by step",
        f"surehand certify {out}": "is it good enough for your policy?",
        f"surehand admit {out}": "a person lets it run",
        f"surehand serve --bundles {out.parent} --mode production": "agents can call it",
    }
    width = max(map(len, following))
    for line, why in following.items():
        click.echo(f"  {line:{width}}   {why}")
