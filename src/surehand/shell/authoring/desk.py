"""One session of showing a task: at most one window, what was shown in it, and what came of it.

Laws of this module:

- The operator says which app is opened. Nothing here runs a workflow.
- Answering the questions and admitting are a person's acts: by a form, each; no argument of a tool stands for them.
- What was shown lies encrypted on this computer, or is gone.
- Commands come one after another; a refusal is an answer like the others.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum, unique
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen
from returns.result import Failure

from surehand.core.authoring import (
    Answer,
    Details,
    Observation,
    Phase,
    Problem,
    Status,
    Target,
    answer,
    answer_refusals,
    answers_in,
    drafted_of,
    is_fit_hint,
    named,
    question_form,
    refusals_of,
    shown_of,
)
from surehand.core.modes import ToolName
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.compile import Draft, compile_recordings, confirm
from surehand.core.workflow.recording import Recording
from surehand.shell.authoring.refused import RefusedError
from surehand.shell.config import DEFAULT_POLICY, DEFAULT_PROFILE, ConfigError
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, UnknownAccountError, new_token
from surehand.shell.mcp.asking import Action, Ask, Form

if TYPE_CHECKING:
    from surehand.shell.authoring.window import Window
    from surehand.shell.bundles import BundleFolder

#: Where recordings lie in the state folder, and workflows when no folder of bundles is served.
RECORDINGS: Final = "recordings"
AUTHORED: Final = "authored"

Arguments = Mapping[str, object]


@unique
class Screens(Enum):
    """What of the window an agent may see: a drawing of its nodes, or the window itself."""

    SCRUBBED = "scrubbed"
    UNSCRUBBED = "unscrubbed"


@frozen(kw_only=True)
class Studio:
    """Where tasks are shown, and where what comes of it lies.

    Args:
        state_folder: Where the state lies.
        pinned: The origin of the app that the operator named.
        bundles: The folder of bundles, if one is served.
        policy: The policy under which a workflow is admitted.
        profile: The most serious profile under which it may run then.
        key_file: Holds the key of encrypted bundles.
        headed: Whether there is a window for a person to watch.
        screens: What of it an agent may see, if anything.
    """

    state_folder: Path
    pinned: str | None
    bundles: Path | None = None
    policy: str = DEFAULT_POLICY
    profile: str = DEFAULT_PROFILE
    key_file: Path | None = None
    headed: bool = True
    screens: Screens | None = None


@frozen
class Said:
    """How a command ended."""

    status: Status
    details: Details | None = None


class AuthoringDesk:
    """Takes the commands of one client.

    Args:
        studio: Where the task is shown.
    """

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._turn = asyncio.Lock()
        self._start = int(new_token()[:8], 16)
        self._given = 0
        self._numbered = 0
        self._last: Answer | None = None
        self._hint: str | None = None
        self._window: Window | None = None
        self._recordings: list[Recording] = []
        self._folders: list[Path] = []
        self._draft: Draft | None = None
        self._made: BundleFolder | None = None
        self._commands: Final[dict[ToolName, Callable[[Arguments, Ask], Awaitable[Said]]]] = {
            ToolName.START_RECORD: self._start_record,
            ToolName.CLICK: self._click,
            ToolName.HALT: self._halt,
            ToolName.TYPE: self._type,
            ToolName.PAUSE_FOR_INPUT: self._pause,
            ToolName.CONTINUE_INPUT: self._continue,
            ToolName.STOP_RECORD: self._stop_record,
            ToolName.COMPILE: self._compile,
            ToolName.ADMIT: self._admit,
            ToolName.SET_COACH: self._set_coach,
            ToolName.GET_COACH: self._get_coach,
            ToolName.BIND_STATUS: self._bind_status,
        }

    @property
    def shares_screen(self) -> bool:
        """Whether an agent may see the window itself."""
        return self._studio.screens is Screens.UNSCRUBBED

    async def perform(self, tool: ToolName, arguments: Arguments, ask: Ask) -> Answer:
        """One command, when the ones before it have ended.

        Raises:
            FormImpossibleError: The client shows no form where one is needed.
            FormPendingError: The call goes on when its form was answered.
        """
        async with self._turn:
            if tool is ToolName.GET_COMMAND_RESULT:
                return self._last_answer(arguments)
            try:
                said = await self._commands[tool](arguments, ask)
            except RefusedError as refused:
                return self._answer(tool, refused.problem, refused.details)
            return self._answer(tool, said.status, said.details)

    async def observe(self) -> Observation:
        """What is on the page.

        Raises:
            RefusedError: Nothing can be looked at now.
        """
        async with self._turn:
            seen = await self._acting_window().look(self._start, self._given)
            self._given = seen.following
            return seen.observation

    async def screen(self) -> bytes:
        """What the operator lets an agent see of the window, as a PNG.

        Raises:
            RefusedError: Nothing can be shown now.
        """
        async with self._turn:
            window = self._acting_window()
            return await (window.picture() if self.shares_screen else window.drawing())

    def _answer(self, tool: ToolName, said: Status | Problem, details: Details | None = None) -> Answer:
        self._numbered += 1
        self._last = answer(self._numbered, tool, said, self._phase(), details)
        return self._last

    def _phase(self) -> Phase:
        if self._window is None:
            return Phase.IDLE
        return Phase.PAUSED if self._window.paused else Phase.RECORDING

    def _last_answer(self, arguments: Arguments) -> Answer:
        """The last answer again; asking for it is no command of its own."""
        last = self._last
        if last is None or arguments.get("command_id") not in {None, last.command_id}:
            return answer(self._numbered, ToolName.GET_COMMAND_RESULT, Problem.COMMAND_UNKNOWN, self._phase())
        return last

    def _open_window(self) -> "Window":
        if self._window is None:
            raise RefusedError(Problem.NOT_RECORDING)
        return self._window

    def _acting_window(self) -> "Window":
        """The window, for an agent that looks or acts."""
        window = self._open_window()
        if window.paused:
            raise RefusedError(Problem.PAUSED_FOR_PERSON)
        return window

    # Showing

    async def _start_record(self, arguments: Arguments, _ask: Ask) -> Said:
        origin = self._to_open(arguments)
        from surehand.shell.authoring.window import Window  # noqa: PLC0415 - Playwright is optional
        from surehand.shell.sessions import SessionStore  # noqa: PLC0415 - as above

        session = SessionStore(self._studio.state_folder).load(origin)
        url = origin + str(arguments.get("path", "/"))
        self._window = await Window.open(url, headed=self._studio.headed, session=session)
        return Said(Status.RECORDING)

    def _to_open(self, arguments: Arguments) -> str:
        """The app's origin, when everything is there to open it."""
        if arguments.get("target", Target.BROWSER.value) != Target.BROWSER.value:
            raise RefusedError(Problem.TARGET_NOT_SERVED)
        if self._studio.pinned is None:
            raise RefusedError(Problem.NOTHING_PINNED)
        if self._window is not None:
            raise RefusedError(Problem.ALREADY_RECORDING)
        if find_spec("playwright") is None:
            raise RefusedError(Problem.BROWSER_MISSING)
        if self._studio.headed and not _has_screen():
            raise RefusedError(Problem.NO_SCREEN)
        return self._studio.pinned

    async def _click(self, arguments: Arguments, _ask: Ask) -> Said:
        window = self._acting_window()
        match arguments.get("node"), arguments.get("x"), arguments.get("y"):
            case str(node), None, None:
                await window.click(node)
            case None, int() | float() as x, int() | float() as y:
                await window.click_at(int(x), int(y))
            case _:
                raise RefusedError(Problem.NODE_OR_PLACE)
        return Said(Status.ACTED)

    async def _type(self, arguments: Arguments, _ask: Ask) -> Said:
        await self._acting_window().enter(str(arguments["node"]), str(arguments["text"]))
        return Said(Status.ACTED)

    async def _pause(self, arguments: Arguments, _ask: Ask) -> Said:
        node = arguments.get("node")
        secret = arguments.get("secret") is True
        await self._acting_window().pause(None if node is None else str(node), secret=secret)
        return Said(Status.PAUSED)

    async def _continue(self, _arguments: Arguments, _ask: Ask) -> Said:
        window = self._open_window()
        if not window.paused:
            raise RefusedError(Problem.NOT_PAUSED)
        await window.resume()
        return Said(Status.INPUT_RECORDED)

    async def _halt(self, _arguments: Arguments, _ask: Ask) -> Said:
        await self._close_window()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._recordings, self._folders, self._draft, self._made = [], [], None, None
        return Said(Status.HALTED)

    async def _stop_record(self, _arguments: Arguments, _ask: Ask) -> Said:
        window = self._open_window()
        try:
            recording, session = await window.stop()
        finally:
            await self._close_window()
        with _keeping():
            self._keep(recording, session)
        self._recordings.append(recording)
        return Said(Status.STOPPED, Details(shown=shown_of(recording)))

    def _keep(self, recording: Recording, session: str) -> None:
        from surehand.shell.authoring.protected import find_recording_key, write_recording  # noqa: PLC0415 - slow
        from surehand.shell.sessions import SessionStore  # noqa: PLC0415 - as above

        state = self._studio.state_folder
        folder = state / RECORDINGS / new_token()
        write_recording(folder, recording, find_recording_key(state))
        self._folders.append(folder)
        SessionStore(state).save(recording.origin, session)

    async def _close_window(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            await window.close()

    # From a recording to a workflow

    async def _compile(self, _arguments: Arguments, _ask: Ask) -> Said:
        if self._window is not None:
            raise RefusedError(Problem.ALREADY_RECORDING)
        if not self._recordings:
            raise RefusedError(Problem.NOTHING_RECORDED)
        compiled = await asyncio.to_thread(compile_recordings, tuple(self._recordings))
        if isinstance(compiled, Failure):
            raise RefusedError(Problem.RECORDING_REFUSED, Details(refusals=refusals_of(compiled.failure())))
        self._draft, self._made = compiled.unwrap(), None
        return Said(Status.NEEDS_HUMAN_ADMIT, Details(drafted=drafted_of(self._draft)))

    async def _admit(self, _arguments: Arguments, ask: Ask) -> Said:
        """First the person's answers, then, of the version that they made, the admission."""
        if self._draft is None:
            raise RefusedError(Problem.NOTHING_COMPILED)
        if self._made is None:
            return await self._ask_questions(self._draft, ask)
        return await self._ask_admission(self._made, ask)

    async def _ask_questions(self, draft: Draft, ask: Ask) -> Said:
        form = question_form(draft)
        given = await ask(Form(form.message, dict(form.schema)))
        if given.action is not Action.ACCEPT or given.content is None:
            raise RefusedError(Problem.NOT_ANSWERED)
        confirmed = confirm(draft, answers_in(draft, given.content))
        if isinstance(confirmed, Failure):
            refused = Details(answer_problems=answer_refusals(confirmed.failure()))
            raise RefusedError(Problem.ANSWERS_REFUSED, refused)
        with _keeping():
            self._made = await asyncio.to_thread(_written, self._studio, confirmed.unwrap())
        made = Details(drafted=drafted_of(draft), workflow=self._made.bundle.workflow)
        return Said(Status.NEEDS_HUMAN_ADMIT, made)

    async def _ask_admission(self, folder: "BundleFolder", ask: Ask) -> Said:
        from surehand.core.workflow.policy import Profile  # noqa: PLC0415 - only where something is admitted
        from surehand.shell.admission import (  # noqa: PLC0415 - as above
            NotConfirmedError,
            NotInOrderError,
            Proposal,
            Registry,
            admission_form,
        )
        from surehand.shell.policies import load_policy  # noqa: PLC0415 - as above

        try:
            with _keeping():
                registry, policy = Registry(self._studio.state_folder), load_policy(self._studio.policy)
                registry.certify(folder, policy)
                regulated = self._studio.profile == Profile.REGULATED.value
                profile = Profile.REGULATED if regulated else Profile.STANDARD
                proposal = Proposal(folder=folder, policy=policy, profile=profile)
            form = admission_form(proposal)
            given = await ask(Form(form.message, form.schema))
            with _keeping():
                registry.admit_after_form(proposal, given.action.value, given.content)
        except NotInOrderError as refused:
            raise RefusedError(Problem.NOT_IN_ORDER, Details(failed_checks=refused.checks)) from None
        except NotConfirmedError:
            raise RefusedError(Problem.NOT_CONFIRMED) from None
        self._draft = self._made = None
        return Said(Status.ADMITTED, Details(workflow=folder.bundle.workflow))

    # What is told beside

    async def _set_coach(self, arguments: Arguments, _ask: Ask) -> Said:
        hint = str(arguments["hint"])
        if not is_fit_hint(hint):
            raise RefusedError(Problem.HINT_REFUSED)
        self._hint = hint
        return Said(Status.HINT, Details(hint=hint))

    async def _get_coach(self, _arguments: Arguments, _ask: Ask) -> Said:
        return Said(Status.HINT, None if self._hint is None else Details(hint=self._hint))

    async def _bind_status(self, _arguments: Arguments, _ask: Ask) -> Said:
        return Said(Status.NOT_BOUND if self._studio.pinned is None else Status.BOUND)


def _written(studio: Studio, bundle: Bundle) -> "BundleFolder":
    """Write a workflow under a name that no other one of its folder has."""
    from surehand.shell.bundles import (  # noqa: PLC0415 - only where one is written
        BundleRefusedError,
        bundle_key,
        load_bundle,
        write_bundle,
    )

    key = bundle_key(studio.key_file)
    place = studio.state_folder / AUTHORED if studio.bundles is None else studio.bundles
    taken: set[str] = set()
    for folder in place.iterdir() if place.is_dir() else ():
        taken.add(folder.name)
        with suppress(BundleRefusedError):
            taken.add(load_bundle(folder, key=key).bundle.workflow)
    name = named(bundle.workflow, frozenset(taken))
    return write_bundle(place / name, evolve(bundle, workflow=name), key=key)


@contextmanager
def _keeping() -> Generator[None]:
    """Keep something on this computer; whatever stands in the way is one refusal."""
    from surehand.shell.authoring.protected import RecordingRefusedError  # noqa: PLC0415 - only where something is kept
    from surehand.shell.bundles import BundleRefusedError  # noqa: PLC0415 - as above

    try:
        yield
    except (BundleRefusedError, ConfigError, DamagedKeyError, RecordingRefusedError, UnknownAccountError):
        raise RefusedError(Problem.CANNOT_KEEP) from None
    except (UnsafeFileError, OSError):
        raise RefusedError(Problem.CANNOT_KEEP) from None


def _has_screen() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
