"""The write fence as decisions: which request is a write, what may pass, and what a journal proves.

Laws of this module:

- Whatever arrives in whatever order, at most one save begins in the life of a gate, and only while the gate is armed.
- The gate is spent in the same step that lets the save begin: nothing slips in while the delivery boundary is passed.
- What a person confirmed as harmless passes before the save and after it: a page whose search or heartbeat is refused
  shows something else than it would. It never is the save, since no save can be armed that it could hold.
- A request that is not known to be harmless is a write: unknown methods, upgrades to another protocol, bodies over the
  limit, requests that cannot be read, and a query or a body that could be read in two ways where it tells routes apart.
- A WebSocket passes only where a person confirmed its path; what it carries is not looked at.
- Each stage of a save is journalled before its effect, so that a journal without ``writing`` proves that nothing left.
- No address, no header and no content of a request enters a journal, a count or a verdict.
"""

import json
import re
from enum import Enum, unique
from functools import cached_property
from itertools import product
from typing import assert_never, cast

from attrs import evolve, field, frozen

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.operation import (
    METHOD_FIELD,
    Content,
    Field,
    alike,
    is_method,
    may_ask_method,
    named_in_query,
    operations_meet,
    query_fields,
    unescaped,
)
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.target import Path, QueryPart

#: What a POST can be turned into by a header.
_OVERRIDING = frozenset({"PUT", "PATCH", "DELETE"})
_SEPARATOR = re.compile(r"[/\\]")
_MARKS = re.compile("[?#]")
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_HIGHEST_PORT = 65_535
_CALLER_ERROR = 4


@frozen
class Origin:
    """Scheme, host (IPv6 in brackets) and port of a server."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """The serialised origin; the default port of the scheme is left out."""
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return f"{self.scheme}://{self.host}"
        return f"{self.scheme}://{self.host}:{self.port}"


def parse_origin(text: str) -> Origin | None:
    """Read ``scheme://host[:port]``; ``None`` for anything else (a path, a user name, another scheme)."""
    match = _ORIGIN.fullmatch(text.lower())
    if match is None:
        return None
    scheme, host, port = match.groups()
    number = _DEFAULT_PORTS[scheme] if port is None else int(port)
    return Origin(scheme, host, number) if 0 < number <= _HIGHEST_PORT else None


def _canonical(origins: tuple[str, ...]) -> tuple[str, ...]:
    parsed = tuple(parse_origin(origin) for origin in origins)
    if None in parsed:
        raise ValueError("an origin is scheme://host or scheme://host:port")
    return tuple(str(origin) for origin in parsed)


@frozen
class FenceRules:
    """What the fence of one run lets through.

    Args:
        origins: The only servers that can be reached, as ``scheme://host[:port]``; kept in canonical form.
        harmless_writes: Writes that a person confirmed as harmless (sign-in, a search by POST).
        blocked_writes: Writes that a person wants held back without stopping the run (a draft, a presence).
        sockets: Templates of the paths whose WebSockets a person confirmed.

    Raises:
        ValueError: An origin cannot be read.
    """

    origins: tuple[str, ...] = field(converter=_canonical)
    harmless_writes: tuple[WriteRoute, ...] = ()
    blocked_writes: tuple[WriteRoute, ...] = ()
    sockets: tuple[Path, ...] = ()


@frozen(kw_only=True)
class RequestHead:
    """What the fence looks at in a request.

    Where an address serves everything the body tells what is asked for; it goes no further than the decision.

    Args:
        method: The method, exactly as sent.
        origin: Canonical origin of the server.
        path: Path and query.
        content_type: The content type as sent; empty when there is none.
        upgrade: The protocol that the request asks for (a WebSocket); ``None`` when it asks for none.
        override: The method that a header asks the server to take instead; ``None`` when none does.
        encoded: Whether the body is in a content encoding, so that it is not what it says.
        oversized: Whether the body is larger than the fence holds.
        body: The whole body.
    """

    method: str
    origin: str
    path: str
    content_type: str = ""
    upgrade: str | None = None
    override: str | None = None
    encoded: bool = False
    oversized: bool = False
    body: bytes = field(default=b"", repr=False)

    @cached_property
    def content(self) -> Content:
        """The body, read at most once however many routes ask."""
        return Content(self.content_type, self.body)


@unique
class RequestKind(Enum):
    """What a request is to the fence."""

    READ = "read"
    SOCKET = "socket"
    HARMLESS_WRITE = "harmless_write"
    BLOCKED_WRITE = "blocked_write"
    SAVE_WRITE = "save_write"
    OTHER_WRITE = "other_write"
    FOREIGN_HOST = "foreign_host"


