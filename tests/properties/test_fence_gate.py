"""Laws of the fence's gate."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve
from hypothesis import find, given
from hypothesis import strategies as st

from surehand.core.workflow import fence
from surehand.core.workflow.fence import (
    TRANSITIONS,
    Arm,
    Arrived,
    End,
    FenceCounts,
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
    asked_method,
    classify,
    matches,
    overlaps,
    parse_origin,
    step,
)
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, WriteRoute
from surehand.core.workflow.target import QueryPart

FORM = "application/x-www-form-urlencoded"
APP = "http://127.0.0.1:8000"
SIGN_IN = WriteRoute("POST", "/sign-in", FORM)
SAVE = WriteRoute("POST", "/referrals/*/notes", FORM)
DRAFT = WriteRoute("POST", "/drafts", FORM)
JSON = "application/json"
API = "https://api.example"
RULES = FenceRules((APP, API), (SIGN_IN,), (DRAFT,), ("/live/*",))

segments = st.sampled_from(["", "sign-in", "referrals", "7", "notes", "*", ".", "..", "%2e", "a%2Fb", "a%5cb", "%2E."])
paths = st.lists(segments, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
templates = st.lists(st.sampled_from(["sign-in", "referrals", "7", "notes", "*"]), min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(parts)
)
write_methods = st.sampled_from(["POST", "PUT", "PATCH", "DELETE"])
methods = st.sampled_from(["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "get", "TRACE", "PURGE", "Post"])
types = st.sampled_from(["", FORM, f"{FORM}; charset=utf-8", "application/json", "Application/X-WWW-Form-Urlencoded"])
queries = st.lists(
    st.builds(QueryPart, st.sampled_from(["do", "id", "query"]), st.sampled_from(["*", "save", "a b", "/a/*", "/a/7"])),
    max_size=2,
).map(tuple)
operations = st.sampled_from(
    [None, GraphqlRead(), GraphqlOperation("Create"), FormField("do"), FormField("do", "save"), JsonMember("do", "x")]
)
routes = st.builds(
    WriteRoute,
    write_methods,
    templates,
    st.sampled_from([FORM, JSON]),
    queries,
    operations,
    st.sampled_from([None, APP, API]),
)
written_queries = st.sampled_from(
    [
        "",
        "?",
        "?do=save",
        "?do=save&do=save",
        "?DO=save&do=save",
        "?id=a+b&do=x",
        "?query=%7Bx%7D",
        "?id=/a/7",
        "?id=/a/%2e%2e",
        "?do=%ff",
        "?do=a;b",
    ]
)
bodies = st.sampled_from(
    [b"", b"do=save", b"do=x&do=save", b'{"query": "{x}"}', b'{"query": "mutation Create {x}"}', b'{"do": "x"}']
)
heads = st.builds(
    RequestHead,
    method=methods,
    origin=st.sampled_from([APP, API, "https://127.0.0.1:8000", "http://127.0.0.1", "https://updates.example"]),
    path=st.builds(
        str.__add__, st.one_of(paths, st.sampled_from(["/referrals/7/notes", "/sign-in", "/live/x"])), written_queries
    ),
    content_type=types,
    upgrade=st.sampled_from([None, "websocket", "WebSocket", "h2c", ""]),
    override=st.sampled_from([None, "PUT", "delete", "GET", "PUT, PUT"]),
    encoded=st.booleans(),
    oversized=st.booleans(),
    body=bodies,
)
the_save = st.just(Arrived(RequestHead(method="POST", origin=APP, path="/referrals/7/notes", content_type=FORM)))
the_sign_in = st.just(Arrived(RequestHead(method="POST", origin=APP, path="/sign-in", content_type=FORM)))
the_draft = st.just(Arrived(RequestHead(method="POST", origin=APP, path="/drafts", content_type=FORM)))
the_socket = st.just(Arrived(RequestHead(method="GET", origin=API, path="/live/7?t=1", upgrade="websocket")))
events: st.SearchStrategy[GateEvent] = st.one_of(
    the_save,
    the_sign_in,
    the_draft,
    the_socket,
    heads.map(Arrived),
    st.one_of(st.just(SAVE), routes).map(Arm),
    st.just(Unreadable()),
    st.just(Settle()),
    st.just(End()),
)
histories = st.lists(events, max_size=25)


#: What lets a write reach the app.
LETTING_WRITE = {GateCommand.PASS_HARMLESS, GateCommand.BEGIN_SAVE}


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
    """Every state has a move for every cause; a spent gate lets only harmless writes pass, and an ended one nothing."""

    def test_the_whole_product_is_there(self) -> None:
        causes = [*RequestKind, *GateSignal]

        assert {(state, cause) for state in GateState for cause in causes} == set(TRANSITIONS)

    #: What the gate says, by what happens: closed, armed, spent, ended.
    SAID: Mapping[RequestKind | GateSignal, tuple[str, ...]] = MappingProxyType(
        {
            RequestKind.READ: ("pass_read", "pass_read", "pass_read", "refuse_read"),
            RequestKind.SOCKET: ("open_socket", "open_socket", "open_socket", "stop_write"),
            RequestKind.HARMLESS_WRITE: ("pass_harmless", "pass_harmless", "pass_harmless", "stop_write"),
            RequestKind.BLOCKED_WRITE: ("hold_back", "hold_back", "hold_back", "hold_back"),
            RequestKind.SAVE_WRITE: ("stop_write", "begin_save", "stop_write", "stop_write"),
            RequestKind.OTHER_WRITE: ("stop_write", "stop_write", "stop_write", "stop_write"),
            RequestKind.FOREIGN_HOST: ("refuse_host", "refuse_host", "refuse_host", "refuse_host"),
            GateSignal.ARM: ("nothing", "refuse_arm", "refuse_arm", "refuse_arm"),
            GateSignal.SETTLE: ("nothing", "nothing", "nothing", "nothing"),
            GateSignal.END: ("nothing", "nothing", "nothing", "nothing"),
            GateSignal.UNREADABLE: ("stop_write", "stop_write", "stop_write", "stop_write"),
        }
    )
    #: Where it stands then, when it does not stay.
    MOVED = MappingProxyType(
        {
            (GateState.CLOSED, GateSignal.ARM): GateState.ARMED,
            (GateState.ARMED, RequestKind.SAVE_WRITE): GateState.SPENT,
            (GateState.CLOSED, GateSignal.SETTLE): GateState.SPENT,
            (GateState.ARMED, GateSignal.SETTLE): GateState.SPENT,
            **{(state, GateSignal.END): GateState.ENDED for state in GateState},
        }
    )

    def test_every_move(self) -> None:
        expected = {
            (state, cause): (self.MOVED.get((state, cause), state), GateCommand(said))
            for cause, row in self.SAID.items()
            for state, said in zip(GateState, row, strict=True)
        }

        assert expected == TRANSITIONS

    def test_no_way_leads_back(self) -> None:
        order = list(GateState)

        assert all(order.index(before) <= order.index(after) for (before, _), (after, _) in TRANSITIONS.items())

    def test_writes_pass_only_where_they_may(self) -> None:
        passing = {key: command for key, (_, command) in TRANSITIONS.items() if command in LETTING_WRITE}

        assert passing == {
            (GateState.CLOSED, RequestKind.HARMLESS_WRITE): GateCommand.PASS_HARMLESS,
            (GateState.ARMED, RequestKind.HARMLESS_WRITE): GateCommand.PASS_HARMLESS,
            (GateState.ARMED, RequestKind.SAVE_WRITE): GateCommand.BEGIN_SAVE,
            (GateState.SPENT, RequestKind.HARMLESS_WRITE): GateCommand.PASS_HARMLESS,
        }

    def test_a_confirmed_socket_opens_until_the_end(self) -> None:
        opening = {state: TRANSITIONS[state, RequestKind.SOCKET][1] for state in GateState}

        assert opening == {
            GateState.CLOSED: GateCommand.OPEN_SOCKET,
            GateState.ARMED: GateCommand.OPEN_SOCKET,
            GateState.SPENT: GateCommand.OPEN_SOCKET,
            GateState.ENDED: GateCommand.STOP_WRITE,
        }

    def test_a_blocked_write_is_held_back_always(self) -> None:
        held = {TRANSITIONS[state, RequestKind.BLOCKED_WRITE] for state in GateState}

        assert held == {(state, GateCommand.HOLD_BACK) for state in GateState}

    def test_the_save_spends_the_gate_in_the_same_step(self) -> None:
        assert TRANSITIONS[GateState.ARMED, RequestKind.SAVE_WRITE][0] is GateState.SPENT

    @given(histories)
    def test_nothing_passes_after_the_end(self, history: list[GateEvent]) -> None:
        said = commands([End(), *history])

        assert {GateCommand.PASS_READ, GateCommand.OPEN_SOCKET, *LETTING_WRITE}.isdisjoint(said)


class TestWhatIsNotKnownToBeHarmlessIsAWrite:
    """A request outside the origins is refused; every other that is no plain read and no confirmed write is stopped."""

    @given(heads, st.one_of(st.none(), routes))
    def test_reads_are_only_plain_reads_of_a_known_server(self, head: RequestHead, armed: WriteRoute | None) -> None:
        plain = head.upgrade is None and head.override is None and not head.oversized
        is_read = head.origin in RULES.origins and plain and head.method in {"GET", "HEAD", "OPTIONS"}

        assert is_read == (classify(RULES, armed, head) is RequestKind.READ)

    @given(heads, st.one_of(st.none(), routes))
    def test_unknown_servers_are_foreign_and_nothing_else_is(self, head: RequestHead, armed: WriteRoute | None) -> None:
        assert (head.origin not in RULES.origins) == (classify(RULES, armed, head) is RequestKind.FOREIGN_HOST)

    @given(heads)
    def test_without_an_armed_route_nothing_is_the_save(self, head: RequestHead) -> None:
        assert classify(RULES, None, head) is not RequestKind.SAVE_WRITE

    @given(heads, st.one_of(st.none(), routes))
    def test_a_request_in_doubt_is_an_other_write(self, head: RequestHead, armed: WriteRoute | None) -> None:
        doubtful = head.oversized or head.override not in {None, "PUT", "delete"}

        if doubtful and head.origin in RULES.origins:
            assert classify(RULES, armed, head) is RequestKind.OTHER_WRITE

    @given(heads)
    def test_only_the_plain_opening_of_a_confirmed_path_is_a_socket(self, head: RequestHead) -> None:
        opens = (head.method, head.override, head.body, head.oversized) == ("GET", None, b"", False)
        is_socket = opens and head.upgrade in {"websocket", "WebSocket"} and head.path.startswith("/live/x")

        assert (is_socket and head.origin in RULES.origins) == (classify(RULES, None, head) is RequestKind.SOCKET)

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            ({}, RequestKind.READ),
            ({"method": "HEAD"}, RequestKind.READ),
            ({"method": "OPTIONS"}, RequestKind.READ),
            ({"method": "get"}, RequestKind.OTHER_WRITE),
            ({"override": "PUT"}, RequestKind.OTHER_WRITE),
            ({"oversized": True}, RequestKind.OTHER_WRITE),
            ({"origin": "https://updates.example"}, RequestKind.FOREIGN_HOST),
            ({"upgrade": "WebSocket"}, RequestKind.SOCKET),
            ({"upgrade": "WebSocket", "path": "/feed"}, RequestKind.SOCKET),
            ({"upgrade": "websocket", "path": "/other"}, RequestKind.OTHER_WRITE),
            ({"upgrade": "websocket", "method": "POST"}, RequestKind.OTHER_WRITE),
            ({"upgrade": "websocket", "override": "PUT"}, RequestKind.OTHER_WRITE),
            ({"upgrade": "websocket", "oversized": True}, RequestKind.OTHER_WRITE),
            ({"upgrade": "websocket", "body": b"x"}, RequestKind.OTHER_WRITE),
            ({"upgrade": "h2c"}, RequestKind.OTHER_WRITE),
            ({"upgrade": ""}, RequestKind.OTHER_WRITE),
        ],
        ids=str,
    )
    def test_each_thing_that_makes_a_look_none(self, change: dict[str, Any], kind: RequestKind) -> None:
        rules = FenceRules((APP, API), sockets=("/live/*", "/feed"))
        head = evolve(RequestHead(method="GET", origin=API, path="/live/7"), **change)

        assert kind is classify(rules, None, head)

    def test_a_blocked_write_is_one_also_where_it_is_harmless_too(self) -> None:
        both = FenceRules((APP,), (DRAFT,), (DRAFT,))
        draft = RequestHead(method="POST", origin=APP, path="/drafts", content_type=FORM)

        assert classify(both, None, draft) is RequestKind.BLOCKED_WRITE

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

    @pytest.mark.parametrize("path", ["/a%3Ab/x", "/a:b/x", "/%61:b/%78"])
    def test_a_name_may_be_written_in_other_letters(self, path: str) -> None:
        route = WriteRoute("POST", "/a%3Ab/x", FORM)

        assert matches(route, RequestHead(method="POST", origin=APP, path=path, content_type=FORM))

    @pytest.mark.parametrize("path", ["/a%2Fb", "/a%ff", "/%2e", "/a%zz"])
    def test_a_name_in_doubt_is_no_other(self, path: str) -> None:
        route = WriteRoute("POST", "/%61%2Fb", FORM)

        assert not matches(route, RequestHead(method="POST", origin=APP, path=path, content_type=FORM))

    def test_a_request_that_was_not_read_whole_does_not(self) -> None:
        head = RequestHead(method="POST", origin=APP, path="/referrals/7/notes", content_type=FORM, oversized=True)

        assert not matches(SAVE, head)

    def test_a_query_that_no_route_names_is_not_looked_at(self) -> None:
        head = RequestHead(method="POST", origin=APP, path="/sign-in?a=%zz", content_type=FORM)

        assert matches(SIGN_IN, head)

    def test_no_body_is_shown(self) -> None:
        assert "secret" not in repr(RequestHead(method="POST", origin=APP, path="/sign-in", body=b"secret"))

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ({}, True),
            ({"method": "PUT"}, False),
            ({"content_type": JSON}, False),
            ({"origin": None}, True),
            ({"origin": API}, False),
            ({"path": "/referrals/7/notes"}, True),
            ({"path": "/referrals/*/drafts"}, False),
            ({"query": (QueryPart("id", "8"),)}, True),
            ({"query": (QueryPart("do", "*"),)}, True),
            ({"query": (QueryPart("do", "/a/8"),)}, False),
        ],
        ids=str,
    )
    def test_each_thing_that_keeps_routes_apart(self, change: dict[str, Any], *, expected: bool) -> None:
        route = evolve(SAVE, origin=APP, query=(QueryPart("do", "/a/7"),))
        other = evolve(route, **change)

        assert (expected, expected) == (overlaps(route, other), overlaps(other, route))

    @given(heads, routes, routes)
    def test_routes_that_share_a_request_overlap(self, head: RequestHead, one: WriteRoute, other: WriteRoute) -> None:
        assert overlaps(one, other) or not (matches(one, head) and matches(other, head))

    @given(routes, routes)
    def test_overlap_has_no_direction(self, one: WriteRoute, other: WriteRoute) -> None:
        assert overlaps(one, other) == overlaps(other, one)


PAGE = WriteRoute("POST", "/index.php", JSON, (QueryPart("route", "/wp/v2/posts"), QueryPart("_locale", "*")))
CALL = WriteRoute("POST", "/api", JSON, operation=GraphqlOperation("Create"))
CREATE = b'{"operationName": "Create", "query": "mutation Create {x}"}'


class TestQueriesTellRoutesApart:
    """A route's members are each in the query, once, with their value; what could be read in two ways is no match."""

    @pytest.mark.parametrize(
        "query",
        [
            "route=%2Fwp%2Fv2%2Fposts&_locale=user",
            "_locale=&more=1&more=2&route=/wp/v2/posts",
            "route=/wp/v2/posts&_locale",
        ],
    )
    def test_the_members_are_there(self, query: str) -> None:
        assert matches(PAGE, RequestHead(method="POST", origin=APP, path=f"/index.php?{query}", content_type=JSON))

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "route=/wp/v2/posts",
            "route=/wp/v2/pages&_locale=user",
            "route=/wp/v2/posts&route=/wp/v2/posts&_locale=user",
            "route=/wp/v2/posts&Route=/wp/v2/pages&_locale=user",
            "route=/wp/v2/posts&route[]=x&_locale=user",
            "route=/wp/v2/posts&_locale=user;route=x",
            "route=/wp/v2/posts&_locale=%ff",
            "route=/wp/v2/posts&_locale=%",
        ],
    )
    def test_anything_else_is_no_match(self, query: str) -> None:
        assert not matches(PAGE, RequestHead(method="POST", origin=APP, path=f"/index.php?{query}", content_type=JSON))

    POST = WriteRoute("POST", "/index.php", JSON, (QueryPart("route", "/wp/v2/posts/*"),))

    @pytest.mark.parametrize("query", ["route=%2Fwp%2Fv2%2Fposts%2F7", "route=/wp/v2/posts/7&_locale=user"])
    def test_a_value_that_is_a_path_has_a_segment_left_open(self, query: str) -> None:
        head = RequestHead(method="POST", origin=APP, path=f"/index.php?{query}", content_type=JSON)

        assert matches(self.POST, head)

    @pytest.mark.parametrize(
        "value",
        [
            *("", "*", "/wp/v2/posts", "/wp/v2/posts/", "/wp/v2/posts/7/autosaves", "/wp/v2/users/7", "wp/v2/posts/7"),
            *(
                "/wp/v2/posts/.",
                "/wp/v2/posts/..",
                "/wp/v2/posts/a%255Cb",
                "/wp/v2/posts/a%252Fb",
                "/wp/v2/posts/%25ff",
            ),
            *("/wp/v2/posts/7%3Fdo=delete", "/wp/v2/posts/7%23x", "/wp/v2/pos%2574s/7", "/wp//v2/posts/7"),
        ],
    )
    def test_and_is_no_other_path(self, value: str) -> None:
        head = RequestHead(method="POST", origin=APP, path=f"/index.php?route={value}", content_type=JSON)

        assert not matches(self.POST, head)

    def test_a_value_that_is_no_path_leaves_nothing_open(self) -> None:
        route = WriteRoute("POST", "/x", "", (QueryPart("do", "a/*"),))
        heads = [RequestHead(method="POST", origin=APP, path=f"/x?do={value}") for value in ("a/7", "a/*")]

        assert [False, True] == [matches(route, head) for head in heads]

    def test_paths_that_can_be_one_overlap(self) -> None:
        post, same, below, user = (
            WriteRoute("POST", "/index.php", JSON, (QueryPart("route", f"/wp/v2/{value}"),))
            for value in ("posts/*", "posts/7", "posts/*/autosaves", "users/me")
        )

        assert [True, False, False] == [overlaps(post, other) for other in (same, below, user)]

    def test_a_blank_may_be_a_plus(self) -> None:
        route = WriteRoute("POST", "/x", "", (QueryPart("do", "a b"),))
        paths = ["/x?do=a+b", "/x?do=a%20b", "/x?do=a%2Bb"]

        assert [True, True, False] == [matches(route, RequestHead(method="POST", origin=APP, path=p)) for p in paths]

    def test_members_with_two_values_keep_routes_apart(self) -> None:
        one, other, any_value = (WriteRoute("POST", "/x", "", (QueryPart("do", value),)) for value in ("a", "b", "*"))

        assert [False, True, True] == [overlaps(one, other), overlaps(one, any_value), overlaps(one, one)]


