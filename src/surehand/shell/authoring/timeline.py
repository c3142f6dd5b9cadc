"""Puts what was reported, sent and answered in order, and makes a recording of it.

Laws of this module:

- What was replaced, and what was not kept, is in no recording; everything else is.
- Times of the browser order the events; equal times keep the order in which they were told.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from attrs import define, evolve, field, frozen

from surehand.core.workflow.recording import (
    Action,
    Actor,
    Arrived,
    Candidates,
    Checked,
    Chose,
    Clicked,
    Control,
    Entered,
    Event,
    Exchange,
    Happened,
    JsonSeen,
    Known,
    MemberSeen,
    Opened,
    PageSeen,
    Recording,
    SecretEntered,
    Showing,
)
from surehand.shell.authoring.known import Form, KnownTexts
from surehand.shell.authoring.network import READS, Answer, Sent, place_at
from surehand.shell.authoring.records import Member, find_records
from surehand.shell.authoring.reports import Again, Began, Keep, Moved, Page, Submitted, Told

_MOST_PAGES: Final = 500


@frozen
class Noted:
    """An action at its time, under the identity by which it can be replaced."""

    at: float
    id: str
    action: Action
    soft: bool = False


@define
class Timeline:
    """What was reported so far, in memory only. While ``keeps_no_text`` is set, whatever is entered is a secret."""

    notes: list[Noted] = field(factory=list[Noted], repr=False)
    pages: list[Page] = field(factory=list[Page], repr=False)
    submissions: list[Submitted] = field(factory=list[Submitted], repr=False)
    known: KnownTexts = field(factory=KnownTexts, repr=False)
    keeps_no_text: bool = False
    _kept: set[str] = field(factory=set[str])
    _clicks: dict[str, int] = field(factory=dict[str, int])
    _replaced: dict[str, str] = field(factory=dict[str, str])
    _own: int = 0

    def add(self, report: Told | Keep | Again | Page | Submitted) -> list[Form]:
        """Take a report; returns the forms of what became known by it."""
        match report:
            case Told():
                return self._told(report)
            case Keep(id=identity):
                self._kept.add(identity)
            case Again(id=identity, clicks=clicks):
                self._clicks[identity] = clicks
            case Page():
                self.pages.append(report)
            case Submitted():
                self.submissions.append(report)
        return []

    def _told(self, told: Told) -> list[Form]:
        action = _without_text(told.action) if self.keeps_no_text else told.action
        self.notes.append(Noted(told.at, told.id, action, told.soft))
        self._replaced |= dict.fromkeys(told.replaces, told.id)
        match action:
            case Entered(value=value) | Chose(value=value):
                return self.known.add(told.id, value)
            case Checked(candidates=candidates, facts=facts, checked=checked):
                return self.known.add_box(told.id, candidates, facts.caption, checked=checked)
            case Clicked(row=row):
                cells = [at for at in told.keys if at < len(row)]
                return [form for at in cells for form in self.known.add(f"{told.id}/{at}", row[at])]
            case _:
                return []

    def note(self, at: float, action: Action) -> None:
        """Add what the browser itself said."""
        self._own += 1
        self.notes.append(Noted(at, f"own.{self._own}", action))

    def arrival(self, report: Began | Moved, *, by_hand: bool) -> None:
        """A new page: opened by hand, reached by the page, loaded again, or gone back to."""
        action: Action
        if isinstance(report, Moved):
            action = Happened(what="went_back") if report.back else Arrived(place=report.place, same_document=True)
        elif report.how == "reload":
            action = Happened(what="reloaded")
        elif report.how == "back_forward":
            action = Happened(what="went_back")
        else:
            action = Opened(place=report.place) if by_hand else Arrived(place=report.place)
        self.note(report.at, action)

    def typed_after_sign_in(self) -> list[str]:
        """What was entered or chosen after the last secret."""
        signed_in = self.signed_in_at()
        actions = [note.action for note in self.notes if note.at > signed_in]
        return [each.value for each in actions if isinstance(each, Entered | Chose)]

    def signed_in_at(self) -> float:
        """When a secret was entered last."""
        return max((note.at for note in self.notes if isinstance(note.action, SecretEntered)), default=0.0)

    def counted(self) -> list[Noted]:
        """What counts, in order."""
        counted = [
            self._with_clicks(each)
            for each in sorted(self.notes, key=lambda note: note.at)
            if each.id not in self._replaced and (not each.soft or each.id in self._kept)
        ]
        return list(self._without_passing(counted))

    def _with_clicks(self, note: Noted) -> Noted:
        clicks = self._clicks.get(note.id)
        if clicks is None or not isinstance(note.action, Clicked):
            return note
        return evolve(note, action=evolve(note.action, clicks=clicks))

    def _without_passing(self, notes: list[Noted]) -> Iterator[Noted]:
        """Of several choices from one list directly after each other, as keys make them, only the last."""
        for note, following in zip(notes, [*notes[1:], None], strict=True):
            if following is not None and _passes(note.action, following.action):
                self._replaced[note.id] = following.id
            else:
                yield note

    def standing_for(self, identity: str) -> str:
        """The event that counts in place of this one."""
        while identity in self._replaced:
            identity = self._replaced[identity]
        return identity


def _without_text(action: Action) -> Action:
    """The action as one on a secret field, if it enters anything."""
    if isinstance(action, Entered | Chose | Checked):
        return SecretEntered(place=action.place, candidates=action.candidates)
    return action


def _passes(action: Action, following: Action) -> bool:
    if not isinstance(action, Chose) or not isinstance(following, Chose):
        return False
    single = action.facts.control is Control.SELECT and not action.facts.multiple
    return single and _targets(action.candidates) == _targets(following.candidates)


def _targets(candidates: Candidates) -> list[object]:
    return [candidate.target for candidate in candidates]


def make_recording(
    timeline: Timeline, sent: list[Sent], answers: list[Answer], origin: str, actor_at: Callable[[float], Actor]
) -> Recording:
    """The recording of everything.

    Args:
        timeline: What was reported.
        sent: What the network did.
        answers: The JSON answers of the app, in the order in which they came.
        origin: The origin of the app.
        actor_at: Whose the acts at a time were.
    """
    notes = timeline.counted()
    index = {note.id: at for at, note in enumerate(notes)}
    start = notes[0].at if notes else 0.0

    def known(key: str) -> Known | None:
        identity, _, cell = key.partition("/")
        event = index.get(timeline.standing_for(identity))
        if event is None or isinstance(notes[event].action, SecretEntered):
            return None
        return Known(event=event, cell=int(cell) if cell else None)

    def after(at: float) -> int:
        return sum(note.at <= at for note in notes)

    return Recording(
        origin=origin,
        events=tuple(
            Event(at_ms=max(0, int(note.at - start)), actor=actor_at(note.at), action=note.action) for note in notes
        ),
        exchanges=tuple(_exchange(each, after(each.at)) for each in sent),
        pages=_pages(timeline.pages, notes, known),
        answers=tuple(_answers(timeline, sent, answers, known, after)),
    )


def _exchange(sent: Sent, after: int) -> Exchange:
    return Exchange(
        after=after,
        method=sent.method,
        place=sent.place,
        content_type=sent.content_type,
        status_class=sent.status_class,
        redirected=sent.redirected,
        answers_json=sent.answers_json,
        socket=sent.socket,
        operation=sent.operation,
    )


def _pages(pages: list[Page], notes: list[Noted], known: Callable[[str], Known | None]) -> tuple[PageSeen, ...]:
    """The pages in order; of several looks at one page between two events, the last."""
    seen: dict[tuple[object, ...], PageSeen] = {}
    for page in sorted(pages, key=lambda each: each.at):
        after = sum(note.at < page.at for note in notes)
        place = page.page.place
        where = (after, place.origin, place.path, place.query, place.fragment)
        seen.pop(where, None)
        showings = [
            Showing(known=event, rule=shown.rule, candidates=shown.candidates, form=shown.form)
            for shown in page.page.showings
            if (event := known(shown.key)) is not None and event.event < after
        ]
        seen[where] = PageSeen(after=after, place=place, showings=tuple(dict.fromkeys(showings)), links=page.page.links)
    return tuple(seen.values())[-_MOST_PAGES:]


def _answers(
    timeline: Timeline,
    sent: list[Sent],
    answers: list[Answer],
    known: Callable[[str], Known | None],
    after: Callable[[float], int],
) -> Iterator[JsonSeen]:
    # What was typed to sign in stands in answers about the account, which are no records of the demonstration.
    entered = timeline.known.only(note.id for note in timeline.notes if note.at > timeline.signed_in_at())
    writes = [each.at for each in sent if each.method not in READS and not each.socket]
    for answer in answers:
        saved_at = _saved_before(answer, timeline, writes)
        place = place_at(answer.url)
        if saved_at is None or place is None:
            continue
        earlier = _earlier(answer, answers, saved_at)
        found = find_records(answer, earlier, entered)
        if found is not None:
            members = tuple(_member(each, known) for each in found.members)
            yield JsonSeen(
                after=after(answer.at),
                place=place,
                items=found.items,
                count=found.count,
                was_absent=found.was_absent,
                members=members,
                fresh=answer.fresh,
                compared=earlier is not None,
            )


def _saved_before(answer: Answer, timeline: Timeline, writes: Iterable[float]) -> float | None:
    """When the save before an answer was at the earliest: the first write after the last entry before it.

    What was entered to sign in is not saved.
    """
    signed_in = timeline.signed_in_at()
    entered = (note.at for note in timeline.notes if isinstance(note.action, Entered | Chose | Checked))
    entries = [at for at in entered if signed_in < at < answer.at]
    since = max((at for at in entries if any(at <= write < answer.at for write in writes)), default=None)
    return None if since is None else min(write for write in writes if write >= since)


def _earlier(answer: Answer, answers: list[Answer], before: float) -> Answer | None:
    same = [each for each in answers if each.url == answer.url and each.at < before]
    return max(same, key=lambda each: each.at, default=None)


def _member(member: Member, known: Callable[[str], Known | None]) -> MemberSeen:
    event = None if member.key is None else known(member.key)
    return MemberSeen(
        name=member.name,
        unique=member.unique,
        known=event,
        rule=None if event is None else member.rule,
        form=member.form,
        changed=member.changed,
    )
