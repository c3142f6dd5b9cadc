"""The other channel: where the saved record was seen again after the save.

Laws of this module:

- A source is an address that a run can build: without ids but those that have a slot.
- A member stands for a slot only when it held the slot's text in every recording.
- Of several sources, the one that shows most of what was entered is offered; an answer in JSON before a page.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve, field, frozen

from surehand.core.workflow.addresses import names_in
from surehand.core.workflow.bundle import DateForm, Effect, Rule
from surehand.core.workflow.compiler.demonstration import Demonstration, place_of
from surehand.core.workflow.compiler.identity import shown_slot
from surehand.core.workflow.compiler.pages import Name, Pages, gate, landmark_of, place_of_name, segment, template
from surehand.core.workflow.compiler.questions import Option
from surehand.core.workflow.compiler.routes import is_structure
from surehand.core.workflow.compiler.saving import Save
from surehand.core.workflow.compiler.slots import Slot, likeness
from surehand.core.workflow.compiler.texts import plain_text, quoted, words
from surehand.core.workflow.recording import Arrived, Entered, JsonSeen, MemberSeen, Opened, PageSeen, Place
from surehand.core.workflow.source import JsonRecords, PageField, PageRecords, RecordPage
from surehand.core.workflow.target import QueryPart, Target

_ANY: Final = "*"
_KEY_NAMES: Final = ("id", "pk", "uuid", "key", "_id", "uid", "number")
#: Members of a query whose number says how much of a list is wanted; any other number is an id or a time.
_PAGING: Final = re.compile("page|size|limit|per|count|offset|start|rows|first|max|skip|take|top", re.IGNORECASE)


@frozen
class ReadSlot:
    """The member that holds the text of a slot, and under which rule; ``unique`` where no other record has the same."""

    slot: str
    member: str
    rule: Rule
    form: DateForm = DateForm.ISO
    unique: bool = False


@frozen(kw_only=True)
class Found:
    """One source, the members that stand for slots, and what else its records are known to have.

    ``effect`` is what the save did to its records; ``None`` where nothing was seen of them before.
    """

    kind: Option
    source: JsonRecords | PageRecords | RecordPage
    effect: Effect | None
    fields: tuple[ReadSlot, ...]
    changed: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@frozen
class Search:
    """What is looked for. ``own`` is the field of each slot that was entered."""

    pages: Pages
    saves: tuple[Save, ...]
    names: tuple[Name, ...]
    slots: tuple[Slot, ...] = field(repr=False)
    own: Mapping[str, Target]

    @property
    def shown(self) -> tuple[Demonstration, ...]:
        """The demonstrations."""
        return self.pages.shown


def sources(search: Search, entered: frozenset[str]) -> tuple[Found, ...]:
    """The sources that show something of what was entered, those that show most first."""
    found = [*_json_sources(search), *_page_sources(search)]
    return tuple(sorted((each for each in found if _covered(each, entered)), key=lambda each: -_covered(each, entered)))


def _covered(found: Found, entered: frozenset[str]) -> int:
    return sum(item.slot in entered for item in found.fields)


def names_changed(found: Found, entered: frozenset[str]) -> bool:
    """Whether a source in which a record is changed tells which one it is, by its address or by what is not entered."""
    free = found.effect is not Effect.UPDATE or isinstance(found.source, RecordPage)
    return free or any(item.slot not in entered for item in found.fields)


# Answers in JSON


def _json_sources(search: Search) -> Iterator[Found]:
    first, seen = search.shown[0], set[tuple[str, str]]()
    for answer in reversed(_answers(search, 0)):
        path = _json_path(search, answer)
        if path is None or (path, answer.items) in seen or answer.place.origin != first.recording.origin:
            continue
        seen.add((path, answer.items))
        alike = [_alike(search, number, path, answer.items) for number in range(len(search.shown))]
        if all(each is not None for each in alike):
            answers = tuple(each for each in alike if each is not None)
            yield from _json_source(search, path, answers)


def _answers(search: Search, number: int) -> list[JsonSeen]:
    after = search.saves[number].event
    return [answer for answer in search.shown[number].recording.answers if answer.after > after and answer.fresh]


def _alike(search: Search, number: int, path: str, items: str) -> JsonSeen | None:
    """The last answer of a recording from the same address."""
    found = [
        each for each in _answers(search, number) if each.items == items and _json_path(search, each, number) == path
    ]
    return found[-1] if found else None


def _json_path(search: Search, answer: JsonSeen, number: int = 0) -> str | None:
    """The address of an answer with its query; ``None`` where it holds an id that no slot has."""
    names, known = _names(search, number), (search.shown[number].known,)
    path = template((answer.place.path,), names, known)
    if path is None or _ANY in path.split("/"):
        return None
    members = [(part.name, _member_value(part, names, search, number)) for part in answer.place.query]
    query = "&".join(f"{quoted(name)}={value}" for name, value in members if value is not None)
    return f"{path}?{query}" if query else path


def _member_value(part: QueryPart, names: Sequence[Name], search: Search, number: int) -> str | None:
    """A member of the query as it is asked for; ``None`` leaves out what is an id, a time or a value."""
    named = place_of_name((part.value,), names, part.name)
    if named is not None and named.endswith("}"):
        return named
    counts = part.value.isdigit() and _PAGING.search(part.name) is not None
    return quoted(part.value) if counts or is_structure(part.value, search.shown[number].known) else None


def _json_source(search: Search, path: str, answers: tuple[JsonSeen, ...]) -> Iterator[Found]:
    absent = {answer.was_absent for answer in answers}
    key = _key(answers)
    if len(absent) > 1 or key is None:
        return
    effect = Effect.CREATE if absent == {True} else Effect.UPDATE if all(each.compared for each in answers) else None
    source = JsonRecords(path, answers[0].items, key)
    detail = _detail(search, answers) if effect is not Effect.UPDATE and answers[0].items else None
    plain = _json_found(search, answers, source, effect)
    yield plain
    if detail is not None:
        longer = _json_found(search, detail[1], evolve(source, detail=detail[0]), effect)
        yield evolve(longer, fields=_merged(plain.fields, longer.fields))


def _key(answers: tuple[JsonSeen, ...]) -> str | None:
    """The member that tells records apart: one whose name says so, else the first that does."""
    unique = [
        member.name for member in answers[0].members if all(_is_unique(answer, member.name) for answer in answers)
    ]
    ranked = sorted(unique, key=lambda name: (_rank(name), len(name)))
    return ranked[0] if ranked else None


def _rank(name: str) -> int:
    return _KEY_NAMES.index(name.lower()) if name.lower() in _KEY_NAMES else len(_KEY_NAMES)


def _is_unique(answer: JsonSeen, name: str) -> bool:
    return any(member.name == name and member.unique for member in answer.members)


def _json_found(search: Search, answers: tuple[JsonSeen, ...], source: JsonRecords, effect: Effect | None) -> Found:
    fields = _assigned(search, answers)
    fields += _keyed(search, answers, source, fields)
    bound = {each.member for each in fields}
    free = [member for member in answers[0].members if member.name not in bound]
    return Found(
        kind=Option.JSON,
        source=source,
        effect=effect,
        fields=fields,
        changed=tuple(member.name for member in free if member.changed and member.name != source.key),
        others=tuple(member.name for member in free if not member.changed and member.name != source.key),
    )


def _keyed(
    search: Search, answers: tuple[JsonSeen, ...], source: JsonRecords, fields: tuple[ReadSlot, ...]
) -> tuple[ReadSlot, ...]:
    """The key of the one record of an address, where a slot stands in the address and nothing else names the record."""
    places = [name for name in search.names if name.name in names_in(source.path)]
    alone = all(answer.count == 1 for answer in answers) and len(places) == 1
    named = {each.slot for each in fields} & {name.name for name in search.names}
    free = source.key not in {each.member for each in fields}
    return (ReadSlot(places[0].name, source.key, Rule.IDENTIFIER, unique=True),) if alone and free and not named else ()


def _assigned(search: Search, answers: tuple[JsonSeen, ...]) -> tuple[ReadSlot, ...]:
    """Each slot with one member: the one whose name is most like the slot's; slots with fewest members first."""
    options = {slot.name: _members_of(search, answers, slot) for slot in search.slots}
    taken: dict[str, ReadSlot] = {}
    for name in sorted(options, key=lambda each: (len(options[each]), each)):
        free = [member for member in options[name] if member.name not in taken]
        best = max(free, key=lambda member: _likeness(name, member.name), default=None)
        if best is not None and best.rule is not None:
            unique = all(_is_unique(answer, best.name) for answer in answers)
            taken[best.name] = ReadSlot(name, best.name, best.rule, best.form, unique)
    order = [slot.name for slot in search.slots]
    return tuple(sorted(taken.values(), key=lambda each: order.index(each.slot)))