def classify(rules: FenceRules, armed: WriteRoute | None, head: RequestHead) -> RequestKind:
    """Say what a request is. Total: whatever is not recognised is a write.

    Args:
        rules: The rules of the run.
        armed: The route of the save; ``None`` as long as no save was asked for.
        head: The request.
    """
    if head.origin not in rules.origins:
        return RequestKind.FOREIGN_HOST
    if head.upgrade is not None:
        return RequestKind.SOCKET if _opens_socket(rules, head) else RequestKind.OTHER_WRITE
    if head.override is None and not head.oversized and head.method in _READ_METHODS:
        return RequestKind.READ
    known = (
        (RequestKind.SAVE_WRITE, () if armed is None else (armed,)),
        (RequestKind.BLOCKED_WRITE, rules.blocked_writes),
        (RequestKind.HARMLESS_WRITE, rules.harmless_writes),
    )
    found = (kind for kind, routes in known if any(matches(route, head) for route in routes))
    return next(found, RequestKind.OTHER_WRITE)


def _opens_socket(rules: FenceRules, head: RequestHead) -> bool:
    """Whether a request is the plain opening of a confirmed WebSocket."""
    opens = (head.method, (head.upgrade or "").lower(), head.override, head.body) == ("GET", "websocket", None, b"")
    return opens and not head.oversized and any(_path_fits(path, head.path) for path in rules.sockets)


def matches(route: WriteRoute, head: RequestHead) -> bool:
    """Whether a request is of this route, and can be read in no other way.

    ``*`` in a template is one segment that is not empty, no dot segment, and holds no encoded separator.
    The query is looked at only where the route names members of it, or an operation that it could name too.
    """
    return (
        not head.oversized
        and asked_method(head.method, head.override) == route.method
        and _media_type(head.content_type) == route.content_type
        and route.origin in (None, head.origin)
        and _path_fits(route.path, head.path)
        and _query_fits(route, head.path)
        and (is_method(route.operation) or not _asks_method(route, head))
        and (route.operation is None or (not head.encoded and head.content.holds(route.operation)))
    )


def _asks_method(route: WriteRoute, head: RequestHead) -> bool:
    """Whether the body, or a member of the query that the route does not name, asks for another method."""
    query = head.path.partition("?")[2]
    given = query_fields(query)
    if given is None:
        return may_ask_method(query.encode("utf-8", "surrogatepass")) or head.content.asks_method
    named = {part.name for part in route.query}
    asked = any(alike(each.name, METHOD_FIELD) and each.name not in named for each in given)
    return asked or head.content.asks_method


def asked_method(method: str, override: str | None) -> str | None:
    """The method that an app asks for: the one sent, or the one of the header ``X-HTTP-Method-Override`` on a POST.

    ``None`` when the two leave it in doubt.
    """
    if override is None:
        return method
    return override.upper() if method == "POST" and override.upper() in _OVERRIDING else None


def _query_fits(route: WriteRoute, path: str) -> bool:
    """Whether the query has each named member once with its value, and names nothing that the body has to say."""
    if not route.query and route.operation is None:
        return True
    given = query_fields(path.partition("?")[2])
    if given is None:
        return False
    wanted = {part.name for part in route.query}
    again = [each for each in given if each.name not in wanted and _repeats(route, each.name)]
    return not again and all(_stands(part, given) for part in route.query)


def _repeats(route: WriteRoute, name: str) -> bool:
    operation = route.operation
    return any(alike(part.name, name) for part in route.query) or (
        operation is not None and named_in_query(operation, name)
    )


def _stands(part: QueryPart, given: tuple[Field, ...]) -> bool:
    values = [each.value for each in given if each.name == part.name]
    return len(values) == 1 and (part.value in ("*", values[0]) or _is_path_of(part.value, values[0] or ""))


def _is_path_of(template: str, value: str) -> bool:
    """Whether a value that some apps route by is a path of this template, however often it is decoded again."""
    wanted, given = template.split("/"), value.split("/")
    plain = len(wanted) == len(given) and _MARKS.search(value) is None and template.startswith("/")
    return plain and all(a == b or (a == "*" and _segment_fits(a, b)) for a, b in zip(wanted, given, strict=True))


