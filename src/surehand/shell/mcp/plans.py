"""The tools of plans: which there are, starting one, and how a run of one stands.

Laws of this module:

- A call that is made again with the same request_id is the same run. One that its process left is taken up by it.
- An answer holds names of steps, counts, closed words and fixed copy; no value, goal or path.
- A call that waits for a run takes the open question of its goal to the client's model.
- A plan is read when it is asked for. What keeps it from being started is counted for the agent, and said in full to
  its author by ``surehand plan check``.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from attrs import frozen

from surehand.core.modes import ToolName
from surehand.core.orchestration.refusal import PlanRefusal, RunRefused
from surehand.core.orchestration.report import PlanCard, PlanResult, plan_card, plan_result
from surehand.core.orchestration.run import RUN_ID_PATTERN, RunStatus, WorkflowRun
from surehand.core.request.keys import REQUEST_ID_PATTERN
from surehand.core.schema import json_schema
from surehand.core.wire import to_wire
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES, outline, page
from surehand.shell.mcp.frames import is_object
from surehand.shell.mcp.tools import (
    WAIT_SECONDS,
    Call,
    Json,
    Tool,
    ToolError,
    bad_argument,
    reading_tool,
    wait_seconds,
)

if TYPE_CHECKING:
    from surehand.core.orchestration.task import TaskRunner
    from surehand.shell.mcp.questions import Questions
    from surehand.shell.orchestration.loader import PlanFolder
    from surehand.shell.orchestration.runner import WorkflowRunner
    from surehand.shell.service import Service

UNKNOWN_PLAN_RUN: Final = ToolError("No run of a plan is known by this plan_run_id. Nothing was started.")
FAILED_STARTING: Final = ToolError(
    "This call failed inside Surehand, and the plan may have been started. "
    "Call again with the same request_id to learn what happened."
)
NO_PLANS: Final = ToolError("The folder of plans cannot be read. `surehand plan check` says why.")

_MOST_PLANS: Final = 50
_ROOM: Final = MAX_ANSWER_BYTES - 1024
_THREADS: Final = 2

#: Seconds between two looks at a run that is waited for.
_LOOK_SECONDS: Final = 0.25

T = TypeVar("T")


@frozen
class ClientGoals:
    """How goals are worked on with the client's model.

    Args:
        questions: What the model is to be asked.
        runner: Makes who works on goals for a service; ``None`` where there is no place for it.
    """

    questions: "Questions"
    runner: "Callable[[Service], TaskRunner | None]"


class PlanTools:
    """The tools of one server.

    Args:
        folder: Where the plans lie.
        state_folder: Where the ledger lies.
        goals: Who works on goals with the client's model, if anybody does.
    """

    def __init__(self, folder: Path, state_folder: Path, goals: "ClientGoals | None" = None) -> None:
        self._folder: Final = folder
        self._state_folder: Final = state_folder
        self._goals: Final = goals
        self._threads: Final = ThreadPoolExecutor(_THREADS, thread_name_prefix="surehand-plans")
        self._opening: Final = asyncio.Lock()
        self._opened_once: tuple[WorkflowRunner, PlanFolder] | None = None

    def tools(self) -> tuple[Tool, ...]:
        """Every tool of plans; the row says which of them are registered."""
        return (
            reading_tool(
                ToolName.LIST_PLANS.value,
                "List plans",
                "The plans of several workflows that can be started, with the inputs that each needs.",
                {"cursor": {"type": "string", "maxLength": 200, "description": "next_cursor of the last page"}},
                _list_schema,
                self._list,
            ),
            Tool(
                name=ToolName.START_PLAN.value,
                title="Start a plan",
                description=(
                    "Goes through the steps of a plan, each at most once, and says what the whole came to. Use one "
                    "request_id per intended work; reuse it to ask again. Outcomes as of run_workflow; the weakest "
                    "step decides. running = call get_plan_run."
                ),
                read_only=False,
                destructive=True,
                idempotent=True,
                open_world=True,
                arguments={
                    "plan": {"type": "string", "minLength": 1, "maxLength": 200},
                    "inputs": {"type": "object", "description": "Values by input name, each a string"},
                    "request_id": {"type": "string", "pattern": REQUEST_ID_PATTERN},
                    "wait_seconds": WAIT_SECONDS,
                },
                required=("plan", "inputs", "request_id"),
                output_schema=_result_schema,
                handler=self._start,
                failure=FAILED_STARTING,
            ),
            reading_tool(
                ToolName.GET_PLAN_RUN.value,
                "Get a plan's run",
                "How a run of a plan stands, step by step, in the form that start_plan answers. Starts nothing.",
                {"plan_run_id": {"type": "string", "pattern": RUN_ID_PATTERN}, "wait_seconds": WAIT_SECONDS},
                _result_schema,
                self._get,
            ),
        )

    async def _list(self, call: Call) -> Json | ToolError:
        runner, plans = await self._opened(call)
        found = await self._in_thread(partial(_cards, plans, runner))
        if found is None:
            return NO_PLANS
        cards, unreadable = found
        after = call.arguments.get("cursor")
        left = [each for each in cards if after is None or each.plan > str(after)]
        shown, more = page(left, to_wire, _MOST_PLANS, _ROOM)
        answer: Json = {"plans": shown, "unreadable_files": unreadable}
        return {**answer, "next_cursor": str(shown[-1]["plan"])} if more else answer

    async def _start(self, call: Call) -> Json | ToolError:
        inputs = _texts(call.arguments["inputs"])
        if inputs is None:
            return bad_argument("inputs")
        runner, plans = await self._opened(call)
        begin = partial(_begun, runner, plans, str(call.arguments["plan"]), inputs)
        told, plan = await self._in_thread(partial(begin, str(call.arguments["request_id"])))
        if isinstance(told, WorkflowRun):
            told = await self._waited(runner, told, call)
        return to_wire(plan_result(told, plan))

    async def _get(self, call: Call) -> Json | ToolError:
        runner, _ = await self._opened(call)
        run = await self._in_thread(partial(runner.get, str(call.arguments["plan_run_id"])))
        return UNKNOWN_PLAN_RUN if run is None else to_wire(plan_result(await self._waited(runner, run, call)))

    async def _waited(self, runner: "WorkflowRunner", run: WorkflowRun, call: Call) -> WorkflowRun:
        """The run as it stopped, or as it is when the call has waited long enough; read once, after the waiting."""
        clock = asyncio.get_running_loop().time
        began, most = clock(), wait_seconds(call.arguments)
        goes_on = run.status is RunStatus.RUNNING

        async def report() -> None:
            waited = clock() - began
            await call.progress(waited, max(waited, most))

        while goes_on and clock() - began < most:
            await report()
            if self._goals is not None and not await self._goals.questions.carry(run.id, call.model, report):
                break
            await asyncio.sleep(_LOOK_SECONDS)
            goes_on = await self._in_thread(partial(runner.goes_on, run.id))
        if run.status is not RunStatus.RUNNING:
            return run
        return await self._in_thread(partial(runner.get, run.id)) or run

    async def _opened(self, call: Call) -> "tuple[WorkflowRunner, PlanFolder]":
        """What goes through plans; made at the first call, and told when the server ends."""
        async with self._opening:
            if self._opened_once is None:
                from surehand.shell.orchestration.loader import PlanFolder  # noqa: PLC0415 - few servers have plans
                from surehand.shell.orchestration.opening import runner_over  # noqa: PLC0415 - as above

                service = _whole(await call.desk.service())
                plans = PlanFolder(self._folder)
                tasks = None if self._goals is None else await self._in_thread(partial(self._goals.runner, service))
                runner = runner_over(service, self._state_folder, plans, task_runner=tasks)
                call.desk.at_end(runner.end)
                if self._goals is not None:
                    call.desk.at_end(self._goals.questions.close)
                self._opened_once = runner, plans
            return self._opened_once

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _whole(service: object) -> "Service":
    """The service itself, which the desk knows by what it asks of it.

    Raises:
        TypeError: It is another one.
    """
    from surehand.shell.service import Service  # noqa: PLC0415 - loaded with the service

    if not isinstance(service, Service):
        raise TypeError("plans go through the workflows of a service")
    return service


def _begun(
    runner: "WorkflowRunner", plans: "PlanFolder", plan: str, inputs: dict[str, str], request_id: str
) -> tuple[WorkflowRun | RunRefused, str | None]:
    """A run that was begun, found or taken up, or why there is none; with the plan's id if it is one of ours."""
    definition = plans.find(plan)
    if definition is None:
        return RunRefused(code=PlanRefusal.UNKNOWN_DEFINITION), None
    told = runner.start(definition, inputs, request_id)
    if isinstance(told, WorkflowRun) and told.status is RunStatus.RUNNING:
        taken = runner.take_up(told.id)
        told = told if _goes_on(taken) else taken
    return told, definition.definition_id