def _members_of(search: Search, answers: tuple[JsonSeen, ...], slot: Slot) -> list[MemberSeen]:
    """The members that held the slot's text in every recording."""
    held = [
        {member.name for member in answer.members if member.known is not None and each.text(member.known) == text}
        for each, answer, text in zip(search.shown, answers, slot.texts, strict=True)
    ]
    shared = set[str](held[0]).intersection(*held[1:]) if slot.texts[0] else set[str]()
    named = [member for member in answers[0].members if member.name in shared]
    return [member for member in named if not slot.weak or slot.is_like(member.name)]


def _likeness(slot: str, member: str) -> float:
    return likeness(slot, words(member.rpartition(".")[2]).replace(" ", "_"))


def _detail(search: Search, answers: tuple[JsonSeen, ...]) -> tuple[str, tuple[JsonSeen, ...]] | None:
    """The address of one record below the list's, and the answers that were seen there."""
    found: list[JsonSeen] = []
    for number, answer in enumerate(answers):
        base = answer.place.path.rstrip("/")
        below = [each for each in _answers(search, number) if not each.items and _is_below(base, each.place)]
        found += below[-1:]
    path = _json_path_of_list(search, answers[0])
    return (f"{path}/{_ANY}", tuple(found)) if len(found) == len(answers) and path is not None else None


