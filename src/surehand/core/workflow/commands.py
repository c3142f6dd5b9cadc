"""What the replay machine asks for, and what it is told: the language between core and an engine.

Laws of this module:

- An engine performs one command and answers with one observation. It never skips, repeats, reorders or judges.
- Text in a command is what is to be entered or to be found; text in an observation is what was seen.
  Neither leaves the engine's process, and neither shows when a command or an observation is printed.
- An exception of a library becomes a ``Fault`` by its type; its message is dropped.
"""

from collections.abc import Mapping
from enum import Enum, unique

from attrs import field, frozen

from surehand.core.outcome.evidence import Delivery, Pause, Report
from surehand.core.workflow.bundle import ChoiceControl, DialogAnswer, Entry, Key
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import Source
from surehand.core.workflow.target import PageGate, Target


@frozen
class Open:
    """Open a path of the app and wait until the page has loaded. Answer: ``Done`` or ``Fault``.

    The values of inputs stand in the path, percent-encoded.
    """

    path: str = field(repr=False)


@frozen
class CheckPage:
    """Wait, within the engine's limit, until the gate holds. Answer: ``Done`` or ``Fault``.

    The row of the landmark, if it has one, is a ``Constant`` here. The values of inputs stand in path and fragment,
    percent-encoded, and in the query as they are. Two segments are the same when they decode to the same text.
    """

    gate: PageGate = field(repr=False)


@frozen
class ReadTexts:
    """Read the shown text of each target. Answer: ``Texts`` (same order) or ``Fault``."""

    targets: tuple[Target, ...] = field(repr=False)
    rows: tuple[str | None, ...] = field(repr=False)


@frozen
class Fill:
    """Replace the text of the field and leave it. Answer: ``Done`` or ``Fault``."""

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    text: str = field(repr=False)
    entry: Entry = Entry.REPLACE
    then: Key | None = None


@frozen
class Choose:
    """Choose the option with exactly this label. Answer: ``Done`` or ``Fault``.

    ``search`` is typed into the list first, exactly.
    """

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    label: str = field(repr=False)
    control: ChoiceControl = ChoiceControl.SELECT
    search: str | None = field(default=None, repr=False)


@frozen
class Check:
    """Set the box to checked or not. Answer: ``Done`` or ``Fault``."""

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    checked: bool = field(repr=False)


@frozen
class ReadValue:
    """Read what the field holds. Answer: one text, or ``Fault``.

    For a choice: the label of the chosen option, empty when none is. For a list: what it shows as its choice, with a
    space for every no-break space. For a box: ``true`` or ``false``. A field that was read before and is not shown any
    more is read where it is; one that is gone is missing.
    """

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    control: ChoiceControl | None = None


@frozen
class Click:
    """Click the target, with the fence closed. Answer: ``Done`` or ``Fault``.

    ``dialog`` is how the one native dialog that the click opens is answered; without it any dialog is a fault, and with
    it none is one too.
    """

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    dialog: DialogAnswer | None = None


@frozen
class ReadRecords:
    """Read the records over the read-back channel. Answer: ``Records`` or ``RecordsUnavailable``.

    The values of inputs stand in the source's addresses, and its rows are ``Constant``. ``old`` are the keys that there
    were before the save, and ``None`` before it. Of a source that lists records and shows each in a place of its own,
    these places are read after the save alone, and only of keys that are not old.
    """

    source: Source = field(repr=False)
    old: frozenset[str] | None = field(default=None, repr=False)


@frozen
class Save:
    """Arm the fence for the one route, click the target, and wait for what the fence measured.

    Answer: ``SaveObserved``. The fence passes the durable delivery boundary before the first byte of the write leaves.
    A fault of the click is no answer: the fence's verdict is.
    """

    target: Target = field(repr=False)
    row: str | None = field(repr=False)
    route: WriteRoute = field(repr=False)
    dialog: DialogAnswer | None = None


@frozen
class Wait:
    """Let time pass. Answer: ``Done``."""

    milliseconds: int


@frozen
class Finish:
    """The run is over; nothing follows."""

    report: Report
    pause: Pause


Command = Open | CheckPage | ReadTexts | Fill | Choose | Check | ReadValue | Click | ReadRecords | Save | Wait | Finish


@frozen
class Done:
    """The command was performed."""


@frozen
class Texts:
    """What was read, in the order asked."""

    values: tuple[str, ...] = field(repr=False)


@frozen
class Record:
    """One record of the read-back channel: its key and its members as text; one that is absent or null is left out.

    ``members`` is ``None`` where the channel shows that the record is there and was not asked what it holds.
    """

    key: str
    members: Mapping[str, str] | None = field(repr=False)


@frozen
class Records:
    """All records that the channel shows."""

    records: tuple[Record, ...]


@frozen
class RecordsUnavailable:
    """The channel gave no usable answer."""


@unique
class BoundaryAnswer(Enum):
    """What became of the durable delivery boundary while the save was clicked.

    ``REFUSED`` covers a store that forbade the write, one that could not answer, and one that did not answer in time.
    """

    NOT_ASKED = "not_asked"
    GRANTED = "granted"
    REFUSED = "refused"
    STOP_WANTED = "stop_wanted"


@frozen
class SaveObserved:
    """What the fence measured: the one write, how many more it stopped, and what boundary and app said to it."""

    delivery: Delivery
    stopped_writes: int
    unexpected_dialog: bool = False
    refused: bool = False
    boundary: BoundaryAnswer = field(kw_only=True)


@unique
class FaultKind(Enum):
    """Why a command could not be performed."""

    TARGET_MISSING = "target_missing"
    TARGET_NOT_UNIQUE = "target_not_unique"
    TARGET_COVERED = "target_covered"
    OPTION_MISSING = "option_missing"
    PAGE_UNEXPECTED = "page_unexpected"
    SIGN_IN_SHOWN = "sign_in_shown"
    UNEXPECTED_DIALOG = "unexpected_dialog"
    EARLY_WRITE_STOPPED = "early_write_stopped"
    EARLY_WRITE_SENT = "early_write_sent"
    APP_UNREACHABLE = "app_unreachable"
    ENGINE_BROKEN = "engine_broken"


@frozen
class Fault:
    """The command could not be performed."""

    kind: FaultKind


@frozen
class Canceled:
    """The caller wants the run to stop; given instead of the answer to a command that was not performed."""


@frozen
class OutOfTime:
    """The time allowed for the whole run is over; given instead of the answer to a command that was not performed."""


Observation = Done | Texts | Records | RecordsUnavailable | SaveObserved | Fault | Canceled | OutOfTime