def overlaps(one: WriteRoute, other: WriteRoute) -> bool:
    """Whether some request could be of both routes. In doubt one could."""
    left, right = _segments(one.path), _segments(other.path)
    return (
        one.method == other.method
        and one.content_type == other.content_type
        and (None in (one.origin, other.origin) or one.origin == other.origin)
        and _pieces_meet(left, right)
        and all(_queries_meet(*pair) for pair in product(one.query, other.query))
        and operations_meet(one.operation, other.operation)
    )


def _pieces_meet(one: list[str], other: list[str]) -> bool:
    return len(one) == len(other) and all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=True))


def _queries_meet(one: QueryPart, other: QueryPart) -> bool:
    return (
        one.name != other.name
        or "*" in (one.value, other.value)
        or _pieces_meet(one.value.split("/"), other.value.split("/"))
    )


def _path_fits(template: str, path: str) -> bool:
    wanted, given = _segments(template), _segments(path)
    return len(wanted) == len(given) and all(map(_segment_fits, wanted, given))


def _segments(path: str) -> list[str]:
    return path.partition("?")[0].split("/")


def _segment_fits(wanted: str, given: str) -> bool:
    if wanted == given:
        return True
    plain = unescaped(given)
    if plain is None or plain in {"", ".", ".."} or _SEPARATOR.search(plain) is not None:
        return False
    return wanted == "*" or unescaped(wanted) == plain


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


@unique
class GateState(Enum):
    """Where the gate of a run stands.

    Once it is ``SPENT`` no write passes that was not confirmed as harmless, and once it is ``ENDED`` none at all.
    """

    CLOSED = "closed"
    ARMED = "armed"
    SPENT = "spent"
    ENDED = "ended"


@unique
class GateSignal(Enum):
    """What the gate is told besides the requests."""

    ARM = "arm"
    SETTLE = "settle"
    END = "end"
    UNREADABLE = "unreadable"


@unique
class GateCommand(Enum):
    """What the shell does."""

    PASS_READ = "pass_read"  # noqa: S105  a way to pass, not a password
    PASS_HARMLESS = "pass_harmless"  # noqa: S105  a way to pass, not a password
    OPEN_SOCKET = "open_socket"
    BEGIN_SAVE = "begin_save"
    HOLD_BACK = "hold_back"
    STOP_WRITE = "stop_write"
    REFUSE_HOST = "refuse_host"
    REFUSE_READ = "refuse_read"
    REFUSE_ARM = "refuse_arm"
    NOTHING = "nothing"


_Cause = RequestKind | GateSignal

_NEVER_A_WRITE: dict[_Cause, GateCommand] = {
    RequestKind.READ: GateCommand.PASS_READ,
    RequestKind.SOCKET: GateCommand.OPEN_SOCKET,
    RequestKind.HARMLESS_WRITE: GateCommand.STOP_WRITE,
    RequestKind.BLOCKED_WRITE: GateCommand.HOLD_BACK,
    RequestKind.SAVE_WRITE: GateCommand.STOP_WRITE,
    RequestKind.OTHER_WRITE: GateCommand.STOP_WRITE,
    RequestKind.FOREIGN_HOST: GateCommand.REFUSE_HOST,
    GateSignal.UNREADABLE: GateCommand.STOP_WRITE,
    GateSignal.ARM: GateCommand.REFUSE_ARM,
}


def _row(state: GateState, changes: dict[_Cause, tuple[GateState, GateCommand]]) -> "Transitions":
    row = {cause: (state, command) for cause, command in _NEVER_A_WRITE.items()}
    row[GateSignal.SETTLE] = (GateState.SPENT, GateCommand.NOTHING)
    row[GateSignal.END] = (GateState.ENDED, GateCommand.NOTHING)
    return {(state, cause): move for cause, move in (row | changes).items()}


Transitions = dict[tuple[GateState, _Cause], tuple[GateState, GateCommand]]

#: Every move of the gate; the whole product of states and causes is here.
TRANSITIONS: Transitions = {
    **_row(
        GateState.CLOSED,
        {
            RequestKind.HARMLESS_WRITE: (GateState.CLOSED, GateCommand.PASS_HARMLESS),
            GateSignal.ARM: (GateState.ARMED, GateCommand.NOTHING),
        },
    ),
    **_row(
        GateState.ARMED,
        {
            RequestKind.HARMLESS_WRITE: (GateState.ARMED, GateCommand.PASS_HARMLESS),
            RequestKind.SAVE_WRITE: (GateState.SPENT, GateCommand.BEGIN_SAVE),
        },
    ),
    **_row(GateState.SPENT, {RequestKind.HARMLESS_WRITE: (GateState.SPENT, GateCommand.PASS_HARMLESS)}),
    **_row(
        GateState.ENDED,
        {
            RequestKind.READ: (GateState.ENDED, GateCommand.REFUSE_READ),
            RequestKind.SOCKET: (GateState.ENDED, GateCommand.STOP_WRITE),
            GateSignal.SETTLE: (GateState.ENDED, GateCommand.NOTHING),
        },
    ),
}


