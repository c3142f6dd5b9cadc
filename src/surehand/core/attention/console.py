"""What an operator is shown of a stopped run: the one contract of every screen, near or far.

Laws of this module:

- A card is a function of its arguments. Without evidence it is the closed context, fit for any screen.
- A card offers an action only where its item allows it and the screen may decide.
- What was sealed is shown only as long as the run waits for a person.
- Every sentence is fixed copy, chosen by closed codes.
"""

from enum import Enum, unique
from typing import Final

from attrs import field, frozen

from surehand.core.attention.capability import DecisionRefusal
from surehand.core.attention.decision import DecisionStatus, Finding, Receipt
from surehand.core.attention.evidence import LocalEvidence
from surehand.core.attention.form import action_words, box_words
from surehand.core.attention.pause import (
    IN_WINDOW,
    WAITING,
    Action,
    AttentionItem,
    DeliveryState,
    ItemStatus,
    PauseView,
)


@unique
class Weight(Enum):
    """How much an action asks to be thought over."""

    GOES_ON = "goes_on"
    ENDS = "ends"
    STAYS = "stays"


@frozen(kw_only=True)
class Choice:
    """One action as a person is offered it.

    Args:
        action: The action.
        label: What the button says.
        words: What it does.
        box: What the person confirms.
        weight: How much it asks to be thought over.
        code: The code under which a client on this computer may take it; ``None`` where none is needed.
    """

    action: Action
    label: str
    words: str
    box: str
    weight: Weight
    code: str | None = field(default=None, repr=False)


@frozen(kw_only=True)
class Card:
    """A stopped run as a screen shows it.

    Args:
        item: What everybody may see.
        standing: What can be done about it now, in one sentence.
        limits: What cannot be done in its window; empty where nothing can be done there.
        rechecks: What is read again before anything goes on; empty where nothing can.
        choices: What may be decided on this screen.
        may_open: Whether its app may be opened again.
        may_renew: Whether it may be given a new time to decide.
        receipts: What was decided about its run, oldest first.
        evidence: What was sealed; ``None`` on every screen but the operator's own.
    """

    item: AttentionItem
    standing: str
    limits: str = ""
    rechecks: tuple[str, ...]
    choices: tuple[Choice, ...] = ()
    may_open: bool = False
    may_renew: bool = False
    receipts: tuple[Receipt, ...] = ()
    evidence: LocalEvidence | None = field(default=None, repr=False)


_LABELS: Final = {
    Action.CONTINUE: "Continue",
    Action.SKIP: "Skip the step",
    Action.REJECT: "Reject",
    Action.TEACH: "Teach",
    Action.ESCALATE: "Escalate",
    Action.RECONCILE: "Read the record again",
}

_WEIGHTS: Final = {
    Action.CONTINUE: Weight.GOES_ON,
    Action.SKIP: Weight.GOES_ON,
    Action.RECONCILE: Weight.GOES_ON,
    Action.REJECT: Weight.ENDS,
    Action.TEACH: Weight.STAYS,
    Action.ESCALATE: Weight.STAYS,
}

#: What a person has to know who works in the window of a stopped run.
WINDOW_LIMITS: Final = (
    "Nothing can be saved in the window of the app: what you send there is stopped. "
    "If the step itself has to save, reject this run and make the entry yourself."
)

_BEFORE_SAVE: Final = (
    "the page that is open",
    "every value that was entered",
    "the identity of the record",
    "the records as they are before the save",
)
_AFTER_SAVE: Final = ("the record, over a way of its own", "every value that was to be saved")

_RECHECKS: Final[dict[PauseView, tuple[str, ...]]] = {
    PauseView.RECORD_IDENTITY: _BEFORE_SAVE,
    PauseView.TARGET_AMBIGUITY: _BEFORE_SAVE,
    PauseView.HUMAN_STEP: _BEFORE_SAVE,
    PauseView.OPTIONAL_STEP: _BEFORE_SAVE,
    PauseView.SAVED_RESULT: _AFTER_SAVE,
    PauseView.DELIVERY_UNCERTAINTY: _AFTER_SAVE,
}

_STANDING: Final[dict[ItemStatus, str]] = {
    ItemStatus.OPEN: "Waits for a person.",
    ItemStatus.IN_PROGRESS: "A decision is being carried out.",
    ItemStatus.EXPIRED: "The time to decide is over. Nothing was decided by that; give it a new time to decide it.",
    ItemStatus.SUPERSEDED: "The run went on and stopped again. Decide about the newer stop.",
    ItemStatus.REJECTED: "Rejected. The run is ended and never goes on.",
    ItemStatus.COMPLETED: "The run went on, and its save was proven.",
    ItemStatus.RECONCILED: "The record was read again and holds what was to be saved.",
    ItemStatus.DELIVERY_UNCERTAIN: "The run went on, and a save may have gone through. Look at the record.",
    ItemStatus.OVER: "The run waits for nobody any more.",
}


