"""A workflow told to a person: nothing of it is left out, and nothing of it reaches the terminal as a command."""

from typing import Final

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from support.own_bundle import LESS, ON_FORM, OTHER, OWN
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.wire import to_wire
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    DateForm,
    DialogAnswer,
    FillStep,
    Key,
    OpenStep,
    ReadField,
    Rule,
    bundle_digest,
)
from surehand.core.workflow.describe import Difference, describe, differences, quoted
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, WriteRoute
from surehand.core.workflow.source import DatabaseRecords, JsonRecords, PageField, PageRecords, RecordPage
from surehand.core.workflow.target import Constant, FromInput, PageGate, QueryPart, Target, TargetKind, Within

EXTRA: Final = Target(TargetKind.CAPTION, "Remark", within=Within.DIALOG, frame="editor")
ROUTE: Final = WriteRoute("POST", "/graphql", "application/json")
SHOWN: Final = (
    PageField("number", Target(TargetKind.ATTRIBUTE, "no", attribute="data-field")),
    PageField("size", Target(TargetKind.LABEL, "Size")),
    PageField("customer", Target(TargetKind.LABEL, "Customer")),
)
ON_RECORD: Final = PageGate("/orders/*", EXTRA, (QueryPart("tab", "all"), QueryPart("a", "*")), "top")

#: Each with what has to be told of it.
TOLD: Final[list[tuple[Bundle, tuple[str, ...]]]] = [
    (OWN, ("the input number", "/orders/new", "POST to /orders", "choose the input size", "“customer”", "Save")),
    (LESS["sockets_open"], ("WebSocket at /live",)),
    (
        evolve(
            OWN,
            steps=(
                *OWN.steps,
                ClickStep("open_dialog", ON_FORM, EXTRA, DialogAnswer.DISMISS, optional=True),
                FillStep(
                    "search",
                    ON_FORM,
                    EXTRA,
                    Constant("2026-01-02"),
                    Rule.DATE,
                    then=Key.ENTER,
                    form=DateForm.DAY_MONTH_DOT,
                    part_of_record=False,
                ),
                CheckStep("box", ON_FORM, EXTRA, Constant("true"), part_of_record=False),
                ChooseStep("pick", ON_FORM, EXTRA, Constant("x"), control=ChoiceControl.LIST, part_of_record=False),
                ClickStep("row", ON_FORM, Target(TargetKind.ROLE, "Go", "link", row=FromInput("number"))),
            ),
            guards=("version",),
            harmless_writes=(
                evolve(ROUTE, operation=GraphqlOperation("Find"), origin="https://orders.example"),
                evolve(ROUTE, operation=GraphqlRead()),
                evolve(ROUTE, path="/form", operation=FormField("go", "1")),
                evolve(ROUTE, path="/form", operation=FormField("look")),
            ),
            blocked_writes=(
                evolve(ROUTE, path="/rpc", operation=JsonMember("method", "log"), query=(QueryPart("v", "1"),)),
                WriteRoute("DELETE", "/draft", ""),
            ),
        ),
        (
            "dismiss the dialog that opens, which a person may leave out",
            "“Remark” in the open dialog in the frame “editor”",
            "the constant “2026-01-02” as dd.mm.yyyy, then press enter (not part of the record)",
            "to the constant “true” (not part of the record)",
            "the constant “x” in the field beside",
            "in the row of the input number",
            "stops when “version” changed",
            "harmless POST to https://orders.example/graphql as application/json, the GraphQL operation “Find”",
            "a GraphQL query that only reads",
            "a form with “go” = “1”",
            "a form with “look”",
            "holds back POST to /rpc?v=1 as application/json, JSON with “method” = “log”",
            "holds back DELETE to /draft without a body",
        ),
    ),
    (
        evolve(OWN, read_back=evolve(OWN.read_back, source=JsonRecords("/one", "", "id"), may_change=("version",))),
        ("read from the JSON at /one", "lets “version” change"),
    ),
    (
        evolve(
            OWN, business_key=(), read_back=evolve(OWN.read_back, source=JsonRecords("/all", "rows", "id", "/all/*"))
        ),
        ("each at /all/*",),
    ),
    (
        evolve(
            OWN,
            business_key=(),
            read_back=evolve(OWN.read_back, source=PageRecords("/list", EXTRA, "/orders/*", ON_RECORD, SHOWN)),
        ),
        ("whose links /orders/* lead to the page /orders/*?tab=all&a=*#top", "the element whose data-field is “no”"),
    ),
    (
        evolve(OWN, read_back=evolve(OWN.read_back, source=RecordPage("/orders/{number}", ON_RECORD, SHOWN))),
        ("the page /orders/{number}",),
    ),
    (
        evolve(
            OWN,
            read_back=evolve(
                OWN.read_back,
                level=CheckLevel.SYSTEM_OF_RECORD,
                source=DatabaseRecords("main", "orders", "id", ("number", "size", "customer")),
            ),
        ),
        ("the view orders of the database main, by id", "system_of_record"),
    ),
    (
        evolve(
            OWN,
            parameters=(
                *OWN.parameters,
                Parameter(
                    name="price", type=ParameterType.DECIMAL, title="Price", required=False, minimum="0", maximum="9"
                ),
                Parameter(name="code", type=ParameterType.LINE, title="Code", pattern="[a-z]+", max_length=7),
            ),
            steps=(
                *OWN.steps,
                FillStep("p", ON_FORM, EXTRA, FromInput("price"), Rule.DECIMAL),
                FillStep("c", ON_FORM, Target(TargetKind.LABEL, "Code"), FromInput("code"), Rule.TEXT),
            ),
            read_back=evolve(
                OWN.read_back,
                written=(
                    *OWN.read_back.written,
                    ReadField("price", FromInput("price"), Rule.DECIMAL),
                    ReadField("code", FromInput("code"), Rule.TEXT),
                ),
            ),
            origins=(),
        ),
        (
            "price: decimal, may be left out; at least 0; at most 9",
            "matches “[a-z]+”; characters 0 to 7",
            "server says",
        ),
    ),
]