@frozen
class FenceCounts:
    """What passed and what was stopped in one run, as numbers."""

    reads: int = 0
    harmless_writes: int = 0
    stopped_writes: int = 0
    refused_hosts: int = 0
    blocked_writes: int = 0
    sockets: int = 0


@frozen
class FenceVerdict:
    """What the fence measured: whether the save left and was refused, and the writes stopped since it was armed."""

    delivery: Delivery
    stopped_writes: int
    refused: bool = False


@frozen
class Arm:
    """The next write of this route is the save."""

    route: WriteRoute


@frozen
class Arrived:
    """A request arrived whole (or its body grew over the limit)."""

    head: RequestHead


@frozen
class Unreadable:
    """A request arrived that is not well-formed, or whose framing is ambiguous. It may be a write."""


@frozen
class Settle:
    """The time in which the save may begin is over."""


@frozen
class End:
    """The run is over, or the one who asked for it is gone."""


GateEvent = Arm | Arrived | Unreadable | Settle | End


@frozen
class Gate:
    """The gate of one run: its state, the route of its save, and what it counted."""

    rules: FenceRules
    state: GateState = GateState.CLOSED
    route: WriteRoute | None = None
    counts: FenceCounts = FenceCounts()
    stopped_before_arm: int = 0

    @property
    def stopped_since_arm(self) -> int:
        """How many writes were stopped since the gate was armed (since the beginning when it never was)."""
        return self.counts.stopped_writes - self.stopped_before_arm


def step(gate: Gate, event: GateEvent) -> tuple[Gate, GateCommand]:
    """Move the gate on. Total.

    An ``Arm`` is refused when a harmless or a blocked route could hold the save: it could have passed uncounted, or be
    held back before and after without a word.
    """
    if isinstance(event, Arm) and _could_hold(gate.rules, event.route):
        return gate, GateCommand.REFUSE_ARM
    state, command = TRANSITIONS[gate.state, _cause(gate, event)]
    moved = evolve(gate, state=state, counts=_counted(gate.counts, command))
    if isinstance(event, Arm) and command is not GateCommand.REFUSE_ARM:
        moved = evolve(moved, route=event.route, stopped_before_arm=gate.counts.stopped_writes)
    return moved, command


def _could_hold(rules: FenceRules, save: WriteRoute) -> bool:
    return any(overlaps(save, route) for route in (*rules.harmless_writes, *rules.blocked_writes))


def _cause(gate: Gate, event: GateEvent) -> _Cause:
    match event:
        case Arrived(head):
            return classify(gate.rules, gate.route, head)
        case Arm():
            return GateSignal.ARM
        case Unreadable():
            return GateSignal.UNREADABLE
        case Settle():
            return GateSignal.SETTLE
        case End():
            return GateSignal.END
        case _:  # pragma: no cover
            assert_never(event)


def _counted(counts: FenceCounts, command: GateCommand) -> FenceCounts:
    return FenceCounts(
        reads=counts.reads + (command is GateCommand.PASS_READ),
        harmless_writes=counts.harmless_writes + (command is GateCommand.PASS_HARMLESS),
        stopped_writes=counts.stopped_writes + (command is GateCommand.STOP_WRITE),
        refused_hosts=counts.refused_hosts + (command is GateCommand.REFUSE_HOST),
        blocked_writes=counts.blocked_writes + (command is GateCommand.HOLD_BACK),
        sockets=counts.sockets + (command is GateCommand.OPEN_SOCKET),
    )


@unique
class Stage(Enum):
    """The stages of a save, as journal lines name them; each line is handed over before its effect begins."""

    OPENED = "opened"
    INTENT = "intent"
    REFUSED_BY_BOUNDARY = "refused_by_boundary"
    CROSSED = "crossed"
    ABANDONED = "abandoned"
    CONNECTED = "connected"
    WRITING = "writing"
    WRITTEN = "written"
    ANSWERED = "answered"
    DONE = "done"
    FAILED = "failed"


@unique
class Effect(Enum):
    """What the shell does after the line of a stage is flushed."""

    ASK_BOUNDARY = "ask_boundary"
    CONNECT = "connect"
    CHECK_ALIVE = "check_alive"
    SEND = "send"
    READ_ANSWER = "read_answer"
    RELAY = "relay"