def card(
    item: AttentionItem,
    *,
    receipts: tuple[Receipt, ...] = (),
    evidence: LocalEvidence | None = None,
    codes: dict[Action, str] | None = None,
    may_decide: bool,
) -> Card:
    """The card of an item.

    Args:
        item: The item.
        receipts: What was decided about its run, oldest first.
        evidence: What was sealed, on the operator's own screen alone.
        codes: The codes of its actions, on the operator's own screen alone.
        may_decide: Whether this screen may decide.
    """
    is_open = item.status is ItemStatus.OPEN
    unsent = item.delivery_state is DeliveryState.NOT_DELIVERED
    choices = tuple(_choice(action, codes or {}) for action in item.allowed_actions if may_decide)
    return Card(
        item=item,
        standing=_STANDING[item.status],
        limits=WINDOW_LIMITS if item.has_window and IN_WINDOW & {each.action for each in choices} else "",
        rechecks=_RECHECKS[item.view] if any(each.weight is Weight.GOES_ON for each in choices) else (),
        choices=choices,
        may_open=may_decide and is_open and unsent and not item.has_window,
        may_renew=may_decide and item.status is ItemStatus.EXPIRED,
        receipts=receipts,
        evidence=evidence if item.status in WAITING else None,
    )


def _choice(action: Action, codes: dict[Action, str]) -> Choice:
    return Choice(
        action=action,
        label=_LABELS[action],
        words=action_words(action),
        box=box_words(action),
        weight=_WEIGHTS[action],
        code=codes.get(action) if action in IN_WINDOW else None,
    )


@unique
class Tone(Enum):
    """How a result is told apart at a glance; never by its colour alone."""

    PROVEN = "proven"
    STOPPED = "stopped"
    DOUBTFUL = "doubtful"
    NOTED = "noted"


@frozen
class Told:
    """A receipt as a person reads it: a title, and how it is told apart."""

    title: str
    tone: Tone


_TOLD: Final[dict[DecisionStatus, Told]] = {
    DecisionStatus.PREPARED: Told("Decided, not begun yet", Tone.NOTED),
    DecisionStatus.DELIVERY_STARTED: Told("Being carried out", Tone.NOTED),
    DecisionStatus.COMPLETED: Told("Saved and checked", Tone.PROVEN),
    DecisionStatus.HALTED: Told("Stopped again", Tone.STOPPED),
    DecisionStatus.REFUSED: Told("Refused", Tone.STOPPED),
    DecisionStatus.DELIVERY_UNCERTAIN: Told("Not sure if saved", Tone.DOUBTFUL),
    DecisionStatus.REJECTED: Told("Run ended", Tone.STOPPED),
    DecisionStatus.NEEDS_DEMONSTRATION: Told("Demonstration asked for", Tone.NOTED),
    DecisionStatus.ESCALATED: Told("Help asked for", Tone.NOTED),
    DecisionStatus.RECONCILED: Told("Record read again", Tone.NOTED),
}

_FOUND: Final[dict[Finding, Told]] = {
    Finding.SAVED_AS_INTENDED: Told("Read again: saved as intended", Tone.PROVEN),
    Finding.NOT_FOUND: Told("Read again: not found", Tone.DOUBTFUL),
    Finding.DIFFERS: Told("Read again: the record differs", Tone.DOUBTFUL),
    Finding.UNREADABLE: Told("Read again: it could not be read", Tone.DOUBTFUL),
}


def told(receipt: Receipt) -> Told:
    """A receipt as a person reads it."""
    return _TOLD[receipt.status] if receipt.finding is None else _FOUND[receipt.finding]


_WHY: Final[dict[DecisionRefusal, str]] = {
    DecisionRefusal.UNKNOWN_ITEM: "There is no such stopped run here.",
    DecisionRefusal.CAPABILITY_MALFORMED: "What the page presented was damaged. Load the page again.",
    DecisionRefusal.CAPABILITY_NOT_OF_ITEM: "What the page presented belongs to another stop. Load the page again.",
    DecisionRefusal.CAPABILITY_OUTDATED: "The stop changed since the page was loaded. Look at it once more.",
    DecisionRefusal.CAPABILITY_EXPIRED: "The time to decide was over.",
    DecisionRefusal.CLOCK_WENT_BACK: "The clock of this computer was set back. Put it right first.",
    DecisionRefusal.PAUSE_CHANGED: "What is kept of this stop was changed. Nothing can be decided about it.",
    DecisionRefusal.PAUSE_SUPERSEDED: "The run stopped again since. Decide about the newer stop.",
    DecisionRefusal.RUN_NOT_WAITING: "The run waits for nobody any more.",
    DecisionRefusal.ACTION_NOT_ALLOWED: "This stop does not allow that.",
    DecisionRefusal.ALREADY_DECIDED: "It was decided before.",
    DecisionRefusal.IN_PROGRESS: "Another decision is being carried out.",
    DecisionRefusal.KEY_REUSED: "This page was used for another decision. Load it again.",
    DecisionRefusal.NOT_CONFIRMED: "It was not confirmed.",
    DecisionRefusal.CODE_WRONG: "The code was wrong.",
    DecisionRefusal.CODE_DOOR_CLOSED: "Too many wrong codes. Decide in the console or at a terminal.",
    DecisionRefusal.OPERATOR_UNKNOWN: "The operating system names no account for this process.",
    DecisionRefusal.WINDOW_GONE: "The window of the stopped run is gone. Open the app again.",
    DecisionRefusal.BUNDLE_CHANGED: "The workflow is another version now. Reject this run and ask for a new one.",
    DecisionRefusal.INPUTS_CHANGED: "The values of the run are not those that were stopped. Reject this run.",
    DecisionRefusal.EVIDENCE_UNREADABLE: "What was sealed of this stop cannot be opened.",
    DecisionRefusal.NOT_ADMITTED: "The workflow's admission was revoked or has lapsed.",
    DecisionRefusal.LEDGER_RESTORED: "The ledger was restored from a copy. What was decided since is not known.",
}


def why(refusal: DecisionRefusal) -> str:
    """A refusal as a person reads it, with what to do."""
    return _WHY[refusal]