class TestOperationsTellRoutesApart:
    """Where one address serves everything the body decides, unless the query or an encoding could say otherwise."""

    def test_the_operation_is_in_the_body(self) -> None:
        head = RequestHead(method="POST", origin=APP, path="/api?languageCode=en", content_type=JSON, body=CREATE)

        assert matches(CALL, head)

    @pytest.mark.parametrize(
        ("path", "encoded", "body"),
        [
            ("/api?query=%7Bx%7D", False, CREATE),
            ("/api?operationName=Create", False, CREATE),
            ("/api?a=%", False, CREATE),
            ("/api", True, CREATE),
            ("/api", False, CREATE + b" "),
            ("/api", False, CREATE[:-1]),
        ],
    )
    def test_in_doubt_it_is_not(self, path: str, *, encoded: bool, body: bytes) -> None:
        head = RequestHead(method="POST", origin=APP, path=path, content_type=JSON, encoded=encoded, body=body)

        assert (body == CREATE + b" ") == matches(CALL, head)

    def test_what_the_query_is_held_to_is_no_doubt(self) -> None:
        route = WriteRoute("POST", "/doku.php", FORM, (QueryPart("do", "edit"),), FormField("do[save]"))
        named = WriteRoute("POST", "/api", JSON, (QueryPart("operationName", "Create"),), CALL.operation)
        heads = [
            RequestHead(method="POST", origin=APP, path="/doku.php?do=edit", content_type=FORM, body=b"do[save]=1"),
            RequestHead(method="POST", origin=APP, path="/api?operationName=Create", content_type=JSON, body=CREATE),
        ]

        assert matches(route, heads[0])
        assert matches(named, heads[1])

    PATCH = WriteRoute("POST", "/notes/*", FORM, operation=FormField("_method", "patch"))

    @pytest.mark.parametrize(
        ("path", "content_type", "body", "taken"),
        [
            ("/notes/7", FORM, b"note=x", [True, False, False]),
            ("/notes/7", FORM, b"note=x&do=save", [True, True, False]),
            ("/notes/7", FORM, b"_method=patch&note=x", [False, False, True]),
            ("/notes/7", FORM, b"_method=delete&note=x&do=save", [False, False, False]),
            ("/notes/7", FORM, b"_METHOD=delete&do=save", [False, False, False]),
            ("/notes/7?_method=delete", FORM, b"note=x&do=save", [False, False, False]),
            ("/notes/7?a=1", FORM, b"note=x&do=save", [True, True, False]),
        ],
    )
    def test_a_form_that_asks_for_another_method_is_of_no_other_route(
        self, path: str, content_type: str, body: bytes, taken: list[bool]
    ) -> None:
        plain = WriteRoute("POST", "/notes/*", FORM)
        button = WriteRoute("POST", "/notes/*", FORM, operation=FormField("do", "save"))
        head = RequestHead(method="POST", origin=APP, path=path, content_type=content_type, body=body)

        assert [matches(route, head) for route in (plain, button, self.PATCH)] == taken

    @pytest.mark.parametrize(
        ("path", "content_type", "body", "taken"),
        [
            ("/notes/7?_method=delete&x=%zz", FORM, b"note=x", False),
            ("/notes/7?x=%zz", FORM, b"_method=delete", False),
            ("/notes/7?x=%zz&a=_b", FORM, b"note=the _method", True),
            ("/notes/7", FORM, b"_method=delete&note=50%", False),
            ("/notes/7", FORM, b"note=50%&%5fMethod=delete", False),
            ("/notes/7", FORM, b"note=x;+.method=delete", False),
            ("/notes/7", f" {FORM}; charset=utf-7", b"_method=delete", False),
            ("/notes/7", FORM, b"note=50% of _method", True),
            (
                "/notes/7",
                "multipart/form-data; boundary=b",
                b'--b\nContent-Disposition: form-data; name="_method"',
                False,
            ),
            ("/notes/7", JSON, b'{"_method": "DELETE", "a": 1, "a": 2}', False),
            ("/notes/7", "application/vnd.api+json", b"{'_method': 'DELETE'}", False),
            ("/notes/7", JSON, b'{"a": 1, "a": 2}', True),
            ("/notes/7", "text/plain", b"_method", True),
            ("/notes/7", FORM, b"note=_method", True),
            ("/notes/7", JSON, b'{"note": "_method"}', True),
        ],
    )
    def test_in_doubt_it_asks(self, path: str, content_type: str, body: bytes, *, taken: bool) -> None:
        route = WriteRoute("POST", "/notes/*", content_type.partition(";")[0].strip())
        head = RequestHead(method="POST", origin=APP, path=path, content_type=content_type, body=body)

        assert taken == matches(route, head)

    def test_a_query_that_the_route_names_may_ask_for_it(self) -> None:
        route = WriteRoute("POST", "/notes/*", FORM, (QueryPart("_method", "patch"),))
        paths = ["/notes/7?_method=patch", "/notes/7?_method=delete"]
        heads = [RequestHead(method="POST", origin=APP, path=path, content_type=FORM) for path in paths]

        assert [True, False] == [matches(route, head) for head in heads]

    def test_an_object_that_asks_for_another_method_is_of_no_other_route(self) -> None:
        plain = WriteRoute("POST", "/notes/*", JSON)
        bodies = (b'{"note": "x"}', b'{"note": "x", "_method": "DELETE"}', b"[1]")
        heads = [
            RequestHead(method="POST", origin=APP, path="/notes/7", content_type=JSON, body=body) for body in bodies
        ]

        assert [matches(plain, head) for head in heads] == [True, False, True]

    def test_routes_of_different_methods_of_a_form_are_told_apart(self) -> None:
        delete = WriteRoute("POST", "/notes/*", FORM, operation=FormField("_method", "delete"))
        plain = WriteRoute("POST", "/notes/*", FORM)

        assert [overlaps(self.PATCH, each) for each in (delete, plain, self.PATCH)] == [False, False, True]

    def test_a_read_never_holds_a_mutation(self) -> None:
        read = WriteRoute("POST", "/api", JSON, operation=GraphqlRead())

        assert not overlaps(read, CALL)
        assert overlaps(read, WriteRoute("POST", "/api", JSON))


