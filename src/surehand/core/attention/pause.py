"""A pause: why a run waits for a person, what may be done about it, and how the question is worded.

Laws of this module:

- A pause never changes once it is kept. What changes, the window and the time to decide, is an issue beside it.
- What may be decided is a pure function of what the pause says. It never grows by what anybody asks.
- A question is fixed copy, chosen by closed codes. Nothing observed, typed or configured is ever formatted into one.
- What the agent sees holds no value, name or place of the app: closed codes, opaque names, counts and times.
"""

from collections.abc import Iterator
from enum import Enum, unique
from typing import Annotated, Final, Literal

from attrs import field, frozen

from surehand.core.outcome.evidence import AFTER_DELIVERY, PauseCategory
from surehand.core.outcome.result import Instant, RunId
from surehand.core.schema import Items, Number, Text

#: Seconds in which a pause can be decided.
DECIDE_SECONDS: Final = 24 * 60 * 60

PauseId = Annotated[str, Text(pattern="^att_[0-9a-f]{24}$")]
Digest = Annotated[str, Text(pattern="^[0-9a-f]{64}$")]
OwnerToken = Annotated[str, Text(pattern="^([0-9a-f]{32})?$")]
Seconds = Annotated[int, Number(minimum=0)]

#: Pauses of one run.
_MOST_EARLIER: Final = 1000


@unique
class DeliveryState(Enum):
    """Whether the save of the run may have left."""

    NOT_DELIVERED = "not_delivered"
    DELIVERED = "delivered"
    UNKNOWN = "unknown"


@unique
class Action(Enum):
    """What a person can decide about a pause."""

    CONTINUE = "continue"
    SKIP = "skip"
    REJECT = "reject"
    TEACH = "teach"
    ESCALATE = "escalate"
    RECONCILE = "reconcile"


#: Actions that go on with the run in its live window.
IN_WINDOW: Final = frozenset({Action.CONTINUE, Action.SKIP})

#: Actions that a worker performs after they were decided.
PERFORMED: Final = frozenset({*IN_WINDOW, Action.RECONCILE})


#: Actions that can bring a run to its end.
ENDING: Final = frozenset({*IN_WINDOW, Action.REJECT})


@unique
class PauseView(Enum):
    """What a person has to do about a pause: the six ways to ask."""

    RECORD_IDENTITY = "record_identity"
    TARGET_AMBIGUITY = "target_ambiguity"
    HUMAN_STEP = "human_step"
    SAVED_RESULT = "saved_result"
    DELIVERY_UNCERTAINTY = "delivery_uncertainty"
    OPTIONAL_STEP = "optional_step"


@frozen(kw_only=True)
class Pause:
    """Why one run stopped, and where: kept once, before the run is finished.

    Args:
        pause_id: ``att_`` and 24 random hexadecimal digits.
        run_id: The run.
        workflow: The declared name of its workflow.
        bundle: Digest of the bundle that was executed; empty where it is not known.
        category: Why it stopped.
        at: The number of the instruction of the plan that did not pass.
        before_save: Whether that instruction stands before the one that saves.
        skippable: Whether it belongs to a step that the bundle declares optional.
        delivery: Whether the save may have left.
        lineage: The pauses of this run before it, oldest first.
        inputs: Keyed digest of the final inputs; empty where they are not known.
        evidence: SHA-256 of the sealed evidence; empty where there is none.
        has_baseline: Whether the evidence holds the records as they were before the save.
        has_frame: Whether the evidence holds a picture of the stopped page.
        created_at: Seconds since the epoch, UTC.
    """

    pause_id: PauseId
    run_id: RunId
    workflow: Annotated[str, Text(max_length=100)]
    bundle: Annotated[str, Text(pattern="^([0-9a-f]{64})?$")]
    category: PauseCategory
    at: Seconds = 0
    before_save: bool
    skippable: bool = False
    delivery: DeliveryState
    lineage: Annotated[tuple[PauseId, ...], Items(max_items=_MOST_EARLIER)] = field(default=())
    inputs: Annotated[str, Text(pattern="^([0-9a-f]{64})?$")]
    evidence: Annotated[str, Text(pattern="^([0-9a-f]{64})?$")]
    has_baseline: bool = False
    has_frame: bool = False
    created_at: Seconds


