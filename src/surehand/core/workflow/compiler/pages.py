"""Pages: the addresses that a run opens, and how it knows where it is before it acts.

Laws of this module:

- A gate is the page's address as a template and one landmark that was there exactly once in every recording.
- A landmark stood there whenever somebody acted at the address, before the save and after it, and is no part of a text
  that was entered: what the task itself replaces or takes away tells no page. Without one, the element itself does.
- Where one path shows several pages, the members of the query, or the fragment, that tell them apart belong to it.
- An id in an address is the input that stands for it, if there is one; else any, in a gate, and nothing in an address
  that is opened. A short id of one place of an address is not that of another place that is called otherwise.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import product
from typing import Final

from attrs import frozen

from surehand.core.workflow.compiler.demonstration import Demonstration, place_of
from surehand.core.workflow.compiler.routes import is_structure
from surehand.core.workflow.compiler.slots import likeness
from surehand.core.workflow.compiler.targets import Texts, common
from surehand.core.workflow.compiler.texts import KnownTexts, looks_like_id, plain_text, quoted, words
from surehand.core.workflow.recording import Candidates, Checked, Chose, Clicked, Entered, Place
from surehand.core.workflow.target import PageGate, QueryPart, Target

_ANY: Final = "*"
_ROUTES: Final = ("/", "!/")
_MOST_PARTS: Final = 10
_ALIKE: Final = 0.6
#: A text of this length is equal to another one by chance no more.
_PARTICULAR: Final = 4


@frozen
class Name:
    """A slot that names a record, with its text in each recording, and where in an address it stood, if in one."""

    name: str
    texts: tuple[str, ...]
    where: str = ""


_Address = tuple[str, frozenset[QueryPart], str]


@frozen
class Pages:
    """What is known about the pages of all recordings.

    ``shared`` are the paths that show several pages, ``routed`` those whose fragment is an address of its own.
    ``common`` are landmarks that are on pages of several addresses, ``behind`` those of a page without its dialog,
    ``passing`` those that were not there whenever somebody acted at the address, outside or inside of a dialog, or that
    a known text holds.
    """

    shown: tuple[Demonstration, ...]
    shared: frozenset[str]
    routed: frozenset[str]
    common: frozenset[Target]
    behind: frozenset[tuple[str, Target]]
    passing: frozenset[tuple[_Address, bool, Target]]

    @property
    def known(self) -> tuple[KnownTexts, ...]:
        """The values of each recording."""
        return tuple(each.known for each in self.shown)


def pages_of(shown: tuple[Demonstration, ...]) -> Pages:
    """What all places of the recordings tell together."""
    queries: dict[str, set[frozenset[QueryPart]]] = {}
    visits: dict[_Address, set[Target]] = {}
    for place in _places(shown):
        queries.setdefault(place.path, set()).add(frozenset(place.query))
        visits.setdefault(_address(place), set()).update(landmark.target for landmark in place.landmarks)
    standing = Counter(target for seen in visits.values() for target in seen)
    return Pages(
        shown,
        shared=frozenset(path for path, seen in queries.items() if len(seen) > 1),
        routed=frozenset(path for path, _, fragment in visits if fragment.startswith(_ROUTES)),
        common=frozenset(target for target, addresses in standing.items() if addresses > 1),
        behind=frozenset(_behind(shown)),
        passing=frozenset(_passing(shown, visits)),
    )


def _passing(
    shown: tuple[Demonstration, ...], visits: dict[_Address, set[Target]]
) -> Iterator[tuple[_Address, bool, Target]]:
    """The landmarks of each address that were not there at one of its looks, or that stand in a known text."""
    looks: dict[tuple[_Address, bool], set[Target]] = {}
    for place, inside in _looks(shown):
        here = {landmark.target for landmark in place.landmarks}
        if here:
            looks[_address(place), inside] = looks.get((_address(place), inside), here) & here
    held = {
        each for each in set[Target]().union(*visits.values()) if any(one.known.held_by(each.name) for one in shown)
    }
    for (address, seen), inside in product(visits.items(), (False, True)):
        staying = looks.get((address, inside), seen) - held
        yield from ((address, inside, target) for target in seen - staying)


def _looks(shown: tuple[Demonstration, ...]) -> Iterator[tuple[Place, bool]]:
    """The places as they were when somebody acted there or looked at them, and whether that was in a dialog.

    What a page had when it had only begun says nothing of the time when somebody acts, and a frame tells its own.
    """
    for each in shown:
        acts = {at: event.action for at, event in enumerate(each.recording.events) if at >= each.start}
        acted = {at: act for at, act in acts.items() if isinstance(act, Entered | Chose | Checked | Clicked)}
        yield from ((act.place, _in_dialog(act.candidates)) for act in acted.values() if not _in_frame(act.candidates))
        for page in each.recording.pages:
            following = acted.get(page.after)
            if page.after > each.start:
                yield page.place, following is not None and _in_dialog(following.candidates)


def _in_frame(candidates: Candidates) -> bool:
    return any(candidate.target.frame is not None for candidate in candidates)


def _address(place: Place) -> _Address:
    return place.path, frozenset(place.query), place.fragment


def _behind(shown: tuple[Demonstration, ...]) -> Iterator[tuple[str, Target]]:
    """The landmarks of each page while something outside a dialog was used."""
    for each in shown:
        for event in each.recording.events[each.start :]:
            action = event.action
            if isinstance(action, Entered | Chose | Checked | Clicked) and not _in_dialog(action.candidates):
                yield from ((action.place.path, landmark.target) for landmark in action.place.landmarks)


def _in_dialog(candidates: Candidates) -> bool:
    return any(candidate.target.within is not None for candidate in candidates)


def _places(shown: tuple[Demonstration, ...]) -> Iterator[Place]:
    for each in shown:
        events = each.recording.events[each.start :]
        yield from (place for event in events if (place := place_of(event.action)) is not None)


def gate(pages: Pages, places: tuple[Place, ...], names: Sequence[Name], target: Target | None) -> PageGate | None:
    """The gate of a page; the target of the step itself is its landmark where the page has no other.

    What stands behind an open dialog may not be reached while it is open: a step in it has a landmark of its own.

    Args:
        pages: What is known about all pages.
        places: The place in each recording.
        names: What may stand in the address.
        target: The target of the step on this page, if it is bound to no input.
    """
    path = template(tuple(place.path for place in places), names, pages.known)
    inside = target is not None and target.within is not None
    landmark = landmark_of(pages, places, inside=inside) or target
    if path is None or landmark is None:
        return None
    query = gate_query(pages, places, names) if places[0].path in pages.shared else ()
    routed = all(place.path in pages.routed and place.fragment for place in places)
    fragment = template(tuple(place.fragment for place in places), names, pages.known) if routed else None
    return PageGate(path=path, landmark=landmark, query=query, fragment=fragment)


def landmark_of(pages: Pages, places: tuple[Place, ...], *, inside: bool = False) -> Target | None:
    """The best landmark that all recordings have and that holds no value: one that stays, and is on no other page."""
    texts = tuple(Texts(known) for known in pages.known)
    found = [each for each in common(tuple(place.landmarks for place in places), texts) if each.row is None]
    if inside:
        found = [each for each in found if (places[0].path, each) not in pages.behind]
    staying = [each for each in found if (_address(places[0]), inside, each) not in pages.passing]
    return min(staying, key=lambda each: each in pages.common, default=None)


def heading_of(pages: Pages, places: tuple[Place, ...]) -> str | None:
    """The heading of a page, without a value: one that was there before, and of the whole app only without another."""
    texts = tuple(Texts(known) for known in pages.known)
    found = [each for each in common(tuple(place.landmarks for place in places), texts) if each.role == "heading"]
    counts = Counter(landmark.target for place in _places(pages.shown) for landmark in place.landmarks)
    new = len(places)
    best = min(found, key=lambda each: (counts[each] <= new, each in pages.common), default=None)
    return None if best is None else best.name


def gate_query(pages: Pages, places: tuple[Place, ...], names: Sequence[Name]) -> tuple[QueryPart, ...]:
    """The members that tell this page from others of its path: those whose values are structure, or have a name."""
    members = [(part.name, _all_values(places, part.name)) for part in places[0].query]
    parts = [
        QueryPart(name, _piece(values, names, pages.known, name))
        for name, values in members
        if values is not None and sum(other == name for other, _ in members) == 1
    ]
    return tuple(part for part in parts if part.value != _ANY)[:_MOST_PARTS]


def _all_values(places: tuple[Place, ...], name: str) -> tuple[str, ...] | None:
    found = [[part.value for part in place.query if part.name == name] for place in places]
    return tuple(values[0] for values in found) if all(len(values) == 1 for values in found) else None


def template(paths: tuple[str, ...], names: Sequence[Name], known: tuple[KnownTexts, ...]) -> str | None:
    """The template of all paths; a segment that is the text of a name becomes its place.

    ``None`` where the recordings were at addresses of different forms.
    """
    split = [path.partition("?")[0].split("/") for path in paths]
    if len({len(segments) for segments in split}) != 1:
        return None
    before = [_before(split[0], at) for at in range(len(split[0]))]
    pieces = zip(zip(*split, strict=True), before, strict=True)
    return "/".join(segment(texts, names, known, where) for texts, where in pieces)


def _before(segments: list[str], at: int) -> str:
    """What a segment is called: the last one before it that is no id."""
    return next((each for each in reversed(segments[:at]) if each and not looks_like_id(each)), "")


def segment(texts: tuple[str, ...], names: Sequence[Name], known: tuple[KnownTexts, ...], where: str = "") -> str:
    """One piece of an address as it is written: the place of a name, the text that all recordings have, or any."""
    if not any(texts):
        return ""
    piece = _piece(tuple(map(plain_text, texts)), names, known, where)
    return piece if piece == _ANY or piece.startswith("{") else texts[0]


def _piece(values: tuple[str, ...], names: Sequence[Name], known: tuple[KnownTexts, ...], where: str) -> str:
    """One decoded piece of an address: the place of a name, the text that all have, or any."""
    named = place_of_name(values, names, where)
    if named is not None:
        return named
    agreed = len(set(values)) == 1 and all(is_structure(values[0], each) for each in known)
    braced = "{" in values[0] or "}" in values[0]
    return values[0] if agreed and not braced and values[0] not in {".", ".."} else _ANY


def place_of_name(values: tuple[str, ...], names: Sequence[Name], where: str) -> str | None:
    """The place of the name that stands for these values here: of several, the one that is called as the place is."""
    found = [(_fit(each, values, where), each) for each in names if _same_ending(values, each.texts) is not None]
    best = max((fit for fit, _ in found), default=_Fit.NONE)
    fitting = [each for fit, each in found if fit is best]
    if best is _Fit.NONE or (best is _Fit.PARTICULAR and len(fitting) > 1):
        return None
    return f"{{{fitting[0].name}}}{_same_ending(values, fitting[0].texts)}"


class _Fit(IntEnum):
    """How surely a text in an address is that of a name, and not the same by chance."""

    NONE = 0
    PARTICULAR = 1
    ANYWHERE = 2
    ALIKE = 3
    SAME = 4


def _fit(name: Name, values: tuple[str, ...], where: str) -> _Fit:
    """A name that stood in an address itself means another place only where that is called alike, or by a long text."""
    if not name.where:
        return _Fit.ANYWHERE
    if words(name.where) == words(where):
        return _Fit.SAME
    alike = likeness(words(name.where), words(where)) >= _ALIKE
    return _Fit.ALIKE if alike else _Fit.PARTICULAR if len(values[0]) >= _PARTICULAR else _Fit.NONE


def _same_ending(values: tuple[str, ...], texts: tuple[str, ...]) -> str | None:
    """What follows the text of a name in every value: nothing, or the ending of a file; ``None`` for anything else."""
    endings = {
        value.removeprefix(text) if text and value.startswith(text) else None
        for value, text in zip(values, texts, strict=True)
    }
    ending = endings.pop() if len(endings) == 1 else None
    return ending if ending is not None and re.fullmatch(r"(\.[a-z]{1,5})?", ending) else None


@frozen
class OpenedPath:
    """An address that a run opens; ``{0}``, ``{1}`` ... stand for ids without a name, each with title and texts."""

    path: str
    fragment: str | None
    unnamed: tuple[tuple[str, tuple[str, ...]], ...]


def opened_path(pages: Pages, places: tuple[Place, ...], names: Sequence[Name]) -> OpenedPath | None:
    """The address of a page with its query and fragment; ``None`` where the recordings opened different forms.

    Each id has a place of its own, whatever it is equal to.
    """
    unnamed: list[tuple[str, tuple[str, ...]]] = []
    pathname = _numbered(tuple(place.path for place in places), names, pages.known, unnamed)
    if pathname is None:
        return None
    members: list[str] = []
    for name, values in _members(places):
        piece = _piece(values, names, pages.known, name)
        if piece == _ANY:
            unnamed.append((name, values))
            piece = f"{{{len(unnamed) - 1}}}"
        members.append(f"{quoted(name)}={piece if piece.startswith('{') else quoted(piece)}")
    query = "?" + "&".join(members) if members else ""
    return OpenedPath(pathname + query, _opened_fragment(pages, places, names, unnamed), tuple(unnamed))


def _numbered(
    paths: tuple[str, ...],
    names: Sequence[Name],
    known: tuple[KnownTexts, ...],
    unnamed: list[tuple[str, tuple[str, ...]]],
) -> str | None:
    """The template with a number for each segment that is left open, which is added to those without a name."""
    found = template(paths, names, known)
    if found is None:
        return None
    segments = found.split("/")
    for at, piece in enumerate(segments):
        if piece == _ANY:
            before = next((each for each in reversed(segments[:at]) if each and not each.startswith("{")), "")
            unnamed.append((before, tuple(plain_text(path.partition("?")[0].split("/")[at]) for path in paths)))
            segments[at] = f"{{{len(unnamed) - 1}}}"
    return "/".join(segments)


def _opened_fragment(
    pages: Pages, places: tuple[Place, ...], names: Sequence[Name], unnamed: list[tuple[str, tuple[str, ...]]]
) -> str | None:
    """What follows the ``#``: an address of its own, or a word of the app's own."""
    fragments = tuple(place.fragment for place in places)
    if all(fragment.startswith(_ROUTES) for fragment in fragments):
        return _numbered(fragments, names, pages.known, unnamed)
    only = template(fragments, (), pages.known) if all(fragments) else None
    return only if only is not None and _ANY not in only else None


def _members(places: tuple[Place, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The members of the query that all places have once, in the order of the first."""
    for part in places[0].query:
        values = _all_values(places, part.name)
        if values is not None:
            yield part.name, values