class TestServersAndMethodsTellRoutesApart:
    """A route of one server is for no other; a POST that a header turns into another method is of that method."""

    def test_a_route_may_name_its_server(self) -> None:
        route = WriteRoute("POST", "/x", "", origin=API)

        assert [False, True] == [matches(route, RequestHead(method="POST", origin=to, path="/x")) for to in (APP, API)]
        assert not overlaps(route, WriteRoute("POST", "/x", "", origin=APP))
        assert overlaps(route, WriteRoute("POST", "/x", ""))

    @pytest.mark.parametrize(
        ("method", "override", "taken"),
        [
            ("POST", None, "POST"),
            ("POST", "PUT", "PUT"),
            ("POST", "patch", "PATCH"),
            ("POST", "delete", "DELETE"),
            ("POST", "GET", None),
            ("POST", "PUT, PUT", None),
            ("POST", "", None),
            ("GET", "PUT", None),
            ("PUT", "DELETE", None),
            ("PUT", None, "PUT"),
        ],
    )
    def test_the_method_is_what_the_app_asks_for(self, method: str, override: str | None, taken: str | None) -> None:
        head = RequestHead(method=method, origin=APP, path="/x", override=override)
        found = [each for each in ("POST", "PUT", "PATCH", "DELETE") if matches(WriteRoute(each, "/x", ""), head)]

        assert ([] if taken is None else [taken]) == found
        assert taken == asked_method(method, override)