def _is_below(base: str, place: Place) -> bool:
    return re.fullmatch(re.escape(base) + "/[^/]+", place.path) is not None


def _json_path_of_list(search: Search, answer: JsonSeen) -> str | None:
    path = _json_path(search, answer)
    return None if path is None else path.partition("?")[0].rstrip("/")


def _merged(fields: tuple[ReadSlot, ...], more: tuple[ReadSlot, ...]) -> tuple[ReadSlot, ...]:
    """The members of the list, and those that only the record itself shows."""
    names = {each.slot for each in fields} | {each.member for each in fields}
    return (*fields, *(each for each in more if not names & {each.slot, each.member}))


# Pages


def _page_sources(search: Search) -> Iterator[Found]:
    first, seen = search.shown[0], set[str]()
    for page in reversed(first.recording.pages):
        path = template((page.place.path,), _names(search, 0), (first.known,))
        if not _is_later(search, 0, page) or path is None or not page.showings or _at(path, page.place) in seen:
            continue
        seen.add(_at(path, page.place))
        alike = [_page_alike(search, number, page.place, path) for number in range(len(search.shown))]
        if all(each is not None for each in alike):
            yield from _page_source(search, tuple(each for each in alike if each is not None))


def _is_later(search: Search, number: int, page: PageSeen) -> bool:
    """Whether the page was reached after the save: what the form itself still shows proves nothing."""
    shown, save = search.shown[number], search.saves[number].event
    reached = [shown.action(at) for at in range(save + 1, min(page.after, len(shown.recording.events)))]
    return any(isinstance(each, Arrived | Opened) and each.place.path == page.place.path for each in reached)


