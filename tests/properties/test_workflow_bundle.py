"""Bundles: what cannot be made, and what stays the same on the way through JSON."""

import hashlib
import json
from typing import Any, cast

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure

from support.app_model import BUNDLE, ON_FORM, ON_SIGN_IN, ON_WORK_LIST, PARAMETERS, button, label
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.wire import FaultCode, WireFault, to_wire
from surehand.core.workflow.bundle import (
    Bundle,
    CheckStep,
    ChoiceControl,
    ChooseStep,
    ClickStep,
    DateForm,
    Entry,
    FillStep,
    IdentityField,
    OpenStep,
    ReadField,
    Rule,
    bundle_digest,
    entered_on_save_page,
    parse_bundle,
)
from surehand.core.workflow.params import Parameter, ParameterType
from surehand.core.workflow.target import Constant, FromInput, PageGate, Target, TargetKind

WIRE: Any = json.loads(json.dumps(to_wire(BUNDLE)))


def with_step(step: OpenStep | FillStep | ChooseStep | ClickStep) -> dict[str, Any]:
    """One step more."""
    return {"steps": (*BUNDLE.steps, step)}


def with_read_back(**more: Any) -> dict[str, object]:  # noqa: ANN401 - each member has its own type
    """Another read-back."""
    return {"read_back": evolve(BUNDLE.read_back, **more)}


def fill(value: Constant | FromInput, rule: Rule, page: PageGate = ON_SIGN_IN, **more: Any) -> FillStep:  # noqa: ANN401
    """A step that fills a field of its own, on the way to the record."""
    more = {"part_of_record": False, **more}
    return FillStep("extra", page, label("extra"), value, rule, **more)


LINE = Parameter(name="extra", type=ParameterType.LINE, title="Extra")
OPTIONAL = Parameter(name="extra", type=ParameterType.DATE, title="Extra", required=False)
CODE = Parameter(name="extra", type=ParameterType.IDENTIFIER, title="Extra")