@unique
class Happened(Enum):
    """How an effect ended: done, refused by the boundary, the run or the client is gone, or the connection is lost."""

    DONE = "done"
    REFUSED = "refused"
    GONE = "gone"
    LOST = "lost"


#: The effect that follows a stage; a stage without one is the last.
EFFECTS: dict[Stage, Effect] = {
    Stage.INTENT: Effect.ASK_BOUNDARY,
    Stage.CROSSED: Effect.CONNECT,
    Stage.CONNECTED: Effect.CHECK_ALIVE,
    Stage.WRITING: Effect.SEND,
    Stage.WRITTEN: Effect.READ_ANSWER,
    Stage.ANSWERED: Effect.RELAY,
}

_NEXT_STAGES: dict[Stage, dict[Happened, Stage]] = {
    Stage.INTENT: {
        Happened.DONE: Stage.CROSSED,
        Happened.REFUSED: Stage.REFUSED_BY_BOUNDARY,
        Happened.GONE: Stage.ABANDONED,
    },
    Stage.CROSSED: {Happened.DONE: Stage.CONNECTED, Happened.GONE: Stage.ABANDONED},
    Stage.CONNECTED: {Happened.DONE: Stage.WRITING, Happened.GONE: Stage.ABANDONED},
    Stage.WRITING: {Happened.DONE: Stage.WRITTEN},
    Stage.WRITTEN: {Happened.DONE: Stage.ANSWERED},
    Stage.ANSWERED: {Happened.DONE: Stage.DONE},
}

#: Stages whose line is flushed to the disk itself before the effect, so that a power cut cannot hide that a write left.
FLUSHED_TO_DISK = frozenset({Stage.INTENT, Stage.WRITING})


def next_stage(stage: Stage, happened: Happened) -> Stage:
    """The stage after an effect. Total: what the table does not foresee is a failure, never a repetition."""
    return _NEXT_STAGES.get(stage, {}).get(happened, Stage.FAILED)


@frozen
class Journal:
    """The readable stages of a journal, and the status code of the answer.

    ``whole`` is false when anything after the stages cannot be read.
    """

    stages: tuple[Stage, ...]
    whole: bool
    status: int | None = None


def journal_line(stage: Stage, status: int | None = None) -> bytes:
    """One line of a journal: the stage, and for an answer its status code."""
    fields = {"stage": stage.value} if status is None else {"stage": stage.value, "status": status}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def parse_journal(data: bytes) -> Journal:
    """Read a journal up to the first line that is torn, unknown, or cannot follow the line before it."""
    *lines, rest = data.split(b"\n")
    journal = Journal((), whole=True)
    for line in lines:
        fields = _parse_line(line)
        name, status = fields.get("stage"), fields.get("status")
        stage = _STAGES.get(name) if isinstance(name, str) else None
        if stage is None or not _may_follow(journal.stages[-1] if journal.stages else None, stage):
            return evolve(journal, whole=False)
        journal = evolve(
            journal,
            stages=(*journal.stages, stage),
            status=status if stage is Stage.ANSWERED and isinstance(status, int) else journal.status,
        )
    return evolve(journal, whole=not rest)


def _parse_line(line: bytes) -> dict[str, object]:
    """The members of a line; none when it cannot be read."""
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}


_STAGES = {stage.value: stage for stage in Stage}


def _may_follow(before: Stage | None, stage: Stage) -> bool:
    if before is None:
        return stage is Stage.OPENED
    if before is Stage.OPENED:
        return stage is Stage.INTENT
    return before in EFFECTS and any(next_stage(before, happened) is stage for happened in Happened)


def verdict(journal: Journal) -> Delivery:
    """What a journal proves about the save.

    ``answered`` proves that it left once. A whole journal without ``writing`` proves that it did not leave. Everything
    else is unknown: a write without an answer, a torn or unreadable line, and a journal that is missing (an empty one).
    """
    if Stage.ANSWERED in journal.stages:
        return Delivery.SENT_ONCE
    if Stage.WRITING in journal.stages or not journal.whole or not journal.stages:
        return Delivery.UNKNOWN
    return Delivery.NOT_SENT


def was_refused(journal: Journal) -> bool:
    """Whether the app answered the save with an error of the caller (RFC 9110, section 15.5: a 4xx status).

    Such an app says that it did not save. An error of the server (5xx) says nothing: many have saved by then.
    """
    return journal.status is not None and journal.status // 100 == _CALLER_ERROR
