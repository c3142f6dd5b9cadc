"""What a plan waits for and branches on: a closed set of kinds that can be added to, no language.

Laws of this module:

- A condition is judged by what is known at one moment, and that is all an argument.
- What is not known satisfies nothing. Judging never raises, whatever the parameters are.
- A kind is one entry of a registry: its name, its parameters, its judgement.
"""

from collections.abc import Callable, Mapping
from enum import Enum, unique
from typing import Annotated, Final

from attrs import evolve, field, frozen
from returns.result import Failure

from surehand.core.orchestration.result import WorkflowStepResult
from surehand.core.orchestration.text import Binding, Bindings, Name, all_filled, by_name
from surehand.core.outcome.reasons import Outcome
from surehand.core.schema import Items

_THOUSAND: Final = 1000


@frozen(kw_only=True)
class ConditionSpec:
    """A kind of condition and its parameters, in which ``{name}`` stands for a variable."""

    kind: Name
    params: Bindings = ()


@frozen
class Scene:
    """What a page or screen shows: its texts in their order."""

    texts: tuple[str, ...] = field(repr=False)


@frozen(kw_only=True)
class View:
    """What is known when a condition is judged.

    Args:
        results: The ends of all steps so far.
        variables: The variables of the run.
        elapsed: Milliseconds since the step began, for one that waits; since the run began, for one that branches.
        scene: What the page shows; ``None`` when that cannot be seen.
        world: What is tracked of the app; ``None`` when nothing is.
    """

    results: tuple[WorkflowStepResult, ...]
    variables: tuple[Binding, ...]
    elapsed: int
    scene: Scene | None = None
    world: tuple[Binding, ...] | None = None


@unique
class ParamKind(Enum):
    """What the parameter of a condition holds."""

    TEXT = "text"
    SECONDS = "seconds"
    STEP = "step"
    OUTCOME = "outcome"


@frozen(kw_only=True)
class ConditionKind:
    """One kind of condition.

    Args:
        kind: Its name.
        params: Its parameters by their kind; all of them are needed.
        holds: The judgement, given the parameters with their values.
        sees: Whether it has to see the scene.
    """

    kind: Name
    params: Mapping[str, ParamKind]
    holds: Callable[[Mapping[str, str], View], bool]
    sees: bool = False


@frozen
class Conditions:
    """The kinds that can be used."""

    kinds: Annotated[tuple[ConditionKind, ...], Items(max_items=100)]

    def find(self, kind: str) -> ConditionKind | None:
        """The kind of this name."""
        return next((each for each in self.kinds if each.kind == kind), None)

    def added(self, *kinds: ConditionKind) -> "Conditions":
        """These kinds and further ones.

        Raises:
            ValueError: A kind of this name is there already.
        """
        names = [each.kind for each in (*self.kinds, *kinds)]
        if len(set(names)) != len(names):
            raise ValueError("a kind of condition is there already")
        return evolve(self, kinds=(*self.kinds, *kinds))


def holds(conditions: Conditions, spec: ConditionSpec, view: View) -> bool:
    """Whether a condition is satisfied; never without everything that it needs."""
    kind = conditions.find(spec.kind)
    params = all_filled(spec.params, by_name(view.variables))
    if kind is None or isinstance(params, Failure):
        return False
    values = params.unwrap()
    return values.keys() == kind.params.keys() and kind.holds(values, view)


def _scene_contains_text(params: Mapping[str, str], view: View) -> bool:
    return view.scene is not None and any(params["text"] in text for text in view.scene.texts)


def _world_variable_equals(params: Mapping[str, str], view: View) -> bool:
    return view.world is not None and by_name(view.world).get(params["name"]) == params["value"]


def _elapsed_seconds(params: Mapping[str, str], view: View) -> bool:
    return is_seconds(params["seconds"]) and view.elapsed >= int(params["seconds"]) * _THOUSAND


def _step_result_success(params: Mapping[str, str], view: View) -> bool:
    result = _latest(view, params["step_id"])
    return result is not None and result.success


def _run_outcome_is(params: Mapping[str, str], view: View) -> bool:
    result = _latest(view, params["step_id"])
    return result is not None and result.end.outcome.value == params["outcome"]


def _latest(view: View, step_id: str) -> WorkflowStepResult | None:
    return next((each for each in reversed(view.results) if each.step_id == step_id), None)


def is_seconds(text: str) -> bool:
    """Whether the text is a whole number of seconds, at most those of a year."""
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_SECONDS)) and int(text) <= MAX_SECONDS


#: The longest time that a plan waits.
MAX_SECONDS: Final = 31_536_000

#: The outcomes that a step can end with, by their names.
OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome) - {Outcome.RUNNING.value}

#: The kinds that are there without anybody adding one.
STANDARD: Final = Conditions(
    (
        ConditionKind(
            kind="scene_contains_text", params={"text": ParamKind.TEXT}, holds=_scene_contains_text, sees=True
        ),
        ConditionKind(
            kind="world_variable_equals",
            params={"name": ParamKind.TEXT, "value": ParamKind.TEXT},
            holds=_world_variable_equals,
        ),
        ConditionKind(kind="elapsed_seconds", params={"seconds": ParamKind.SECONDS}, holds=_elapsed_seconds),
        ConditionKind(kind="step_result_success", params={"step_id": ParamKind.STEP}, holds=_step_result_success),
        ConditionKind(
            kind="run_outcome_is",
            params={"step_id": ParamKind.STEP, "outcome": ParamKind.OUTCOME},
            holds=_run_outcome_is,
        ),
    )
)
