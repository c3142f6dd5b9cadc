"""The clinic behind the pages: synthetic referrals, their notes, and what each scenario does with a save.

Laws of this module:

- The web app and the model of the simulated engine both ask this one object, so that a case means the same in both.
- A stored note never changes and never vanishes. When a referral holds ``MAX_NOTES`` the clinic refuses more.
- Each scenario keeps its own notes. No clock and no randomness in here; time is an argument.
- Every person and number is invented and looks it.
"""

from enum import Enum, unique
from itertools import count
from typing import Final, assert_never

from attrs import asdict, field, frozen

from surehand.shell.sandbox.cases import CASES, Case, Listing, OnSave

#: Notes that one referral holds in one scenario.
MAX_NOTES: Final = 5_000

#: Characters that one note may have.
MAX_NOTE_LENGTH: Final = 2_000

#: Characters that the name of a user may have.
MAX_USER_LENGTH: Final = 40

URGENCIES: Final = ("Routine", "Soon", "Urgent")
DEFAULT_URGENCY: Final = URGENCIES[0]


@frozen(kw_only=True)
class Referral:
    """One row of the work list."""

    id: str
    record_number: str
    patient: str
    date_of_birth: str
    reason: str


@frozen(kw_only=True)
class Note:
    """One stored triage note, as the record system shows it; ``created`` is an instant in UTC."""

    id: str
    record_number: str
    patient: str
    date_of_birth: str
    note: str
    urgency: str
    author: str
    created: str

    def as_json(self) -> dict[str, str]:
        """The note as the record interface sends it."""
        return asdict(self)


@frozen
class Visit:
    """Someone who is signed in, and the scenario that was chosen."""

    user: str
    case: Case


@unique
class SaveAnswer(Enum):
    """What the app shows after a save."""

    SAVED = "saved"
    NOTHING = "nothing"
    REFUSED = "refused"


#: The referral that the sandbox workflow works on.
TARGET: Final = Referral(
    id="r-104",
    record_number="SYN-1042",
    patient="Ada Example",
    date_of_birth="1901-03-14",
    reason="Chest discomfort on exertion",
)

_OTHERS: Final = (
    Referral(
        id="r-101",
        record_number="SYN-1017",
        patient="Ben Sample",
        date_of_birth="1902-07-01",
        reason="Knee pain after a fall",
    ),
    Referral(
        id="r-102",
        record_number="SYN-1023",
        patient="Cleo Placeholder",
        date_of_birth="1900-11-30",
        reason="Recurring headache",
    ),
    Referral(
        id="r-107",
        record_number="SYN-1058",
        patient="Dana Mockup",
        date_of_birth="1903-05-22",
        reason="Skin check",
    ),
    Referral(
        id="r-109",
        record_number="SYN-1066",
        patient="Emil Fictive",
        date_of_birth="1904-09-09",
        reason="Shortness of breath at night",
    ),
)

#: The second row of ``Listing.TWO_ROWS``: the same number and name, another person.
_TWIN: Final = Referral(
    id="r-188",
    record_number=TARGET.record_number,
    patient=TARGET.patient,
    date_of_birth="1901-04-13",
    reason="Follow-up of a blood test",
)

_ONE_ROW: Final = (*_OTHERS[:2], TARGET, *_OTHERS[2:])
_TWO_ROWS: Final = (*_ONE_ROW[:4], _TWIN, *_ONE_ROW[4:])

#: Notes that are there from the start, by referral: what was written, and by whom.
_FIRST_NOTES: Final = {
    TARGET.id: ("Referred by a fictional practice. Waiting for triage.", "Front Desk"),
    _OTHERS[1].id: ("Called back, no answer. Try again in the afternoon.", "Front Desk"),
}
_FIRST_NOTE_TIME: Final = "2020-01-02T08:30:00Z"


