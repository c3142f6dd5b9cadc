"""Laws of the fence's gate."""

from collections.abc import Sequence

import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from surehand.core.workflow import fence
from surehand.core.workflow.fence import (
    TRANSITIONS,
    Arm,
    Arrived,
    End,
    FenceRules,
    Gate,
    GateCommand,
    GateEvent,
    GateSignal,
    GateState,
    RequestHead,
    RequestKind,
    Settle,
    Unreadable,
    classify,
    matches,
    overlaps,
    parse_origin,
    step,
)
from surehand.core.workflow.route import WriteRoute

FORM = "application/x-www-form-urlencoded"
APP = "http://127.0.0.1:8000"
SIGN_IN = WriteRoute("POST", "/sign-in", FORM)
SAVE = WriteRoute("POST", "/referrals/*/notes", FORM)
RULES = FenceRules((APP,), (SIGN_IN,))

segments = st.sampled_from(["", "sign-in", "referrals", "7", "notes", "*", ".", "..", "%2e", "a%2Fb", "a%5cb", "%2E."])
paths = st.lists(segments, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
templates = st.lists(st.sampled_from(["sign-in", "referrals", "7", "notes", "*"]), min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(parts)
)
write_methods = st.sampled_from(["POST", "PUT", "PATCH", "DELETE"])
methods = st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "get", "TRACE", "PURGE", "Post"])
types = st.sampled_from(["", FORM, f"{FORM}; charset=utf-8", "application/json", "Application/X-WWW-Form-Urlencoded"])
routes = st.builds(WriteRoute, write_methods, templates, st.sampled_from([FORM, "application/json"]))
heads = st.builds(
    RequestHead,
    method=methods,
    origin=st.sampled_from([APP, "https://127.0.0.1:8000", "http://127.0.0.1", "https://updates.example"]),
    path=st.one_of(paths, st.just("/referrals/7/notes?step=2"), st.just("/sign-in")),
    content_type=types,
    upgrade=st.sampled_from([None, "websocket", "WebSocket", "h2c", ""]),
    override=st.sampled_from([None, "PUT", "delete", "GET", "PUT, PUT"]),
    oversized=st.booleans(),
)
the_save = st.just(Arrived(RequestHead(method="POST", origin=APP, path="/referrals/7/notes", content_type=FORM)))
the_sign_in = st.just(Arrived(RequestHead(method="POST", origin=APP, path="/sign-in", content_type=FORM)))
events: st.SearchStrategy[GateEvent] = st.one_of(
    the_save,
    the_sign_in,
    heads.map(Arrived),
    st.one_of(st.just(SAVE), routes).map(Arm),
    st.just(Unreadable()),
    st.just(Settle()),
    st.just(End()),
)
histories = st.lists(events, max_size=25)


def commands(history: Sequence[GateEvent]) -> list[GateCommand]:
    """What the gate says to a history, from its beginning."""
    gate, said = Gate(RULES), list[GateCommand]()
    for event in history:
        gate, command = step(gate, event)
        said.append(command)
    return said


def gate_after(history: Sequence[GateEvent]) -> Gate:
    """The gate after a history."""
    gate = Gate(RULES)
    for event in history:
        gate, _ = step(gate, event)
    return gate


def sends_twice(history: Sequence[GateEvent]) -> bool:
    """Whether more than one save begins."""
    return commands(history).count(GateCommand.BEGIN_SAVE) > 1


