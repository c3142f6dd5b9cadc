"""Inputs in addresses: a value stands as one piece, or the address is refused."""

from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from surehand.core.workflow.addresses import (
    gate_at,
    intended_text,
    named_at,
    names_in,
    path_at,
    path_fits,
    query_fits,
    route_at,
    source_at,
    target_at,
    text_at,
)
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageField, PageRecords, RecordPage, Source
from surehand.core.workflow.target import Constant, FromInput, PageGate, QueryPart, Target, TargetKind

VALUES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
#: Texts that addresses give a meaning of their own.
LOADED = st.sampled_from(
    ("*", "%2F", "a&b=c", "a?b", "a#b", "..", ".", "a/b", "a\\b", "{x}", "ü", "\u2028", "a b", "+")
)
INPUTS = {"id": "A 7*", "day": "2026-05-04"}


class TestOnePiece:
    """Whatever a value holds, the address that it stands in keeps its shape, or does not fit."""

    @given(VALUES | LOADED)
    def test_a_segment_stays_one_segment_that_decodes_to_the_value(self, value: str) -> None:
        inputs = {"x": value}
        assume(path_fits("/a/{x}/b", inputs))

        parts = urlsplit("http://app" + path_at("/a/{x}/b", inputs))

        assert parts.path.split("/")[:2] + parts.path.split("/")[3:] == ["", "a", "b"]
        assert unquote(parts.path.split("/")[2]) == value
        assert (parts.query, parts.fragment) == ("", "")

    @given(VALUES | LOADED)
    def test_what_would_be_another_segment_does_not_fit(self, value: str) -> None:
        apart = value in {".", ".."} or "/" in value or "\\" in value

        assert path_fits("/a/{x}/b", {"x": value}) == (not apart)

    @given(VALUES | LOADED)
    def test_a_member_of_a_query_stays_one_member(self, value: str) -> None:
        query = urlsplit("http://app" + path_at("/a?x={x}&y=1", {"x": value})).query

        assert parse_qsl(query, keep_blank_values=True) == [("x", value), ("y", "1")]

    @given(VALUES | LOADED)
    def test_no_value_is_a_star(self, value: str) -> None:
        assert "*" not in path_at("/a/{x}", {"x": value})

    @pytest.mark.parametrize(
        ("template", "inputs", "fits"),
        [
            ("/{a}{b}", {"a": ".", "b": "."}, False),
            ("/{a}{b}", {"a": ".", "b": "x"}, True),
            ("/page.{a}", {"a": ".."}, True),
            ("/{a}", {"a": ""}, False),
            ("/{a}/x", {"a": "."}, False),
            ("/{a}/x", {"a": ".."}, False),
            ("/a?x={a}", {"a": ".."}, True),
            ("/a?x={a}", {"a": "b/c"}, True),
            ("/a/../b", {}, False),
            ("/a", {}, True),
        ],
    )
    def test_the_edges(self, template: str, inputs: dict[str, str], fits: bool) -> None:
        assert path_fits(template, inputs) is fits

    @pytest.mark.parametrize(
        ("template", "value", "fits"),
        [
            ("*", "x", True),
            ("{x}", "*", False),
            ("{x}", "a*", True),
            ("{x}*", "", False),
            ("{x}", "a/b", False),
            ("{x}", "..", True),
            ("/posts/{x}", "7", True),
            ("/posts/{x}/*", "7", True),
            ("/posts/{x}/*", "*", False),
            ("/posts/{x}", "*", False),
            ("/posts/{x}", "7/8", False),
            ("/posts/{x}", "..", False),
            ("/posts/{x}", ".", False),
            ("/posts/.{x}", ".", False),
            ("post/{x}", "..", False),
        ],
    )
    def test_a_value_of_a_query_never_means_any_value(self, template: str, value: str, fits: bool) -> None:
        assert query_fits(QueryPart("q", template), {"x": value}) is fits

    @given(VALUES | LOADED)
    def test_a_value_is_put_in_once(self, value: str) -> None:
        assert text_at("{x}-{y}", {"x": "{y}", "y": value}) == "{y}-" + value

    def test_a_template_without_an_input_is_the_address(self) -> None:
        assert (path_at("/a%20b/*?c={", {}), names_in("/a/{}/{A}/*")) == ("/a%20b/*?c={", set())

    def test_the_names_are_those_of_the_places(self) -> None:
        assert names_in("/a/{id}/x{day}?q={id}") == {"id", "day"}