class TestAGateThatIsNeverArmed:
    """The port of a read-back is never armed: nothing but reads, harmless writes and confirmed sockets passes there."""

    @given(histories)
    def test_only_harmless_writes_pass(self, history: list[GateEvent]) -> None:
        gate = Gate(RULES)
        for event in history:
            if not isinstance(event, Arm):
                before, (gate, command) = gate, step(gate, event)
                kind = classify(RULES, None, event.head) if isinstance(event, Arrived) else None

                assert command not in LETTING_WRITE or kind is RequestKind.HARMLESS_WRITE
                assert before.route is None


class TestArming:
    """A gate is armed once, and never for a save that a harmless or a blocked route could hold."""

    @given(routes)
    def test_a_route_that_a_harmless_one_could_hold_is_refused(self, route: WriteRoute) -> None:
        _, command = step(Gate(RULES), Arm(route))

        assert (overlaps(route, SIGN_IN) or overlaps(route, DRAFT)) == (command is GateCommand.REFUSE_ARM)

    def test_it_is_armed_once(self) -> None:
        assert [GateCommand.NOTHING, GateCommand.REFUSE_ARM] == commands([Arm(SAVE), Arm(SAVE)])

    def test_a_second_route_does_not_take_the_place_of_the_first(self) -> None:
        other = WriteRoute("PUT", "/other", FORM)

        assert SAVE == gate_after([Arm(SAVE), Arm(other)]).route

    def test_after_the_time_is_over_it_is_still_read(self) -> None:
        read = Arrived(RequestHead(method="GET", origin=APP, path="/"))

        assert [GateCommand.NOTHING, GateCommand.PASS_READ] == commands([Settle(), read])

    def test_after_the_time_is_over_it_cannot_be_armed(self) -> None:
        assert [GateCommand.NOTHING, GateCommand.REFUSE_ARM] == commands([Settle(), Arm(SAVE)])


