"""Random histories: of each store against the one in memory, and of two services whose processes stall and wake up.

Laws of this module:

- The machines are those of the test suite, driven further; every step that was made is counted.
- The store in memory is the oracle of the stores. The saves that the engines made are the oracle of the services.
- A crash is a rule like any other: a process may lose its lock before or behind the boundary, with its save made and
  its end not stored, and may wake up at any later time.
"""

import time
from collections.abc import Callable
from typing import Final, cast

import hypothesis
from attrs import frozen
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from faults.result import Control, LayerResult
from support.service_machine import OnACarelessStore, TwoServices, a_stalled_owner_wakes_up
from support.stores import (
    WRONG,
    OneMemory,
    machine,
    opens_claims,
    opens_sqlite,
)
from surehand.shell.store.memory import MemoryStore

#: Histories of each machine, and the most steps of one history.
HISTORIES: Final = {"short": 40, "full": 200}
STEPS: Final = {"short": 30, "full": 50}

#: Rounds after which no further histories are added, however few steps they had.
ROUNDS: Final = {"short": 1, "full": 6}

#: Steps that the full profile makes at least.
ENOUGH: Final = {"short": 300, "full": 15_000}

_SERVICES_SHARE: Final = 4


@frozen
class Tally:
    """Counts the steps of one machine."""

    steps: list[int]

    def wrap(self, kind: type[RuleBasedStateMachine], seed: int) -> type[RuleBasedStateMachine]:
        """The machine, counted and drawn by a seed."""
        steps = self.steps

        def count(_self: object) -> None:
            steps[0] += 1

        counted = type(kind.__name__, (kind,), {"count": invariant()(count)})
        return cast("type[RuleBasedStateMachine]", hypothesis.seed(seed)(counted))


def _drive(kind: type[RuleBasedStateMachine], seed: int, histories: int, steps: int) -> tuple[int, str | None]:
    """Drive a machine through so many histories; the steps that it made, and what broke it."""
    tally = Tally([0])
    chosen = settings(
        deadline=None,
        database=None,
        max_examples=histories,
        stateful_step_count=steps,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
    )
    try:
        run_state_machine_as_test(tally.wrap(kind, seed), settings=chosen)
    except AssertionError as error:
        return tally.steps[0], str(error).partition("\n")[0] or "an assertion failed"
    return tally.steps[0], None


def run(profile: str, seed: int, report: Callable[[str], None]) -> LayerResult:
    """Run the layer."""
    began = time.monotonic()
    machines: dict[str, Callable[[], type[RuleBasedStateMachine]]] = {
        "sqlite": lambda: machine(opens_sqlite),
        "claims": lambda: machine(opens_claims),
        "memory": lambda: machine(OneMemory()),
        "two services": lambda: TwoServices,
    }
    made = dict.fromkeys(machines, 0)
    violations: list[str] = []
    for number in range(ROUNDS[profile]):
        for place, (name, kind) in enumerate(machines.items()):
            histories = HISTORIES[profile] // (_SERVICES_SHARE if name == "two services" else 1)
            drawn = seed + number * len(machines) + place
            steps, broken = _drive(kind(), drawn, histories, STEPS[profile])
            made[name] += steps
            if broken is not None:
                violations.append(f"{name}, seed {drawn}: {broken}")
        report(f"model: {sum(made.values())} steps, {len(violations)} violations")
        if sum(made.values()) >= ENOUGH[profile]:
            break
    if sum(made.values()) < ENOUGH[profile]:
        violations.append(f"only {sum(made.values())} steps were made")
    controls = (*(_control(kind, seed) for kind in WRONG), _careless())
    notes = (", ".join(f"{name} {steps:,}" for name, steps in made.items()) + " steps",)
    return LayerResult("model", sum(made.values()), tuple(violations), controls, time.monotonic() - began, notes)


def _control(kind: type[MemoryStore], seed: int) -> Control:
    steps, broken = _drive(machine(OneMemory(kind)), seed, 1000, 50)
    return Control(f"the machine on a {kind.__name__}", broken is not None, f"caught within {steps:,} steps")


def _careless() -> Control:
    """One fixed history on a store that lets everybody pass the boundary."""
    try:
        a_stalled_owner_wakes_up(OnACarelessStore())
    except AssertionError:
        return Control("two services on a boundary that is not kept", caught=True, evidence="a second save was seen")
    return Control("two services on a boundary that is not kept", caught=False, evidence="nothing was seen")