ROW = Target(TargetKind.LABEL, "Note", row=FromInput("id"))
PLACED_ROW = Target(TargetKind.LABEL, "Note", row=Constant("A 7*"))
GATE = PageGate("/p/{id}", ROW, (QueryPart("day", "{day}"), QueryPart("any", "*")), "/f/{id}")
PLACED_GATE = PageGate(
    "/p/A%207%2A", PLACED_ROW, (QueryPart("day", "2026-05-04"), QueryPart("any", "*")), "/f/A%207%2A"
)
FIELD = (PageField("note", ROW),)
PLACED_FIELD = (PageField("note", PLACED_ROW),)


class TestNames:
    """The name of an element holds the value of an input as it is, and no address."""

    @given(VALUES | LOADED)
    def test_the_name_is_the_value(self, value: str) -> None:
        link = Target(TargetKind.ROLE, "Open {x}", "link", row=FromInput("x"))

        assert named_at(link, {"x": value}) == Target(TargetKind.ROLE, f"Open {value}", "link", row=FromInput("x"))
        assert target_at(link, {"x": value}) == Target(TargetKind.ROLE, f"Open {value}", "link", row=Constant(value))


class TestValues:
    """A value is a constant or an input; an input that was left out is the empty text."""

    def test_the_text(self) -> None:
        assert [intended_text(each, INPUTS) for each in (Constant("x"), FromInput("id"))] == ["x", "A 7*"]
        assert intended_text(FromInput("left_out"), INPUTS) == ""


class TestPlaces:
    """Every place of an input in a gate, a route or a source is filled, and nothing else changes."""

    def test_of_a_target(self) -> None:
        bare = Target(TargetKind.LABEL, "Note")

        assert [target_at(each, INPUTS) for each in (ROW, PLACED_ROW, bare)] == [PLACED_ROW, PLACED_ROW, bare]

    def test_of_a_gate(self) -> None:
        bare = PageGate("/p/*", PLACED_ROW)

        assert [gate_at(each, INPUTS) for each in (GATE, bare)] == [PLACED_GATE, bare]

    def test_of_a_route(self) -> None:
        route = WriteRoute("POST", "/p/{id}/*", "text/plain", (QueryPart("day", "{day}"),))

        assert route_at(route, INPUTS) == WriteRoute(
            "POST", "/p/A%207%2A/*", "text/plain", (QueryPart("day", "2026-05-04"),)
        )

    @pytest.mark.parametrize(
        ("source", "placed"),
        [
            (JsonRecords("/r/{id}", "items", "id"), JsonRecords("/r/A%207%2A", "items", "id")),
            (
                JsonRecords("/r?of={id}", "", "id", "/r/{id}/*"),
                JsonRecords("/r?of=A%207%2A", "", "id", "/r/A%207%2A/*"),
            ),
            (
                PageRecords("/l/{id}", ROW, "/l/{id}/*", GATE, FIELD),
                PageRecords("/l/A%207%2A", PLACED_ROW, "/l/A%207%2A/*", PLACED_GATE, PLACED_FIELD),
            ),
            (RecordPage("/r/{id}", GATE, FIELD), RecordPage("/r/A%207%2A", PLACED_GATE, PLACED_FIELD)),
            (DatabaseRecords("main", "notes", "id", ("note",)), DatabaseRecords("main", "notes", "id", ("note",))),
        ],
        ids=["json", "json with details", "list of pages", "one page", "database"],
    )
    def test_of_a_source(self, source: Source, placed: Source) -> None:
        assert source_at(source, INPUTS) == placed
