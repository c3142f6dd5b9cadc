"""The tools about stopped runs: the queue, one item, and a decision for each action.

Laws of this module:

- Every answer is closed codes, opaque names, times and fixed copy; what a person sees at the computer never comes here.
- A decision is asked of a person by a form of its own, after what the agent said was found in order. Only an accepted
  and confirmed form decides; everything else leaves the pause as it was.
- A form's answer proves nobody's presence. What acts in the app needs the code of this computer too, unless the
  operator waived that when the server was started.
- A call that is made again never decides twice: whatever its key decided is answered first.
- Where this client cannot decide, the answer says where a person can.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, unique
from functools import cache, partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from attrs import evolve, frozen

from surehand.core.attention.decision import KEY_PATTERN, DecisionRequest, Door, Receipt
from surehand.core.attention.form import Confirmed, form_message, form_schema, judge_answer
from surehand.core.attention.pause import IN_WINDOW, Action, AttentionItem, AttentionPage
from surehand.core.modes import QUALIFIED_DECISIONS, Row, ToolName
from surehand.core.schema import json_schema
from surehand.core.wire import to_wire
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES, outline, page
from surehand.shell.mcp.asking import Form, FormPendingError
from surehand.shell.mcp.form_state import FormStates
from surehand.shell.mcp.frames import is_object
from surehand.shell.mcp.tools import SERVICE_NOT_BUILT, Call, Json, Tool, ToolError, reading_tool

WITHOUT_ATTENTION: Final = ToolError(
    "The run store of this folder is of a kind that keeps no decisions (store_without_attention). "
    "`surehand runs list` shows the runs that wait."
)
UNKNOWN_ITEM: Final = ToolError("No stopped run is known by this attention_id. Nothing was decided.")
FAILED_DECIDING: Final = ToolError(
    "This call failed inside Surehand, and the decision may have been taken. "
    "Call again with the same idempotency_key to learn what happened."
)

#: Where a person decides without this client.
_AT_THE_COMPUTER: Final = (
    "at the computer that runs the workflows: "
    "`surehand console --attend --allow-actions` in a browser, or `surehand attend list` in a terminal."
)
ELSEWHERE: Final = f"This client takes no decisions here. A person decides {_AT_THE_COMPUTER}"
ACTING_ELSEWHERE: Final = f"Continue and Skip are no tools of this server. A person decides them {_AT_THE_COMPUTER}"
NO_FORMS_HERE: Final = ToolError(f"Nothing was decided: this client shows no forms. {ELSEWHERE}")

#: Seconds that a call waits for the end of a decision, and between two looks.
WAIT_SECONDS: Final = 8.0
LOOK_SECONDS: Final = 0.2

_MOST_ITEMS: Final = 20
_ROOM: Final = MAX_ANSWER_BYTES - 1024
_THREADS: Final = 2

T = TypeVar("T")


@unique
class ConfirmBy(Enum):
    """What Continue and Skip need beside the agent's call."""

    CODE = "code"
    FORM = "form"


class AttentionPort(Protocol):
    """What these tools ask of the desk where stopped runs are decided; every method may be called from any thread."""

    def items(self, limit: int, after: str | None) -> AttentionPage:
        """A page of the queue."""
        ...

    def item(self, attention_id: str) -> AttentionItem | None:
        """One pause; ``None`` for an unknown id."""
        ...

    def foresee(self, request: DecisionRequest, action: Action, door: Door) -> Receipt | None:
        """What can be said before a person is asked; ``None`` when the person is to be asked. It takes nothing."""
        ...

    def decide(self, request: DecisionRequest, action: Action, door: Door, code: str | None = None) -> Receipt:
        """Take the decision; its receipt may not be final yet."""
        ...

    def receipt(self, idempotency_key: str) -> Receipt | None:
        """How the decision under a key stands."""
        ...


@frozen
class Attention:
    """Where stopped runs are decided, and what seals the forms of this door."""

    port: AttentionPort
    states: FormStates


def attention_in(folder: Path, confirm_by: ConfirmBy) -> Attention | ToolError:
    """The place of decisions in a state folder; a sentence where its ledger keeps none.

    Raises:
        Exception: It cannot be opened, for any reason that a folder can have.
    """
    from surehand.shell.attended.desk import AttendedDesk, StoreWithoutAttentionError  # noqa: PLC0415 - at the first call

    try:
        desk = AttendedDesk.open(folder, code_required=confirm_by is ConfirmBy.CODE)
    except StoreWithoutAttentionError:
        return WITHOUT_ATTENTION
    return Attention(desk, FormStates(desk.key_for("form-state"), SYSTEM_CLOCK.now, desk.spend_form))