@frozen
class Clinic:
    """All notes of one running app.

    Not safe for threads: the web app calls it from its event loop, the model from the thread of its run.
    """

    _notes: dict[tuple[str, str], list[Note]] = field(factory=dict[tuple[str, str], list[Note]], init=False, repr=False)
    _silent: set[tuple[str, str]] = field(factory=set[tuple[str, str]], init=False)
    _numbers: "count[int]" = field(factory=lambda: count(1), init=False, repr=False)

    def sign_in(self, user: str, scenario: str) -> Visit | None:
        """Let someone in; the record system of the scenario answers again.

        Returns:
            ``None`` for a name of the wrong length, an unknown scenario, and one in which there is no app.
        """
        name, case = user.strip(), CASES.get(scenario)
        if not 1 <= len(name) <= MAX_USER_LENGTH or case is None or not case.reachable:
            return None
        self._silent.difference_update([key for key in self._silent if key[0] == case.name])
        return Visit(name, case)

    def work_list(self, case: Case) -> tuple[Referral, ...]:
        """The rows of the work list, in order."""
        match case.listing:
            case Listing.ONE_ROW:
                return _ONE_ROW
            case Listing.TWO_ROWS:
                return _TWO_ROWS
            case _:  # pragma: no cover
                assert_never(case.listing)

    def referral(self, case: Case, referral_id: str) -> Referral | None:
        """The referral with this id, if the scenario lists it."""
        return next((row for row in self.work_list(case) if row.id == referral_id), None)

    def notes(self, case: Case, referral: Referral) -> tuple[Note, ...]:
        """All notes of the referral in this scenario, oldest first."""
        return tuple(self._kept(case, referral))

    def is_silent(self, case: Case, referral: Referral) -> bool:
        """Whether the record system of this scenario gives no answer about the referral."""
        return (case.name, referral.id) in self._silent

    def save(self, visit: Visit, referral: Referral, *, note: str, urgency: str, created: str) -> SaveAnswer:
        """Do with a note what the scenario does.

        Args:
            visit: Who saves, in which scenario.
            referral: Where the note belongs.
            note: 1 to ``MAX_NOTE_LENGTH`` characters; line ends are line feeds.
            urgency: One of ``URGENCIES``.
            created: The present time, an instant in UTC.

        Returns:
            What the app shows. ``REFUSED`` stored nothing.
        """
        case = visit.case
        kept = self._kept(case, referral)
        if not 1 <= len(note) <= MAX_NOTE_LENGTH or urgency not in URGENCIES or len(kept) >= MAX_NOTES:
            return SaveAnswer.REFUSED
        if case.on_save is not OnSave.PRETEND:
            kept.append(self._new_note(referral, note=note, urgency=urgency, author=visit.user, created=created))
        match case.on_save:
            case OnSave.STORE | OnSave.PRETEND:
                return SaveAnswer.SAVED
            case OnSave.STORE_AND_HANG:
                self._silent.add((case.name, referral.id))
                return SaveAnswer.NOTHING
            case _:  # pragma: no cover
                assert_never(case.on_save)

    def _kept(self, case: Case, referral: Referral) -> list[Note]:
        key = (case.name, referral.id)
        if key not in self._notes:
            self._notes[key] = [self._first_note(referral)] if referral.id in _FIRST_NOTES else []
        return self._notes[key]

    def _first_note(self, referral: Referral) -> Note:
        note, author = _FIRST_NOTES[referral.id]
        return self._new_note(referral, note=note, urgency=DEFAULT_URGENCY, author=author, created=_FIRST_NOTE_TIME)

    def _new_note(self, referral: Referral, *, note: str, urgency: str, author: str, created: str) -> Note:
        return Note(
            id=f"note-{next(self._numbers):04}",
            record_number=referral.record_number,
            patient=referral.patient,
            date_of_birth=referral.date_of_birth,
            note=note,
            urgency=urgency,
            author=author,
            created=created,
        )