NAMED = [
    ({"parameters": (*PARAMETERS, PARAMETERS[0])}, "an input is declared twice"),
    ({"parameters": PARAMETERS[:-1]}, "an input is used that is not declared"),
    (with_step(fill(FromInput("nobody"), Rule.TEXT)), "an input is used that is not declared"),
    ({"parameters": (*PARAMETERS, LINE)}, "a declared input is neither entered nor checked"),
    (with_step(OpenStep("open", "/again")), "a step id is repeated"),
    (with_step(OpenStep("save", "/again")), "a step id is repeated"),
    (with_step(ClickStep("extra", ON_SIGN_IN, Target(TargetKind.ROLE, "Go"))), "a role target has a role"),
    (with_step(ClickStep("extra", ON_SIGN_IN, Target(TargetKind.LABEL, "Go", "link"))), "a role target has a role"),
    (
        with_step(ClickStep("extra", evolve(ON_SIGN_IN, landmark=Target(TargetKind.ROLE, "Go")), label("x"))),
        "a role target has a role",
    ),
    (with_step(fill(FromInput("patient"), Rule.DECIMAL)), "a rule does not fit"),
    (with_step(fill(FromInput("code"), Rule.TEXT)), "a rule does not fit"),
    (with_step(fill(Constant("tomorrow"), Rule.DATE)), "a rule does not fit"),
    (with_step(fill(Constant("1,5"), Rule.DECIMAL)), "a rule does not fit"),
    (with_read_back(identity=(ReadField("patient", FromInput("patient"), Rule.DATE),)), "a rule does not fit"),
    (with_step(ChooseStep("extra", ON_SIGN_IN, label("extra"), Constant(""))), "may be empty"),
    (with_step(ChooseStep("extra", ON_SIGN_IN, label("extra"), FromInput("remark"))), "may be empty"),
    (with_step(ClickStep("extra", ON_WORK_LIST, button("Go", FromInput("code")))), "may be empty"),
    (
        {"identity": (*BUNDLE.identity, IdentityField(label("x"), Constant(""), Rule.TEXT, unique=False))},
        "may be empty",
    ),
    (with_read_back(identity=(ReadField("code_again", FromInput("code"), Rule.IDENTIFIER),)), "may be empty"),
    (
        {
            "parameters": (*PARAMETERS, OPTIONAL),
            "identity": (*BUNDLE.identity, IdentityField(label("x"), FromInput("extra"), Rule.DATE, unique=False)),
        },
        "may be empty",
    ),
    ({"identity": ()}, "the identity has fewer than two fields"),
    ({"identity": BUNDLE.identity[:1]}, "the identity has fewer than two fields"),
    ({"identity": (BUNDLE.identity[0], BUNDLE.identity[0])}, "the identity has fewer than two fields"),
    ({"identity": tuple(evolve(item, unique=False) for item in BUNDLE.identity)}, "no identity field is unique"),
    (with_read_back(level=CheckLevel.UNCHECKED, minimum=CheckLevel.UNCHECKED), "the read-back proves nothing"),
    (with_read_back(minimum=CheckLevel.UNCHECKED), "the read-back proves nothing"),
    (with_read_back(level=CheckLevel.SAME_PAGE), "the read-back is weaker"),
    (with_read_back(identity=()), "the read-back names no record"),
    (with_read_back(written=()), "the read-back compares nothing"),
    (with_read_back(written=(*BUNDLE.read_back.written, BUNDLE.read_back.written[0])), "compared twice"),
    (with_read_back(written=(*BUNDLE.read_back.written, BUNDLE.read_back.identity[0])), "compared twice"),
    *(
        (
            with_read_back(written=tuple(item for item in BUNDLE.read_back.written if item is not left)),
            "is not read back",
        )
        for left in BUNDLE.read_back.written
    ),
    *(
        (with_step(fill(Constant("typed"), Rule.TEXT, page, part_of_record=True)), "is not read back")
        for page in (ON_FORM, ON_SIGN_IN)
    ),
    (
        with_step(ClickStep("extra", evolve(ON_FORM, path="/patients/7/entries/new"), button("Save"))),
        "clicks what saves",
    ),
    (with_step(ClickStep("extra", ON_FORM, BUNDLE.save.target)), "clicks what saves"),
    (with_step(ClickStep("extra", ON_FORM, button("Save", FromInput("patient")))), "clicks what saves"),
]