class AttentionTools:
    """The tools of one server.

    Args:
        row: What kind of server it is.
        open_attention: Opens the place of decisions at the first need, or says why there is none; called in a thread.
        confirm_by: What Continue and Skip need.
        wait_seconds: How long a call waits for the end of a decision.
    """

    def __init__(
        self,
        row: Row,
        open_attention: Callable[[], Attention | ToolError],
        confirm_by: ConfirmBy,
        *,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._wait_seconds = wait_seconds
        self._row = row
        self._open = open_attention
        self._confirm_by = confirm_by
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="surehand-attention")
        self._opened: Attention | None = None
        self._opening = asyncio.Lock()

    def tools(self) -> tuple[Tool, ...]:
        """Every tool about stopped runs; the row says which of them are registered."""
        return (self._list(), self._item(), *(self._decision(*each) for each in _DECISIONS.items()))

    def _list(self) -> Tool:
        return reading_tool(
            ToolName.LIST_NEEDS_ATTENTION.value,
            "List what needs attention",
            "The runs that stopped for a person, newest first: why, and which decisions are allowed. Starts nothing.",
            {"cursor": {**_ID, "description": "next of the last page"}},
            _page_schema,
            self._list_items,
        )

    def _item(self) -> Tool:
        return reading_tool(
            ToolName.GET_ATTENTION_ITEM.value,
            "Get what needs attention",
            "One stopped run: the question, how far it is, the allowed decisions and their capability_digest.",
            {"attention_id": _ID},
            _item_schema,
            self._get_item,
        )

    def _decision(self, name: ToolName, kind: "_Kind") -> Tool:
        return Tool(
            name=name.value,
            title=kind.title,
            description=f"{kind.description} {_ASKS}",
            read_only=False,
            destructive=kind.destructive,
            idempotent=True,
            open_world=kind.open_world,
            arguments=_FOUR,
            required=tuple(_FOUR),
            output_schema=_receipt_schema,
            handler=partial(self._decide, name, kind.action),
            failure=FAILED_DECIDING,
            needs_forms=True,
        )

    async def _list_items(self, call: Call) -> Json | ToolError:
        attention = await self._attention()
        if isinstance(attention, ToolError):
            return attention
        after = call.arguments.get("cursor")
        found = await self._in_thread(partial(attention.port.items, _MOST_ITEMS, None if after is None else str(after)))
        shown, more = page(found.items, to_wire, _MOST_ITEMS, _ROOM)
        following = shown[-1]["id"] if more else found.next
        answer: Json = {"items": shown, **self._elsewhere(call)}
        return answer if following is None else {**answer, "next": following}

    async def _get_item(self, call: Call) -> Json | ToolError:
        attention = await self._attention()
        if isinstance(attention, ToolError):
            return attention
        item = await self._in_thread(partial(attention.port.item, str(call.arguments["attention_id"])))
        return UNKNOWN_ITEM if item is None else {**to_wire(item), **self._elsewhere(call)}

    def _elsewhere(self, call: Call) -> Json:
        if not (self._row.decides and call.shows_forms):
            return {"how_to_decide": ELSEWHERE}
        return {} if {*QUALIFIED_DECISIONS} <= {*self._row.tools} else {"how_to_decide": ACTING_ELSEWHERE}

    async def _decide(self, name: ToolName, action: Action, call: Call) -> Json | ToolError:
        """Answer what is known of the key, else ask the person, else decide; the first that applies."""
        if not call.shows_forms:
            return NO_FORMS_HERE
        attention = await self._attention()
        if isinstance(attention, ToolError):
            return attention
        request = _request(call.arguments)
        foreseen = await self._in_thread(partial(attention.port.foresee, request, action, Door.MCP_FORM))
        if foreseen is not None:
            return to_wire(await self._ended(attention, request, foreseen, call))
        confirmed = await self._ask(attention, name, action, call)
        if confirmed is None:
            decide = partial(attention.port.decide, evolve(request, confirm=False), action, Door.MCP_FORM)
        else:
            decide = partial(attention.port.decide, request, action, Door.MCP_FORM, confirmed.code)
        return to_wire(await self._ended(attention, request, await self._in_thread(decide), call))

    async def _ask(self, attention: Attention, name: ToolName, action: Action, call: Call) -> Confirmed | None:
        """Show the form of the action, and judge what comes back; ``None`` when that confirms nothing.

        Raises:
            FormPendingError: The person is to be asked, or asked anew: what came belongs to no form of this call.
        """
        item = await self._in_thread(partial(attention.port.item, str(call.arguments["attention_id"])))
        if item is None:
            return None
        with_code = action in IN_WINDOW and self._confirm_by is ConfirmBy.CODE
        form = Form(
            form_message(action, item.id, item.view, with_code=with_code),
            form_schema(action, with_code=with_code),
            attention.states.mint(name.value, call.arguments),
        )
        answered = await call.ask(form)
        redeem = partial(attention.states.redeem, answered.state, name.value, call.arguments)
        if answered.second_call and not await self._in_thread(redeem):
            raise FormPendingError(form)
        return judge_answer(answered.action.value, answered.content, with_code=with_code)

    async def _ended(self, attention: Attention, request: DecisionRequest, receipt: Receipt, call: Call) -> Receipt:
        """The receipt once the decision ended, or as it is when the call has waited long enough."""
        clock = asyncio.get_running_loop().time
        began = clock()
        while not receipt.final and (waited := clock() - began) < self._wait_seconds:
            await call.progress(waited, self._wait_seconds)
            await asyncio.sleep(LOOK_SECONDS)
            found = await self._in_thread(partial(attention.port.receipt, request.idempotency_key))
            receipt = receipt if found is None else found
        return receipt

    async def _attention(self) -> Attention | ToolError:
        """Where stopped runs are decided; a sentence where it cannot be opened. The next call tries again then."""
        async with self._opening:
            if self._opened is None:
                try:
                    opened = await self._in_thread(self._open)
                except Exception:  # noqa: BLE001 - whatever keeps it from being opened, its text must not pass
                    return SERVICE_NOT_BUILT
                if isinstance(opened, ToolError):
                    return opened
                self._opened = opened
            return self._opened

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _request(arguments: Json) -> DecisionRequest:
    return DecisionRequest(
        str(arguments["attention_id"]),
        str(arguments["capability_digest"]),
        str(arguments["idempotency_key"]),
        arguments["confirm"] is True,
    )