class TestAtMostOneSaveBegins:
    """Whatever arrives in whatever order, at most one save begins in the life of a gate, and only while it is armed."""

    @given(histories)
    def test_over_any_history(self, history: list[GateEvent]) -> None:
        assert not sends_twice(history)

    @given(histories)
    def test_only_after_it_was_armed(self, history: list[GateEvent]) -> None:
        said = commands(history)
        armed = [isinstance(event, Arm) and c is GateCommand.NOTHING for event, c in zip(history, said, strict=True)]

        assert all(any(armed[:at]) for at, command in enumerate(said) if command is GateCommand.BEGIN_SAVE)

    @pytest.mark.parametrize("state", [GateState.SPENT, GateState.ENDED])
    def test_a_gate_that_lets_a_second_save_through_is_caught(self, state: GateState) -> None:
        leak = (state, RequestKind.SAVE_WRITE)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(fence.TRANSITIONS, leak, (state, GateCommand.BEGIN_SAVE))

            assert sends_twice(find(histories, sends_twice))

    def test_a_gate_that_stays_armed_after_the_save_is_caught(self) -> None:
        leak = (GateState.ARMED, RequestKind.SAVE_WRITE)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(fence.TRANSITIONS, leak, (GateState.ARMED, GateCommand.BEGIN_SAVE))

            assert sends_twice(find(histories, sends_twice))


class TestTheTableIsWhole:
    """Every state has a move for every cause; a spent or an ended gate lets no write pass, ever again."""

    def test_the_whole_product_is_there(self) -> None:
        causes = [*RequestKind, *GateSignal]

        assert {(state, cause) for state in GateState for cause in causes} == set(TRANSITIONS)

    def test_no_way_leads_back(self) -> None:
        order = list(GateState)

        assert all(order.index(before) <= order.index(after) for (before, _), (after, _) in TRANSITIONS.items())

    def test_writes_pass_only_where_they_may(self) -> None:
        passing = {
            key: command
            for key, (_, command) in TRANSITIONS.items()
            if command in {GateCommand.PASS_HARMLESS, GateCommand.BEGIN_SAVE}
        }

        assert passing == {
            (GateState.CLOSED, RequestKind.HARMLESS_WRITE): GateCommand.PASS_HARMLESS,
            (GateState.ARMED, RequestKind.HARMLESS_WRITE): GateCommand.PASS_HARMLESS,
            (GateState.ARMED, RequestKind.SAVE_WRITE): GateCommand.BEGIN_SAVE,
        }

    def test_the_save_spends_the_gate_in_the_same_step(self) -> None:
        assert TRANSITIONS[GateState.ARMED, RequestKind.SAVE_WRITE][0] is GateState.SPENT

    @given(histories)
    def test_nothing_passes_after_the_end(self, history: list[GateEvent]) -> None:
        said = commands([End(), *history])

        assert {GateCommand.PASS_READ, GateCommand.PASS_HARMLESS, GateCommand.BEGIN_SAVE}.isdisjoint(said)


class TestWhatIsNotKnownToBeHarmlessIsAWrite:
    """A request outside the origins is refused; every other that is no plain read and no confirmed write is stopped."""

    @given(heads, st.one_of(st.none(), routes))
    def test_reads_are_only_plain_reads_of_a_known_server(self, head: RequestHead, armed: WriteRoute | None) -> None:
        plain = head.upgrade is None and head.override is None and not head.oversized
        is_read = head.origin == APP and plain and head.method in {"GET", "HEAD", "OPTIONS"}

        assert is_read == (classify(RULES, armed, head) is RequestKind.READ)

    @given(heads, st.one_of(st.none(), routes))
    def test_unknown_servers_are_foreign_and_nothing_else_is(self, head: RequestHead, armed: WriteRoute | None) -> None:
        assert (head.origin != APP) == (classify(RULES, armed, head) is RequestKind.FOREIGN_HOST)

    @given(heads)
    def test_without_an_armed_route_nothing_is_the_save(self, head: RequestHead) -> None:
        assert classify(RULES, None, head) is not RequestKind.SAVE_WRITE

    def test_the_named_writes_are_told_apart(self) -> None:
        note = RequestHead(method="POST", origin=APP, path="/referrals/7/notes?x=1", content_type=f"{FORM}; charset=x")
        sign_in = RequestHead(method="POST", origin=APP, path="/sign-in", content_type=FORM)
        other = RequestHead(method="POST", origin=APP, path="/sign-in", content_type="application/json")

        assert [RequestKind.SAVE_WRITE, RequestKind.HARMLESS_WRITE, RequestKind.OTHER_WRITE] == [
            classify(RULES, SAVE, head) for head in (note, sign_in, other)
        ]


