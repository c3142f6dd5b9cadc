"""A model of the clinic app that answers commands with observations, without a browser and without a network.

Laws of this module:

- What the clinic decides is asked of the same ``Clinic`` that the web app asks; only the pages are written down again
  here, and a test holds them against the real ones.
- What a click sends is judged by the same ``classify`` that the write fence uses.
- The boundary is crossed before the clinic takes the save.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, assert_never

from attrs import define, field, frozen

from surehand.core.outcome.evidence import Delivery
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Check,
    CheckPage,
    Choose,
    Click,
    Done,
    Fault,
    FaultKind,
    Fill,
    Observation,
    Open,
    ReadRecords,
    ReadTexts,
    ReadValue,
    Record,
    Records,
    RecordsUnavailable,
    Save,
    SaveObserved,
    Texts,
)
from surehand.core.workflow.fence import FenceRules, RequestHead, RequestKind, classify
from surehand.core.workflow.route import WriteRoute
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import PageGate, Target, TargetKind
from surehand.shell.sandbox.cases import CASES, Case
from surehand.shell.sandbox.clinic import URGENCIES, Clinic, Referral, SaveAnswer, Visit

#: The origin that stands for the modelled app; no name under ``.invalid`` can exist.
ORIGIN: Final = "http://sandbox.invalid"

_FORM: Final = "application/x-www-form-urlencoded"
_NOTES_PATH: Final = re.compile(r"/api/referrals/([^/?]+)/notes")
_MODEL_TIME: Final = "2020-01-02T09:00:00Z"

#: How a page names an element: the kind of target, the role where the kind is a role, and the name.
_Name = tuple[TargetKind, str | None, str]


@frozen
class _Go:
    """Following a link."""

    path: str


@frozen
class _Send:
    """Sending a form."""

    path: str
    handle: Callable[[], Delivery]


@frozen
class Element:
    """One element of a modelled page that a workflow can name."""

    names: tuple[_Name, ...]
    text: str = ""
    cells: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    act: _Go | _Send | None = field(default=None, repr=False)


@frozen
class Page:
    """One modelled page."""

    path: str
    elements: tuple[Element, ...]


@define
class SandboxModel:
    """The app as one run sees it: a browser with a fresh session, and a clinic of its own.

    Args:
        bundle: The workflow; its harmless writes and its read-back are honored as the browser engine honors them.
        scenario: The scenario whose records the read-back channel shows.
    """

    bundle: Bundle
    scenario: Case
    page: Page = field(init=False, factory=lambda: Page("about:blank", ()))
    clinic: Clinic = field(init=False, factory=Clinic)
    _rules: FenceRules = field(init=False)
    _visit: Visit | None = field(init=False, default=None)
    _values: dict[str, str] = field(init=False, factory=dict[str, str])

    def __attrs_post_init__(self) -> None:
        """Close the fence as the workflow says."""
        self._rules = FenceRules((ORIGIN,), self.bundle.harmless_writes)

    def perform(  # noqa: C901, PLR0911 - one line for each member of a closed union
        self, command: Open | CheckPage | ReadTexts | Fill | Choose | Check | ReadValue | Click | ReadRecords
    ) -> Observation:
        """Perform a command that saves nothing."""
        match command:
            case Open(path=path):
                return self._go(path)
            case CheckPage(gate=gate):
                return self._check(gate)
            case ReadTexts(targets=targets, rows=rows):
                return self._read_texts(targets, rows)
            case Fill(target=target, row=row, text=text):
                return self._on(target, row, lambda found: self._fill(found, text))
            case Choose(target=target, row=row, label=label):
                return self._on(target, row, lambda found: self._choose(found, label))
            case Check(target=target, row=row):
                return self._on(target, row, lambda _: _NO_BOX)
            case ReadValue(target=target, row=row):
                return self._on(target, row, lambda found: Texts((self._values.get(_label(found), ""),)))
            case Click(target=target, row=row):
                return self._on(target, row, self._click)
            case ReadRecords():
                return self._records()
            case _:  # pragma: no cover
                assert_never(command)

    def save(self, command: Save, cross: Callable[[], BoundaryAnswer]) -> SaveObserved:
        """Click with the fence armed.

        Args:
            command: What to click, and the one write that may pass.
            cross: Passes the delivery boundary; called before the clinic takes the note.
        """
        found = self._find(command.target, command.row)
        if isinstance(found, FaultKind) or found.act is None:
            return _NOT_SENT
        if isinstance(found.act, _Go):
            self._go(found.act.path)
            return _NOT_SENT
        match self._kind(found.act, command.route):
            case RequestKind.SAVE_WRITE:
                answer = cross()
                delivery = found.act.handle() if answer is BoundaryAnswer.GRANTED else Delivery.NOT_SENT
                return SaveObserved(delivery, 0, boundary=answer)
            case RequestKind.HARMLESS_WRITE:
                found.act.handle()
                return _NOT_SENT
            case _:
                return SaveObserved(Delivery.NOT_SENT, 1, boundary=BoundaryAnswer.NOT_ASKED)

    # The commands

    def _go(self, path: str) -> Done:
        self.page = self._page(path)
        self._values = {_label(each): each.options[0] for each in self.page.elements if each.options}
        return Done()

    def _check(self, gate: PageGate) -> Observation:
        if path_fits(gate.path, self.page.path):
            holds = isinstance(self._find(gate.landmark, None), Element)
            return Done() if holds else Fault(FaultKind.PAGE_UNEXPECTED)
        return Fault(FaultKind.SIGN_IN_SHOWN if self.page.path == "/sign-in" else FaultKind.PAGE_UNEXPECTED)

    def _read_texts(self, targets: Sequence[Target], rows: Sequence[str | None]) -> Observation:
        texts: list[str] = []
        for target, row in zip(targets, rows, strict=True):
            found = self._find(target, row)
            if isinstance(found, FaultKind):
                return Fault(found)
            texts.append(found.text)
        return Texts(tuple(texts))

    def _fill(self, found: Element, text: str) -> Observation:
        self._values[_label(found)] = re.sub("\r\n?", "\n", text)
        return Done()

    def _choose(self, found: Element, label: str) -> Observation:
        if label not in found.options:
            return Fault(FaultKind.OPTION_MISSING)
        self._values[_label(found)] = label
        return Done()

    def _click(self, found: Element) -> Observation:
        match found.act:
            case None:
                return Done()
            case _Go(path=path):
                return self._go(path)
            case _Send() as send:
                if self._kind(send, None) is not RequestKind.HARMLESS_WRITE:
                    return Fault(FaultKind.EARLY_WRITE_STOPPED)
                send.handle()
                return Done()
            case _:  # pragma: no cover
                assert_never(found.act)

    def _records(self) -> Observation:
        source = self.bundle.read_back.source
        if not isinstance(source, JsonRecords) or source.items != "notes":
            return RecordsUnavailable()
        named = _NOTES_PATH.fullmatch(source.path)
        row = self.clinic.referral(self.scenario, named[1]) if named else None
        if row is None or self.clinic.is_silent(self.scenario, row):
            return RecordsUnavailable()
        notes = [note.as_json() for note in self.clinic.notes(self.scenario, row)]
        return Records(tuple(Record(note[source.key], note) for note in notes))

    # Finding

    def _on(self, target: Target, row: str | None, do: Callable[[Element], Observation]) -> Observation:
        found = self._find(target, row)
        return Fault(found) if isinstance(found, FaultKind) else do(found)

    def _find(self, target: Target, row: str | None) -> Element | FaultKind:
        name = (target.kind, target.role, target.name)
        # No page of the clinic has a dialog or a frame.
        shown = self.page.elements if target.within is None and target.frame is None else ()
        found = [each for each in shown if name in each.names and (row is None or each.cells.count(row) == 1)]
        if not found:
            return FaultKind.TARGET_MISSING
        return found[0] if len(found) == 1 else FaultKind.TARGET_NOT_UNIQUE

    def _kind(self, send: _Send, armed: WriteRoute | None) -> RequestKind:
        head = RequestHead(method="POST", origin=ORIGIN, path=send.path, content_type=_FORM)
        return classify(self._rules, armed, head)

    # The pages

    def _page(self, path: str) -> Page:
        """The page that opening a path shows, as the web app routes and redirects it."""
        if path == "/sign-in" or self._visit is None:
            return Page("/sign-in", self._sign_in_page())
        if path in {"/", "/referrals"}:
            return Page("/referrals", self._work_list(self._visit))
        start, _, rest = path.removeprefix("/referrals/").partition("/")
        row = self.clinic.referral(self._visit.case, start)
        if row is not None and rest == "":
            return Page(path, self._referral_page(row))
        if row is not None and rest == "notes/new":
            return Page(path, self._note_page(self._visit, row))
        return Page(path, (_heading("Not found"),))

    def _sign_in_page(self) -> tuple[Element, ...]:
        return (
            _heading("Sign in"),
            _field("textbox", "User name"),
            _field("combobox", "Training scenario", options=tuple(CASES)),
            _button("Sign in", _Send("/sign-in", self._sign_in)),
        )

    def _work_list(self, visit: Visit) -> tuple[Element, ...]:
        return (_heading("Referrals"), *map(_open_link, self.clinic.work_list(visit.case)))

    def _referral_page(self, row: Referral) -> tuple[Element, ...]:
        return (_heading("Referral"), _link("Add triage note", f"/referrals/{row.id}/notes/new"), *_identity(row))

    def _note_page(self, visit: Visit, row: Referral) -> tuple[Element, ...]:
        return (
            _heading("Add triage note"),
            *_identity(row),
            _field("textbox", "Note"),
            _field("combobox", "Urgency", options=URGENCIES),
            _button("Save", _Send(f"/referrals/{row.id}/notes", lambda: self._save_note(visit, row))),
            _link("Cancel", f"/referrals/{row.id}"),
        )

    def _sign_in(self) -> Delivery:
        self._visit = self.clinic.sign_in(self._values.get("User name", ""), self._values["Training scenario"])
        self._go("/referrals")
        return Delivery.SENT_ONCE

    def _save_note(self, visit: Visit, row: Referral) -> Delivery:
        note, urgency = self._values.get("Note", ""), self._values["Urgency"]
        answer = self.clinic.save(visit, row, note=note, urgency=urgency, created=_MODEL_TIME)
        if answer is SaveAnswer.NOTHING:
            return Delivery.UNKNOWN
        if answer is SaveAnswer.SAVED:
            self._go(f"/referrals/{row.id}")
        return Delivery.SENT_ONCE


#: No page of the clinic has a box.
_NO_BOX: Final = Fault(FaultKind.PAGE_UNEXPECTED)
_NOT_SENT: Final = SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)


def path_fits(template: str, path: str) -> bool:
    """Whether a path is of this template; ``*`` is one segment that is not empty."""
    if template == path:
        return True
    wanted, given = template.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        w == g or (w == "*" and g != "") for w, g in zip(wanted, given, strict=True)
    )


def _label(found: Element) -> str:
    return found.names[0][2]


# Elements that hold nothing of a run are made once.


@cache
def _heading(name: str) -> Element:
    return Element(((TargetKind.ROLE, "heading", name),), name)


def _button(name: str, act: _Send) -> Element:
    return Element(((TargetKind.ROLE, "button", name),), name, act=act)


@cache
def _link(name: str, path: str) -> Element:
    return Element(((TargetKind.ROLE, "link", name),), name, act=_Go(path))


@cache
def _open_link(row: Referral) -> Element:
    cells = (row.patient, row.date_of_birth, row.record_number, row.reason)
    return Element(((TargetKind.ROLE, "link", "Open"),), "Open", cells, act=_Go(f"/referrals/{row.id}"))


@cache
def _field(role: str, label: str, *, options: tuple[str, ...] = ()) -> Element:
    return Element(((TargetKind.LABEL, None, label), (TargetKind.ROLE, role, label)), options=options)


@cache
def _identity(row: Referral) -> tuple[Element, ...]:
    shown = {"patient-name": row.patient, "date-of-birth": row.date_of_birth, "record-number": row.record_number}
    return tuple(Element(((TargetKind.TEST_ID, None, name),), text) for name, text in shown.items())
