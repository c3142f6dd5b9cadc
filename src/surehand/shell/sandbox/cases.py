"""The table of training scenarios: what the clinic app does in each, and how an honest run ends there.

Laws of this module:

- One row for each case. The app, its model, the sign-in page and the tests all read this table.
  Nothing else knows a case by name.
- What a case does is said in the closed terms below: a later fault is a new row or a new term, never a branch on a
  name.
"""

from enum import Enum, unique

from attrs import frozen

from surehand.core.outcome.reasons import REASONS, Outcome, Reason


@unique
class Listing(Enum):
    """How the work list shows the referral that the workflow looks for."""

    ONE_ROW = "one_row"
    TWO_ROWS = "two_rows"


@unique
class OnSave(Enum):
    """What the app does with a note that it is asked to save."""

    STORE = "store"
    PRETEND = "pretend"
    #: The record system of the scenario stays silent about the referral until the next sign-in to it.
    STORE_AND_HANG = "store_and_hang"


@frozen(kw_only=True)
class Case:
    """One training scenario.

    Args:
        name: The value of the input ``sandbox_case`` and the label of the option on the sign-in page.
        summary: One line for a person who chooses a scenario.
        behavior: What the app does, for the documentation.
        reason: The reason that an honest run ends with.
        reachable: Whether there is an app at all.
        listing: How the work list shows the referral.
        on_save: What a save does.
    """

    name: str
    summary: str
    behavior: str
    reason: Reason
    reachable: bool = True
    listing: Listing = Listing.ONE_ROW
    on_save: OnSave = OnSave.STORE

    @property
    def outcome(self) -> Outcome:
        """The outcome that goes with the reason."""
        return REASONS[self.reason].outcome


_ROWS = (
    Case(
        name="normal",
        summary="Everything works.",
        behavior="The note is stored, and the record system shows it at once.",
        reason=Reason.SAVED_AND_CHECKED,
    ),
    Case(
        name="duplicate_record",
        summary="Two referrals bear the same record number.",
        behavior="A second row of the work list has the same record number and name, and another date of birth.",
        reason=Reason.RECORD_NOT_CONFIRMED,
        listing=Listing.TWO_ROWS,
    ),
    Case(
        name="false_saved_banner",
        summary="The page says that the note was saved, and it was not.",
        behavior="The app answers as if the note had been stored, and stores nothing.",
        reason=Reason.SAVE_NOT_CONFIRMED,
        on_save=OnSave.PRETEND,
    ),
    Case(
        name="timeout_after_save",
        summary="The app accepts the note and then stops answering.",
        behavior="The note is stored, the answer never comes, and the record system falls silent about this referral.",
        reason=Reason.SAVE_NOT_CONFIRMED,
        on_save=OnSave.STORE_AND_HANG,
    ),
    Case(
        name="app_offline",
        summary="The app is switched off.",
        behavior="Nothing listens where the app should be.",
        reason=Reason.APP_UNREACHABLE,
        reachable=False,
    ),
)

#: Every case by its name, in the order in which they are shown.
CASES: dict[str, Case] = {case.name: case for case in _ROWS}