class TestRules:
    """A bundle that could enter less than its inputs, save unproven, or save twice cannot be made."""

    @pytest.mark.parametrize(("members", "rule"), NAMED)
    def test_it_is_refused_by_the_name_of_the_rule(self, members: dict[str, Any], rule: str) -> None:
        with pytest.raises(ValueError, match=rule):
            evolve(BUNDLE, **members)

    @pytest.mark.parametrize(
        "members",
        [
            with_step(fill(Constant(""), Rule.DATE)),
            with_step(fill(Constant("2026-05-04"), Rule.DATE)),
            with_step(fill(Constant("0.5"), Rule.DECIMAL)),
            with_step(fill(FromInput("note"), Rule.IDENTIFIER)),
            with_step(fill(Constant("typed"), Rule.TEXT, ON_FORM)),
            with_step(fill(FromInput("note"), Rule.TEXT, part_of_record=True)),
            with_step(ClickStep("extra", ON_FORM, button("Preview"))),
            with_step(ClickStep("extra", ON_SIGN_IN, button("Save"))),
            with_read_back(minimum=CheckLevel.SYSTEM_OF_RECORD),
        ],
    )
    def test_its_neighbour_is_accepted(self, members: dict[str, Any]) -> None:
        assert isinstance(evolve(BUNDLE, **members), Bundle)

    @pytest.mark.parametrize(("kind", "rule"), [(ParameterType.DATE, Rule.DATE), (ParameterType.DECIMAL, Rule.DECIMAL)])
    def test_a_date_or_a_number_is_never_empty(self, kind: ParameterType, rule: Rule) -> None:
        extra = IdentityField(label("x"), FromInput("extra"), rule, unique=False)
        named = (*PARAMETERS, Parameter(name="extra", type=kind, title="Extra"))

        assert isinstance(evolve(BUNDLE, parameters=named, identity=(*BUNDLE.identity, extra)), Bundle)

    def test_what_a_step_does_not_say_is_the_stricter_and_plainer_of_two(self) -> None:
        fill = FillStep("a", ON_FORM, label("a"), FromInput("note"), Rule.TEXT)
        choose = ChooseStep("a", ON_FORM, label("a"), FromInput("priority"))
        check = CheckStep("a", ON_FORM, label("a"), Constant("true"))

        assert [step.part_of_record for step in (fill, choose, check)] == [True, True, True]
        assert (fill.entry, fill.then, fill.form) == (Entry.REPLACE, None, DateForm.ISO)
        assert (choose.control, choose.search, choose.shown) == (ChoiceControl.SELECT, None, None)

    def test_no_message_repeats_a_value(self) -> None:
        with pytest.raises(ValueError, match="declared") as refused:
            evolve(BUNDLE, **with_step(fill(FromInput("canary"), Rule.TEXT)))

        assert "canary" not in str(refused.value)

    def test_of_two_entries_into_one_field_the_last_counts(self) -> None:
        again = FillStep("again", ON_FORM, label("note"), FromInput("note"), Rule.TEXT)
        bundle = evolve(BUNDLE, steps=(*BUNDLE.steps, again))

        assert entered_on_save_page(bundle) == (*entered_on_save_page(BUNDLE)[1:], again)


def _texts(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of every text of a JSON value."""
    if isinstance(value, str):
        return [path]
    parts: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        parts = list(cast("dict[str | int, object]", value).items())
    elif isinstance(value, list):
        parts = list(enumerate(cast("list[object]", value)))
    return [found for name, part in parts for found in _texts(part, (*path, name))]


def _changed(path: tuple[str | int, ...]) -> Any:  # noqa: ANN401 - JSON
    data = json.loads(json.dumps(WIRE))
    part = data
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] += "x"
    return data


class TestWire:
    """A bundle is read strictly, and its digest is that of its canonical form."""

    def test_what_was_written_is_read_again(self) -> None:
        assert parse_bundle(WIRE).unwrap() == BUNDLE

    def test_a_broken_rule_of_the_whole_is_a_fault_without_a_value(self) -> None:
        assert parse_bundle({**WIRE, "identity": []}) == Failure((WireFault((), FaultCode.DISAGREES),))

    @pytest.mark.parametrize(
        "data", [None, [], "{}", 7, {}, {**WIRE, "script": "x"}, {**WIRE, "schema": "surehand.bundle/v2"}]
    )
    def test_anything_else_is_refused(self, data: object) -> None:
        assert isinstance(parse_bundle(data), Failure)

    def test_the_digest_is_that_of_the_canonical_json(self) -> None:
        canonical = json.dumps(WIRE, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

        assert bundle_digest(BUNDLE) == hashlib.sha256(canonical).hexdigest()

    def test_the_order_of_members_does_not_change_the_digest(self) -> None:
        turned = parse_bundle(dict(reversed(WIRE.items()))).unwrap()

        assert bundle_digest(turned) == bundle_digest(BUNDLE)

    @given(st.sampled_from(_texts(WIRE)))
    def test_a_change_of_any_text_changes_the_digest_or_is_refused(self, path: tuple[str | int, ...]) -> None:
        changed = parse_bundle(_changed(path))

        assert isinstance(changed, Failure) or bundle_digest(changed.unwrap()) != bundle_digest(BUNDLE)
