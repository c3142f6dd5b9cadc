"""The whole finite domain of evidence, and the order "less evidence" on it.

Laws of this module:

- Every value of the evidence types is here, contradictory ones included; nothing is sampled and nothing left out.
- A run's evidence is a report and its circumstances, so the runs are the product of ``REPORTS`` and ``CIRCUMSTANCES``.
- ``less evidence`` takes facts away and puts none in their place.

What may be taken away, and what then stands in its place:

- a report: it cannot be read any more, or it is missing;
- the transaction outcome of a report: it is not stated. The rest of a report is part of every report that parses;
- the fence's measurement: ``NOT_SENT`` and ``SENT_ONCE`` become ``NOT_MEASURED`` (there is no fence, the report stands
  by
  itself), and that becomes ``UNKNOWN`` (a fence was there and cannot tell). ``UNKNOWN`` is the least: it is a reason to
  doubt the report, so an engine that has a fence never turns it into ``NOT_MEASURED``;
- the independence of the check: each level becomes the one below it;
- the pause: its look-up fails. ``NoPause`` is a fact (a look-up that found none) and not an absence;
- how the process ended: a clean exit, a process that never executed and an early refusal become an exit with an error,
  and that becomes ``TIMED_OUT``, of which nothing is known. ``STILL_RUNNING`` is a fact about another moment and no
  loss;
- what earlier attempts prove: it is unknown;
- the phase of a run whose owner is gone: an earlier phase becomes a later one, up to ``DELIVERING``; and that the
  engine
  journals its boundary; and at last the record itself.

Approval is no absence in any of its states: an engine states it or leaves no report. A workflow's minimum is a demand,
and no evidence.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import product
from typing import Final, Generic, TypeVar, assert_never

from attrs import evolve, frozen

from surehand.core.outcome.evidence import (
    AnyReport,
    Approval,
    CallRefused,
    CheckLevel,
    Delivery,
    EarlierAttempts,
    ExecutionOutcome,
    NoPause,
    OpenPause,
    OwnerGone,
    Pause,
    PauseCategory,
    PauseLookupFailed,
    Phase,
    ProcessFact,
    RecordUnreadable,
    Refusal,
    RejectedPause,
    Report,
    ReportMissing,
    ReportUnreadable,
    RunObserved,
    TransactionOutcome,
)

Item = TypeVar("Item", bound=Hashable)

#: Evidence without a run that was observed.
Call = CallRefused | OwnerGone | RecordUnreadable


@frozen
class Circumstances:
    """What is known about a run beside its report."""

    process: ProcessFact
    pause: Pause
    approval: Approval


PAUSES: Final[tuple[Pause, ...]] = (
    NoPause(),
    RejectedPause(),
    PauseLookupFailed(),
    *(OpenPause(category) for category in PauseCategory),
)

REPORTS: Final[tuple[AnyReport, ...]] = (
    ReportMissing(),
    ReportUnreadable(),
    *(
        Report(*parts)
        for parts in product(
            TransactionOutcome, ExecutionOutcome, (True, False), Delivery, tuple(CheckLevel), tuple(CheckLevel)
        )
    ),
)

CIRCUMSTANCES: Final = tuple(Circumstances(*parts) for parts in product(ProcessFact, PAUSES, Approval))

CALLS: Final[tuple[Call, ...]] = (
    *(CallRefused(*parts) for parts in product(Refusal, EarlierAttempts)),
    *(OwnerGone(*parts) for parts in product(Phase, (True, False))),
    RecordUnreadable(),
)


@frozen
class Domain:
    """Evidence to judge: all calls, and the runs that are the product of reports and circumstances.

    Args:
        reports: Some or all reports. With one, those that say one fact less are on the list too.
        circumstances: Some or all circumstances, in the same manner.
    """

    reports: tuple[AnyReport, ...]
    circumstances: tuple[Circumstances, ...]

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.reports) * len(self.circumstances)

    @property
    def size(self) -> int:
        """How many values of evidence there are."""
        return len(CALLS) + self.runs

    def run_at(self, index: int) -> RunObserved:
        """The run at a place of the product, reports outermost."""
        report, place = divmod(index, len(self.circumstances))
        around = self.circumstances[place]
        return RunObserved(around.process, self.reports[report], around.pause, around.approval)


#: Everything that there is.
WHOLE: Final = Domain(REPORTS, CIRCUMSTANCES)


@frozen
class Order(Generic[Item]):
    """The order "less evidence" on a list of items, by their positions.

    Args:
        below: The items directly below each one: one fact less.
        beneath: All items below each one: any facts less.
        upwards: All positions, each after those below it.
    """

    below: tuple[tuple[int, ...], ...]
    beneath: tuple[frozenset[int], ...]
    upwards: tuple[int, ...]


def order(items: Sequence[Item], one_fact_less: Callable[[Item], Iterator[Item]]) -> Order[Item]:
    """Order the items by the facts that each can lose."""
    position = {item: place for place, item in enumerate(items)}
    below = tuple(tuple(position[less] for less in one_fact_less(item)) for item in items)
    beneath: dict[int, frozenset[int]] = {}

    def visit(place: int) -> frozenset[int]:
        if place not in beneath:
            beneath[place] = frozenset(below[place]).union(*(visit(less) for less in below[place]))
        return beneath[place]

    for place in range(len(items)):
        visit(place)
    return Order(below, tuple(beneath[place] for place in range(len(items))), tuple(beneath))


#: What the fence's measurement becomes when a fact is lost.
_MEASURED: Final[dict[Delivery, tuple[Delivery, ...]]] = {
    Delivery.NOT_SENT: (Delivery.NOT_MEASURED,),
    Delivery.SENT_ONCE: (Delivery.NOT_MEASURED,),
    Delivery.NOT_MEASURED: (Delivery.UNKNOWN,),
    Delivery.UNKNOWN: (),
}

#: What the process fact becomes when a fact is lost.
_ENDED: Final[dict[ProcessFact, tuple[ProcessFact, ...]]] = {
    ProcessFact.NOT_LAUNCHED: (ProcessFact.EXITED_WITH_ERROR,),
    ProcessFact.REFUSED_BEFORE_EXECUTION: (ProcessFact.EXITED_WITH_ERROR,),
    ProcessFact.EXITED_CLEANLY: (ProcessFact.EXITED_WITH_ERROR,),
    ProcessFact.EXITED_WITH_ERROR: (ProcessFact.TIMED_OUT,),
    ProcessFact.TIMED_OUT: (),
    ProcessFact.STILL_RUNNING: (),
}

#: What the phase of a dead owner's run becomes when a fact is lost.
_PHASES: Final[dict[Phase, tuple[Phase, ...]]] = {
    Phase.RESERVED: (Phase.STARTED,),
    Phase.STARTED: (Phase.DELIVERING,),
    Phase.DELIVERING: (),
    Phase.FINISHED: (),
}


def weaker_reports(report: AnyReport) -> Iterator[AnyReport]:
    """The reports that say one fact less."""
    if not isinstance(report, Report):
        return
    yield from (ReportUnreadable(), ReportMissing())
    if report.transaction is not TransactionOutcome.NOT_STATED:
        yield evolve(report, transaction=TransactionOutcome.NOT_STATED)
    yield from (evolve(report, delivery=delivery) for delivery in _MEASURED[report.delivery])
    if report.check is not CheckLevel.UNCHECKED:
        yield evolve(report, check=CheckLevel(report.check - 1))


def weaker_circumstances(around: Circumstances) -> Iterator[Circumstances]:
    """The circumstances with one fact less."""
    yield from (evolve(around, process=process) for process in _ENDED[around.process])
    if around.pause != PauseLookupFailed():
        yield evolve(around, pause=PauseLookupFailed())


def weaker_calls(call: Call) -> Iterator[Call]:
    """The calls with one fact less."""
    match call:
        case CallRefused():
            if call.earlier is not EarlierAttempts.UNKNOWN:
                yield evolve(call, earlier=EarlierAttempts.UNKNOWN)
        case OwnerGone():
            yield from (evolve(call, phase=phase) for phase in _PHASES[call.phase])
            if call.journaled:
                yield evolve(call, journaled=False)
            yield RecordUnreadable()
        case RecordUnreadable():
            pass
        case _:  # pragma: no cover
            assert_never(call)