@cache
def _page_schema() -> Json:
    item = outline(json_schema(AttentionItem), exact=())
    members: Json = {"items": {"type": "array", "items": item, "maxItems": _MOST_ITEMS}, "next": _ID, **_HOW}
    return {"type": "object", "properties": members, "required": ["items"], "additionalProperties": False}


@cache
def _item_schema() -> Json:
    schema = outline(json_schema(AttentionItem), exact=("status", "allowed_actions", "capability_digest"))
    members = schema["properties"]
    if not is_object(members):
        raise AssertionError("an item is an object")
    return {**schema, "properties": {**members, **_HOW}}


@cache
def _receipt_schema() -> Json:
    return outline(json_schema(Receipt), exact=("status", "final"))


@frozen
class _Kind:
    """A decision as clients see it."""

    action: Action
    title: str
    description: str
    destructive: bool
    open_world: bool


_ASKS: Final = "Asks a person by a form. Repeat a call with the same idempotency_key only."

_DECISIONS: Final = {
    ToolName.REJECT: _Kind(
        Action.REJECT, "End a stopped run", "Ends the run for good.", destructive=True, open_world=False
    ),
    ToolName.TEACH: _Kind(
        Action.TEACH,
        "Ask for a demonstration",
        "Notes that the workflow needs a corrective demonstration; the run still waits.",
        destructive=False,
        open_world=False,
    ),
    ToolName.ESCALATE: _Kind(
        Action.ESCALATE,
        "Ask for help",
        "Notes that help is needed; the run still waits.",
        destructive=False,
        open_world=False,
    ),
    ToolName.RECONCILE: _Kind(
        Action.RECONCILE,
        "Read the record again",
        "Reads the record again after a save that may have gone through. Writes nothing.",
        destructive=False,
        open_world=True,
    ),
    ToolName.CONTINUE: _Kind(
        Action.CONTINUE,
        "Let a stopped run go on",
        "Goes on after a person did the step in the app; what they did is checked, never done again. May save.",
        destructive=True,
        open_world=True,
    ),
    ToolName.SKIP: _Kind(
        Action.SKIP,
        "Leave a step out",
        "Goes on without a step that the workflow declares optional. May save.",
        destructive=True,
        open_world=True,
    ),
}

_ID: Final[Json] = {"type": "string", "pattern": "^att_[0-9a-f]{24}$"}
_HOW: Final[Json] = {"how_to_decide": {"type": "string"}}
_FOUR: Final[Mapping[str, Json]] = {
    "attention_id": _ID,
    "capability_digest": {"type": "string", "maxLength": 200},
    "idempotency_key": {"type": "string", "pattern": KEY_PATTERN},
    "confirm": {"type": "boolean"},
}