@frozen(kw_only=True)
class Issue:
    """Who holds the live window of a pause, and until when it can be decided.

    Args:
        number: 1 for the first; each later one makes the capabilities before it worthless.
        owner: Token of the process with the live window; empty when there is none.
        issued_at: Seconds since the epoch, UTC.
        expires_at: The first second in which nothing can be decided any more.
        boot: What the kernel calls the time since this machine was started; empty where it has no name for it.
        boot_ms: Milliseconds since then at the issue.
    """

    number: Annotated[int, Number(minimum=1)]
    owner: OwnerToken
    issued_at: Seconds
    expires_at: Seconds
    boot: Annotated[str, Text(max_length=64)]
    boot_ms: Seconds


@frozen(kw_only=True)
class KeptPause:
    """A pause as the ledger keeps it.

    Args:
        pause: What never changes.
        seal: Keyed digest of the pause, so that a changed row is found.
        issues: Every issue of it, oldest first.

    Raises:
        ValueError: It has no issue, or they are not numbered from 1.
    """

    pause: Pause
    seal: Digest
    issues: tuple[Issue, ...]

    def __attrs_post_init__(self) -> None:
        """Refuse a pause that nobody issued."""
        if not self.issues or [each.number for each in self.issues] != list(range(1, len(self.issues) + 1)):
            raise ValueError("the issues of a pause are numbered from 1")

    @property
    def issue(self) -> Issue:
        """The issue that counts: the newest."""
        return self.issues[-1]


def allowed_actions(pause: Pause, *, has_window: bool) -> tuple[Action, ...]:
    """What may be decided about a pause.

    Args:
        pause: The pause.
        has_window: Whether a process holds its live window.
    """
    return tuple(action for action, allowed in _allowed(pause, has_window) if allowed)


def _allowed(pause: Pause, has_window: bool) -> Iterator[tuple[Action, bool]]:
    unsent = pause.delivery is DeliveryState.NOT_DELIVERED and pause.category not in AFTER_DELIVERY
    in_window = unsent and has_window and pause.before_save
    yield Action.CONTINUE, in_window and pause.category in _CONTINUABLE
    yield Action.SKIP, in_window and pause.skippable and pause.category in _SKIPPABLE
    yield Action.REJECT, unsent
    yield Action.TEACH, True
    yield Action.ESCALATE, True
    yield Action.RECONCILE, not unsent and pause.has_baseline


#: Why a run may have stopped that a person can put right in the live window.
_CONTINUABLE: Final = frozenset(
    {
        PauseCategory.IDENTITY,
        PauseCategory.DISAMBIGUATION,
        PauseCategory.RESOLUTION,
        PauseCategory.HUMAN_REQUIRED,
        PauseCategory.HALT,
        PauseCategory.UNMET_GUARD,
        PauseCategory.POSTCONDITION,
        PauseCategory.POSSIBLE_DUPLICATE,
    }
)

#: Why an optional step may have stopped that it is safe to leave out. A wrong record never is.
_SKIPPABLE: Final = frozenset({PauseCategory.RESOLUTION, PauseCategory.HALT, PauseCategory.POSTCONDITION})

_VIEWS: Final[dict[PauseCategory, PauseView]] = {
    PauseCategory.IDENTITY: PauseView.RECORD_IDENTITY,
    PauseCategory.POSSIBLE_DUPLICATE: PauseView.RECORD_IDENTITY,
    PauseCategory.DISAMBIGUATION: PauseView.TARGET_AMBIGUITY,
    PauseCategory.RESOLUTION: PauseView.TARGET_AMBIGUITY,
    PauseCategory.HUMAN_REQUIRED: PauseView.HUMAN_STEP,
    PauseCategory.UNMET_GUARD: PauseView.HUMAN_STEP,
    PauseCategory.POSTCONDITION: PauseView.HUMAN_STEP,
    PauseCategory.HALT: PauseView.HUMAN_STEP,
    PauseCategory.ITEM_APPROVAL: PauseView.HUMAN_STEP,
    PauseCategory.ITEM_DECLINED: PauseView.HUMAN_STEP,
    PauseCategory.BUSINESS_DECISION: PauseView.HUMAN_STEP,
    PauseCategory.OPERATOR_REVIEW: PauseView.HUMAN_STEP,
    PauseCategory.EFFECT_ESCALATED: PauseView.SAVED_RESULT,
    PauseCategory.EFFECT_INDETERMINATE: PauseView.SAVED_RESULT,
    PauseCategory.EFFECT_REFUTED: PauseView.SAVED_RESULT,
    PauseCategory.EFFECT_UNVERIFIABLE: PauseView.SAVED_RESULT,
    PauseCategory.PLACEHOLDER_EFFECT: PauseView.SAVED_RESULT,
    PauseCategory.READBACK_PENDING: PauseView.SAVED_RESULT,
    PauseCategory.DELIVERY_UNCERTAIN: PauseView.DELIVERY_UNCERTAINTY,
}