def _goes_on(taken: WorkflowRun | RunRefused) -> bool:
    """Whether somebody goes through the run already."""
    return isinstance(taken, RunRefused) and taken.code is PlanRefusal.RUNNING_ELSEWHERE


def _cards(plans: "PlanFolder", runner: "WorkflowRunner") -> tuple[list[PlanCard], int] | None:
    """The plans by their ids, and how many files hold none; ``None`` where the folder cannot be read."""
    from returns.result import Failure  # noqa: PLC0415 - as above

    from surehand.shell.orchestration.loader import DefinitionError  # noqa: PLC0415 - as above

    try:
        files = plans.files()
    except DefinitionError:
        return None
    cards: list[PlanCard] = []
    for definition in (each.definition for each in files if each.definition is not None):
        checked = runner.check(definition)
        cards.append(plan_card(definition, len(checked.failure()) if isinstance(checked, Failure) else 0))
    return sorted(cards, key=lambda each: each.plan), sum(each.definition is None for each in files)


def _texts(inputs: object) -> dict[str, str] | None:
    """The inputs, if each of them is a text."""
    if not is_object(inputs):
        return None
    texts = {name: value for name, value in inputs.items() if isinstance(value, str)}
    return texts if len(texts) == len(inputs) else None


@cache
def _list_schema() -> Json:
    members: Json = {
        "plans": {"type": "array", "items": outline(json_schema(PlanCard), exact=()), "maxItems": _MOST_PLANS},
        "unreadable_files": {"type": "integer"},
        "next_cursor": {"type": "string"},
    }
    required = ["plans", "unreadable_files"]
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}


@cache
def _result_schema() -> Json:
    return outline(json_schema(PlanResult), exact=("outcome", "record_changed", "next_step"))