def _at(path: str, place: Place) -> str:
    return f"{path}#{place.fragment.partition('/')[0]}"


def _names(search: Search, number: int) -> list[Name]:
    return [evolve(each, texts=(each.texts[number],)) for each in search.names]


def _page_alike(search: Search, number: int, place: Place, path: str) -> PageSeen | None:
    """The page of this form after the save that shows most."""
    shown = search.shown[number]
    found = [
        page
        for page in shown.recording.pages
        if _is_later(search, number, page)
        and page.showings
        and template((page.place.path,), _names(search, number), (shown.known,)) == path
        and page.place.fragment.partition("/")[0] == place.fragment.partition("/")[0]
    ]
    return max(found, key=lambda page: len(page.showings), default=None)


def _page_source(search: Search, pages: tuple[PageSeen, ...]) -> Iterator[Found]:
    places, found = tuple(page.place for page in pages), tuple(_page_fields(search, pages))
    record = gate(search.pages, places, search.names, found[0][1] if found else None)
    if record is None:
        return
    if found and record.landmark in search.pages.common and _never_loaded(search, record.path):
        # What stood there at another address already may be gone when the page is loaded; what is read there is not.
        record = evolve(record, landmark=found[0][1])
    read, shown = tuple(each for each, _ in found), tuple(PageField(each.member, target) for each, target in found)
    address = _address(search, record.path, places)
    if _ANY not in address:
        page = RecordPage(address, record, shown)
        yield Found(kind=Option.RECORD_PAGE, source=page, effect=_page_effect(search, places), fields=read)
    listing = _listing(search, pages)
    if listing is not None:
        source = PageRecords(listing.path, listing.landmark, listing.link, record, shown)
        yield Found(kind=Option.PAGES, source=source, effect=Effect.CREATE, fields=read)


def _never_loaded(search: Search, path: str) -> bool:
    """Whether pages of this form were reached by a change of the address alone."""
    arrivals = [
        (action, template((action.place.path,), _names(search, number), (shown.known,)))
        for number, shown in enumerate(search.shown)
        for event in shown.recording.events
        if isinstance(action := event.action, Arrived | Opened)
    ]
    return all(isinstance(each, Arrived) and each.same_document for each, its in arrivals if its == path)


def _page_fields(search: Search, pages: tuple[PageSeen, ...]) -> Iterator[tuple[ReadSlot, Target]]:
    """The elements that show a slot's text, each for one slot."""
    taken: set[Target] = set()
    for slot in search.slots:
        own = search.own.get(slot.name)
        item = shown_slot(search.shown, pages, slot, own, search.names) if slot.texts[0] else None
        if item is not None and item.target not in taken:
            taken.add(item.target)
            yield ReadSlot(slot.name, slot.name, item.rule, item.form), item.target


def _page_effect(search: Search, places: tuple[Place, ...]) -> Effect | None:
    """A page that was seen before the save is changed; fields that held something may be a record's, or defaults."""
    early = [
        (shown.action(at), place)
        for shown, save, place in zip(search.shown, search.saves, places, strict=True)
        for at in range(save.event)
    ]
    if any(
        (seen := place_of(action)) and (seen.path, seen.query) == (place.path, place.query) for action, place in early
    ):
        return Effect.UPDATE
    return None if any(isinstance(action, Entered) and action.before for action, _ in early) else Effect.CREATE


def _address(search: Search, path: str, places: tuple[Place, ...]) -> str:
    """The path with the query that the page was opened with; ``*`` stands for each id that no slot has."""
    members = [_member(search, part, places) for part in places[0].query]
    return f"{path}?{'&'.join(members)}" if members else path


def _member(search: Search, part: QueryPart, places: tuple[Place, ...]) -> str:
    alike = all(part in place.query for place in places)
    value = _member_value(part, _names(search, 0), search, 0) if alike or len(places) == 1 else None
    return f"{quoted(part.name)}={_ANY if value is None else value}"