class TestCounts:
    """What passes, what is stopped and what is refused is counted, each once; a stopped write never goes uncounted."""

    @given(histories)
    def test_each_command_is_counted_once(self, history: list[GateEvent]) -> None:
        said, counts = commands(history), gate_after(history).counts

        assert counts == FenceCounts(
            reads=said.count(GateCommand.PASS_READ),
            harmless_writes=said.count(GateCommand.PASS_HARMLESS),
            stopped_writes=said.count(GateCommand.STOP_WRITE),
            refused_hosts=said.count(GateCommand.REFUSE_HOST),
            blocked_writes=said.count(GateCommand.HOLD_BACK),
            sockets=said.count(GateCommand.OPEN_SOCKET),
        )

    def test_one_of_each(self) -> None:
        read = RequestHead(method="GET", origin=APP, path="/")
        heads = [
            read,
            evolve(read, method="POST", path="/sign-in", content_type=FORM),
            evolve(read, method="POST"),
            evolve(read, origin="https://updates.example"),
            evolve(read, method="POST", path="/drafts", content_type=FORM),
            evolve(read, path="/live/7", upgrade="websocket"),
        ]
        gate = gate_after([Arrived(head) for head in (*heads, *heads)])

        assert (FenceCounts(2, 2, 2, 2, 2, 2), 2) == (gate.counts, gate.stopped_since_arm)

    def test_a_write_that_is_held_back_is_none_that_was_stopped(self) -> None:
        draft = Arrived(RequestHead(method="POST", origin=APP, path="/drafts", content_type=FORM))
        save = Arrived(RequestHead(method="POST", origin=APP, path="/referrals/7/notes", content_type=FORM))
        gate = gate_after([draft, Arm(SAVE), draft, save, draft, End(), draft])

        assert (FenceCounts(blocked_writes=4), 0) == (gate.counts, gate.stopped_since_arm)

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
            ("http://a:1", "http://a:1"),
            ("http://a:65535", "http://a:65535"),
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
            "http://a:65536",
            "http://a:",
            "//a",
            "",
        ],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        assert parse_origin(text) is None
        with pytest.raises(ValueError, match="origin"):
            FenceRules((text,))