def view_of(pause: Pause) -> PauseView:
    """What a person has to do about a pause. A save that may have left comes before everything else."""
    if pause.delivery is DeliveryState.UNKNOWN:
        return PauseView.DELIVERY_UNCERTAINTY
    if pause.skippable and pause.before_save and pause.category in _SKIPPABLE:
        return PauseView.OPTIONAL_STEP
    return _VIEWS[pause.category]


@frozen
class Question:
    """The fixed words of a view: what happened, and what the person prepares."""

    headline: str
    question: str


QUESTIONS: Final[dict[PauseView, Question]] = {
    PauseView.RECORD_IDENTITY: Question(
        "The record was not confirmed",
        "The open record is not proven to be the intended one, or already shows this entry. "
        "Open the intended record in the app. It is compared again before anything is saved.",
    ),
    PauseView.TARGET_AMBIGUITY: Question(
        "No single target was found",
        "The run found none, or more than one, of what it was to use. "
        "Do this one step in the app so that a single target is left.",
    ),
    PauseView.HUMAN_STEP: Question(
        "A step needs a person",
        "The app asks for something that the run cannot or may not do. Do this one step in the app, without saving.",
    ),
    PauseView.SAVED_RESULT: Question(
        "The saved result was not proven",
        "The save was done or is possible, but reading the record back did not prove it. "
        "Look at the record in the app. Nothing is sent again.",
    ),
    PauseView.DELIVERY_UNCERTAINTY: Question(
        "A save may have gone through",
        "Nobody knows whether the save arrived. Look at the record in the app and have it read again. Never repeat it.",
    ),
    PauseView.OPTIONAL_STEP: Question(
        "An optional step did not pass",
        "This step may be left out. Decide whether to leave it out, to do it in the app, or to end the run.",
    ),
}


@unique
class ItemStatus(Enum):
    """How far a pause is."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    REJECTED = "rejected"
    COMPLETED = "completed"
    RECONCILED = "reconciled"
    DELIVERY_UNCERTAIN = "delivery_uncertain"
    OVER = "over"


#: An item with these can still be decided, now or after it was issued anew.
WAITING: Final = frozenset({ItemStatus.OPEN, ItemStatus.IN_PROGRESS, ItemStatus.EXPIRED})


@frozen(kw_only=True)
class AttentionItem:
    """What everybody may see of a pause.

    Args:
        id: The pause.
        run_id: Its run.
        created_at: When it stopped.
        category: Why.
        view: What a person has to do.
        headline: Fixed copy.
        question: Fixed copy.
        status: How far it is.
        delivery_state: Whether the save may have left.
        allowed_actions: What its capability allows now; empty for an item that cannot be decided.
        capability_digest: What a decision has to present; left out when nothing can be decided.
        expires_at: When the capability ends.
        has_window: Whether its live window is open.
        has_frame: Whether there is a picture of the stopped page, for the operator at this computer.
        earlier_pauses: How often this run stopped before.
        teaching_requested: Whether a person asked for a corrective demonstration.
        escalated: Whether a person asked for help.
    """

    id: PauseId
    run_id: RunId
    created_at: Instant | None = None
    category: PauseCategory
    view: PauseView
    headline: Annotated[str, Text(max_length=100)]
    question: Annotated[str, Text(max_length=300)]
    status: ItemStatus
    delivery_state: DeliveryState
    allowed_actions: Annotated[tuple[Action, ...], Items(max_items=6)] = field(default=())
    capability_digest: Digest | None = None
    expires_at: Instant | None = None
    has_window: bool
    has_frame: bool
    earlier_pauses: Annotated[int, Number(minimum=0)]
    teaching_requested: bool
    escalated: bool


@frozen(kw_only=True)
class AttentionPage:
    """A page of the queue; ``next`` is what the following page is asked for with."""

    contract: Literal["surehand.attention-list/v1"] = "surehand.attention-list/v1"
    items: Annotated[tuple[AttentionItem, ...], Items(max_items=100)]
    next: PauseId | None = None