@frozen
class _Listing:
    """A page that links to records: its address, its landmark, and the template of the links."""

    path: str
    landmark: Target
    link: str


def _listing(search: Search, pages: tuple[PageSeen, ...]) -> _Listing | None:
    """A page that links to the record, or to others of its kind, and that a run can open; the last one first.

    One that was seen after the save, and did not link to the record then, is none.
    """
    first, record = search.shown[0], pages[0].place
    start = first.start if first.start < len(first.recording.events) else 0
    later = [page for page in first.recording.pages if page.after > search.saves[0].event + 1]
    linking = {page.place.path for page in later if any(_leads_to(link, record) for link in page.links)}
    silent = {page.place.path for page in later} - linking
    for page in reversed([page for page in first.recording.pages if page.after > start]):
        path = template((page.place.path,), _names(search, 0), (first.known,))
        link = next(_record_links(search, page, record), None)
        if link is None or path is None or _ANY in path.split("/") or page.place.path in {record.path, *silent}:
            continue
        landmark = landmark_of(evolve(search.pages, shown=(first,)), (page.place,))
        full = _address(search, path, (page.place,))
        if landmark is not None and _ANY not in full:
            return _Listing(full, landmark, link)
    return None


def _record_links(search: Search, page: PageSeen, record: Place) -> Iterator[str]:
    """The templates of the page's links to the record; of a page from before the save, of those to others like it."""
    own = _pieces(_written(record))
    for link in page.links:
        beside = next((at for at in range(0, len(own), 2) if _differ_only(_pieces(link), own, at)), None)
        if _leads_to(link, record):
            found = _link_template(search, link, page.links)
        elif beside is not None and {_piece_template(search, each[beside]) for each in (own, _pieces(link))} == {_ANY}:
            found = _link_template(search, link, (_written(record),))
        else:
            found = None
        if found is not None:
            yield found


def _written(place: Place) -> str:
    """A place as a link to it is written."""
    query = "&".join(f"{part.name}={part.value}" for part in place.query)
    return f"{place.path}?{query}" if query else place.path


def _link_template(search: Search, link: str, links: tuple[str, ...]) -> str | None:
    """A link as the page has it, with ``*`` for its key; ``None`` where there is no key, or another value beside it.

    The key is the id in which the link differs from a link beside it, or the only id, or the only difference.
    """
    pieces, others = _pieces(link), [_pieces(other) for other in links]
    values = range(0, len(pieces), 2)
    ids = [at for at in values if _piece_template(search, pieces[at]) == _ANY]
    varying = [at for at in values if any(_differ_only(pieces, other, at) for other in others)]
    keys = [at for at in ids if at in varying] or ids or varying
    rest = [at for at in values if at not in keys[:1]]
    if not keys or any(search.shown[0].known.in_text(plain_text(pieces[at])) for at in rest if at in ids):
        return None
    fixed = {at: _piece_template(search, pieces[at]) for at in rest if at not in ids}
    return "".join(_ANY if at == keys[0] else fixed.get(at, piece) for at, piece in enumerate(pieces))


def _pieces(link: str) -> list[str]:
    """A link cut at its marks: texts and marks in turn."""
    return re.split("([/?&=])", link)


def _differ_only(pieces: list[str], other: list[str], at: int) -> bool:
    """Whether two links are the same but for this piece."""
    return (
        len(pieces) == len(other)
        and pieces[at] != other[at]
        and pieces[:at] + pieces[at + 1 :] == other[:at] + other[at + 1 :]
    )


def _piece_template(search: Search, piece: str) -> str:
    """An input for its text, ``*`` for an id or a value, else the piece itself."""
    if not piece:
        return piece
    return segment((piece,), _names(search, 0), (search.shown[0].known,))


def _leads_to(link: str, place: Place) -> bool:
    """Whether a link is the address of a page; of the query, what the link has."""
    path, _, query = link.partition("?")
    held = {f"{part.name}={part.value}" for part in place.query}
    return path == place.path and all(plain_text(member) in held for member in query.split("&") if member)
