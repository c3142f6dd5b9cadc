"""Conditions of plans, and texts with names in them.

Laws:

- What is not known satisfies nothing, and judging never raises.
- The set of kinds is closed for whoever writes a plan, and open for whoever embeds us.
- A value is put in as it is; a name without a value is told.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.core.orchestration.condition import (
    MAX_SECONDS,
    STANDARD,
    ConditionKind,
    ConditionSpec,
    ParamKind,
    Scene,
    View,
    holds,
    is_seconds,
)
from surehand.core.orchestration.result import WorkflowStepResult, in_doubt, passed
from surehand.core.orchestration.skill import ToolCall
from surehand.core.orchestration.text import Binding, all_filled, bound, by_name, filled, fitting, is_name, names_in
from surehand.core.outcome.reasons import Outcome
from surehand.core.wire import from_wire, to_wire

NAMES = st.from_regex("[a-z][a-z0-9_]{0,5}", fullmatch=True)
KINDS = [each.kind for each in STANDARD.kinds]


def seen(
    *results: WorkflowStepResult,
    elapsed: int = 0,
    scene: Scene | None = None,
    world: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> View:
    """What is known at a moment."""
    return View(
        results=results,
        variables=bound(variables or {}),
        elapsed=elapsed,
        scene=scene,
        world=None if world is None else bound(world),
    )


def is_so(kind: str, view: View, **params: str) -> bool:
    """Whether a condition of the standard kinds holds."""
    return holds(STANDARD, ConditionSpec(kind=kind, params=bound(params)), view)


def ended(step_id: str, visit: int, *, success: bool) -> WorkflowStepResult:
    """The end of a step."""
    return WorkflowStepResult(step_id=step_id, visit=visit, end=passed() if success else in_doubt())


class TestNothingKnownSatisfiesNothing:
    """A condition whose source is unavailable is never satisfied and never raises."""

    @pytest.mark.parametrize(
        ("kind", "params"),
        [
            ("scene_contains_text", {"text": ""}),
            ("world_variable_equals", {"name": "a", "value": ""}),
            ("elapsed_seconds", {"seconds": "1"}),
            ("step_result_success", {"step_id": "a"}),
            ("run_outcome_is", {"step_id": "a", "outcome": "done"}),
        ],
    )
    def test_without_a_source(self, kind: str, params: dict[str, str]) -> None:
        assert not is_so(kind, seen(), **params)

    @given(st.sampled_from([*KINDS, "other"]), st.dictionaries(NAMES | st.sampled_from(["text", "seconds"]), st.text()))
    def test_whatever_the_parameters_are(self, kind: str, params: dict[str, str]) -> None:
        spec = ConditionSpec(kind=kind, params=bound(params))

        assert holds(STANDARD, spec, seen()) in {True, False}

    def test_a_variable_without_a_value(self) -> None:
        view = seen(scene=Scene(("Saved {name}",)))

        assert not is_so("scene_contains_text", view, text="{name}")

    def test_a_parameter_too_many_or_too_few(self) -> None:
        view = seen(scene=Scene(("Saved",)))

        assert not is_so("scene_contains_text", view, text="Saved", more="x")
        assert not is_so("scene_contains_text", view)


class TestTheStandardKinds:
    """Each of the five kinds holds when what it names is so, and not otherwise."""

    def test_a_text_of_the_scene(self) -> None:
        view = seen(scene=Scene(("Note", "Saved for Ada")), variables={"who": "Ada"})

        assert is_so("scene_contains_text", view, text="for {who}")
        assert not is_so("scene_contains_text", view, text="for Bob")

    def test_a_variable_of_the_world(self) -> None:
        view = seen(world={"page": "list"})

        assert is_so("world_variable_equals", view, name="page", value="list")
        assert not is_so("world_variable_equals", view, name="page", value="form")
        assert not is_so("world_variable_equals", view, name="app", value="list")

    @given(st.integers(0, 10**6), st.integers(0, 10**3))
    def test_time_is_never_early(self, elapsed: int, seconds: int) -> None:
        assert (elapsed >= seconds * 1000) is is_so("elapsed_seconds", seen(elapsed=elapsed), seconds=str(seconds))

    @given(st.lists(st.booleans(), max_size=4))
    def test_the_latest_end_of_a_step_counts(self, ends: list[bool]) -> None:
        view = seen(*(ended("a", number + 1, success=success) for number, success in enumerate(ends)))
        latest = ends[-1] if ends else None

        assert (latest is True) is is_so("step_result_success", view, step_id="a")
        assert (latest is True) is is_so("run_outcome_is", view, step_id="a", outcome=Outcome.DONE.value)
        assert (latest is False) is is_so("run_outcome_is", view, step_id="a", outcome="not_sure_if_saved")

    @pytest.mark.parametrize("text", ["", "-1", "1.5", "1 ", "\u0661", str(MAX_SECONDS + 1), "9" * 30])
    def test_what_is_no_number_of_seconds(self, text: str) -> None:
        assert not is_seconds(text)

    def test_a_year_is_the_longest(self) -> None:
        assert is_seconds(str(MAX_SECONDS))


class TestKindsCanBeAdded:
    """A further kind is one entry; a name is taken once."""

    ALWAYS = ConditionKind(kind="always", params={"a": ParamKind.TEXT}, holds=lambda params, _: params["a"] == "b")

    def test_an_added_kind_is_judged(self) -> None:
        conditions = STANDARD.added(self.ALWAYS)

        assert holds(conditions, ConditionSpec(kind="always", params=bound({"a": "b"})), seen())
        assert not holds(conditions, ConditionSpec(kind="always", params=bound({"a": "c"})), seen())
        assert not holds(STANDARD, ConditionSpec(kind="always", params=bound({"a": "b"})), seen())

    def test_a_taken_name_is_refused(self) -> None:
        with pytest.raises(ValueError, match="there already"):
            STANDARD.added(STANDARD.kinds[0])


class TestTexts:
    """``{name}`` is what stands under the name; nothing else of a text is touched."""

    @given(st.text().filter(lambda text: "{" not in text))
    def test_a_text_without_names_stays(self, text: str) -> None:
        assert text == filled(text, {}).unwrap()

    @given(NAMES, st.text())
    def test_a_value_stands_as_it_is(self, name: str, value: str) -> None:
        assert f"<{value}>" == filled(f"<{{{name}}}>", {name: value}).unwrap()

    @given(NAMES)
    def test_two_braces_stand_for_one(self, name: str) -> None:
        assert f"{{{name}}}" == filled(f"{{{{{name}}}}}", {name: "x"}).unwrap()
        assert frozenset() == names_in(f"{{{{{name}}}}}")

    @given(NAMES)
    def test_a_name_without_a_value_is_told(self, name: str) -> None:
        assert {name} == filled(f"a {{{name}}}", {}).failure()

    def test_every_missing_name_is_told(self) -> None:
        texts = (Binding("a", "{x} {y}"), Binding("b", "{z}"), Binding("c", "c"))

        assert {"x", "y", "z"} == all_filled(texts, {}).failure()
        assert {"a": "1 2", "b": "3", "c": "c"} == all_filled(texts, {"x": "1", "y": "2", "z": "3"}).unwrap()

    @given(st.dictionaries(NAMES, st.text()))
    def test_bindings_are_a_mapping_in_order(self, values: dict[str, str]) -> None:
        assert values == by_name(bound(values))
        assert sorted(values) == [each.name for each in bound(values)]

    @given(st.lists(st.builds(Binding, NAMES | st.text(max_size=3), st.text(max_size=3) | st.just("x" * 20_001))))
    def test_what_fits_can_be_kept_and_read_back(self, found: list[Binding]) -> None:
        kept = fitting(tuple(found))
        read = from_wire({"args": to_wire(kept), "tool": "a"}, ToolCall)

        assert kept == read.unwrap().args
        assert all(each in kept for each in found if is_name(each.name) and len(each.value) <= 3)

    def test_what_does_not_fit_is_left_out(self) -> None:
        misfits = (Binding("A", "x"), Binding("a", "x" * 20_001), Binding("b", "\ud800"))

        assert () == fitting(misfits)
        assert 200 == len(fitting((Binding("a", "x"),) * 201))

    def test_no_value_stands_in_a_repr(self) -> None:
        assert "secret" not in repr((Binding("a", "secret"), Scene(("secret",))))