BUNDLES: Final = (*(bundle for bundle, _ in TOLD), *LESS.values(), OTHER)


def told(bundle: Bundle) -> str:
    """Everything that is told, as one text."""
    return "\n".join(line for section in describe(bundle) for line in (section.title, *section.lines))


class TestEverythingIsTold:
    """Every input, step, target, route and comparison of a bundle is told."""

    @pytest.mark.parametrize(("bundle", "parts"), TOLD)
    def test_an_example(self, bundle: Bundle, parts: tuple[str, ...]) -> None:
        text = told(bundle)

        assert [] == [part for part in parts if part not in text]

    @pytest.mark.parametrize("bundle", BUNDLES)
    def test_every_step_and_input_is_named(self, bundle: Bundle) -> None:
        text = told(bundle)
        names = {step.id for step in (*bundle.steps, bundle.save)} | {each.name for each in bundle.parameters}

        assert set() == {name for name in names if f"{name}:" not in text}

    def test_whatever_differs_is_told_otherwise(self) -> None:
        assert len({bundle_digest(bundle) for bundle in BUNDLES}) == len({told(bundle) for bundle in BUNDLES})


class TestTerminals:
    """A name out of an app is shown as text, never obeyed."""

    @given(st.text())
    def test_only_what_is_shown_as_itself(self, text: str) -> None:
        assert quoted(text).isprintable()

    @given(st.text(max_size=5), st.text(max_size=5))
    def test_two_texts_are_never_told_alike(self, one: str, other: str) -> None:
        assert (one == other) is (quoted(one) == quoted(other))

    @pytest.mark.parametrize(
        ("text", "shown"),
        [("\x1b[2J", "“\\u001b[2J”"), ("a\\b", "“a\\u005cb”"), ("\U000e0001", "“\\U000e0001”"), ("Größe", "“Größe”")],
    )
    def test_examples(self, text: str, shown: str) -> None:
        assert shown == quoted(text)

    def test_a_hostile_name_in_a_bundle(self) -> None:
        save = evolve(OWN.save, target=Target(TargetKind.LABEL, "Save\x1b]0;x\x07\u202e"))

        assert all(line.isprintable() for line in told(evolve(OWN, save=save)).splitlines())


class TestDifferences:
    """Two bundles differ in the places that are told, and in no other."""

    @pytest.mark.parametrize("one", BUNDLES)
    @pytest.mark.parametrize("other", BUNDLES)
    def test_none_only_between_equals(self, one: Bundle, other: Bundle) -> None:
        assert (one == other) is (differences(one, other) == ())

    @pytest.mark.parametrize("one", BUNDLES)
    @pytest.mark.parametrize("other", BUNDLES)
    def test_the_other_way_round(self, one: Bundle, other: Bundle) -> None:
        there = {(each.place, each.before, each.after) for each in differences(one, other)}

        assert there == {(each.place, each.after, each.before) for each in differences(other, one)}

    def test_a_step_is_named_by_its_id(self) -> None:
        renamed = OpenStep("open_form", "/orders/add")

        assert (Difference("steps[open_form].path", "“/orders/new”", "“/orders/add”"),) == differences(
            OWN, evolve(OWN, steps=(renamed, *OWN.steps[1:]))
        )

    def test_the_order_of_steps_is_a_difference(self) -> None:
        turned = evolve(OWN, steps=(OWN.steps[0], OWN.steps[2], OWN.steps[1]))

        assert ["steps[]"] == [each.place for each in differences(OWN, turned)]

    def test_what_only_looks_alike_differs(self) -> None:
        one, other = (
            evolve(OWN, save=evolve(OWN.save, target=Target(TargetKind.LABEL, name))) for name in ("a\x01", "a\\u0001")
        )

        assert to_wire(one) != to_wire(other)
        assert () != differences(one, other)