class TestTemplates:
    """``*`` in a template is exactly one segment that is not empty, no dot segment, and holds no encoded separator."""

    @pytest.mark.parametrize("path", ["/referrals/7/notes", "/referrals/a.b/notes", "/referrals/%20/notes?q=/x/y"])
    def test_one_segment_matches(self, path: str) -> None:
        assert matches(SAVE, RequestHead(method="POST", origin=APP, path=path, content_type=FORM))

    @pytest.mark.parametrize(
        "path",
        [
            "/referrals//notes",
            "/referrals/./notes",
            "/referrals/%2e%2E/notes",
            "/referrals/a%2Fb/notes",
            "/referrals/a%5Cb/notes",
            "/referrals/a/b/notes",
            "/referrals/7/notes/",
            "/Referrals/7/notes",
            "/referrals/7",
        ],
    )
    def test_anything_else_does_not(self, path: str) -> None:
        assert not matches(SAVE, RequestHead(method="POST", origin=APP, path=path, content_type=FORM))

    @given(heads, routes, routes)
    def test_routes_that_share_a_request_overlap(self, head: RequestHead, one: WriteRoute, other: WriteRoute) -> None:
        assert overlaps(one, other) or not (matches(one, head) and matches(other, head))

    @given(routes, routes)
    def test_overlap_has_no_direction(self, one: WriteRoute, other: WriteRoute) -> None:
        assert overlaps(one, other) == overlaps(other, one)


class TestArming:
    """A gate is armed once, and never for a save that a harmless route could hold."""

    @given(routes)
    def test_a_route_that_a_harmless_one_could_hold_is_refused(self, route: WriteRoute) -> None:
        _, command = step(Gate(RULES), Arm(route))

        assert overlaps(route, SIGN_IN) == (command is GateCommand.REFUSE_ARM)

    def test_it_is_armed_once(self) -> None:
        assert [GateCommand.NOTHING, GateCommand.REFUSE_ARM] == commands([Arm(SAVE), Arm(SAVE)])

    def test_after_the_time_is_over_it_cannot_be_armed(self) -> None:
        assert [GateCommand.NOTHING, GateCommand.REFUSE_ARM] == commands([Settle(), Arm(SAVE)])


class TestCounts:
    """What passes, what is stopped and what is refused is counted, each once; a stopped write never goes uncounted."""

    @given(histories)
    def test_each_command_is_counted_once(self, history: list[GateEvent]) -> None:
        said, counts = commands(history), gate_after(history).counts

        assert (counts.reads, counts.harmless_writes, counts.stopped_writes, counts.refused_hosts) == (
            said.count(GateCommand.PASS_READ),
            said.count(GateCommand.PASS_HARMLESS),
            said.count(GateCommand.STOP_WRITE),
            said.count(GateCommand.REFUSE_HOST),
        )

    def test_writes_stopped_before_arming_are_not_those_of_the_save(self) -> None:
        stopped = Unreadable()
        gate = gate_after([stopped, stopped, Arm(SAVE), stopped])

        assert (3, 1) == (gate.counts.stopped_writes, gate.stopped_since_arm)


class TestOrigins:
    """An origin is scheme, host and port; its canonical form is one, and nothing else is read as an origin."""

    @pytest.mark.parametrize(
        ("text", "canonical"),
        [
            ("HTTP://Clinic.Example:80", "http://clinic.example"),
            ("https://clinic.example:443", "https://clinic.example"),
            ("https://clinic.example:80", "https://clinic.example:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ],
    )
    def test_the_canonical_form(self, text: str, canonical: str) -> None:
        assert (canonical,) == FenceRules((text,)).origins

    @pytest.mark.parametrize(
        "text",
        [
            "ftp://clinic.example",
            "http://clinic.example/",
            "http://user@clinic.example",
            "http://",
            "http://a:0",
            "http://a:70000",
            "http://a:",
            "//a",
            "",
        ],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        assert parse_origin(text) is None
        with pytest.raises(ValueError, match="origin"):
            FenceRules((text,))
