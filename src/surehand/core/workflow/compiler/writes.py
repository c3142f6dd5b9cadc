"""The writes of an app beside the save, and the route of the save itself.

Laws of this module:

- A write that cannot be told from the save by its route refuses the recording: a fence could not keep them apart.
- Every other write, and every WebSocket, becomes one question; none is let through by itself.
- What the sign-in itself sent is no write of the workflow.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from surehand.core.workflow.compiler.demonstration import Demonstration, is_write
from surehand.core.workflow.compiler.pages import Name, Pages, template
from surehand.core.workflow.compiler.refusals import CompileRefusal, RefusalCode
from surehand.core.workflow.compiler.routes import (
    only_queries,
    path_template,
    query_template,
    route_key,
    route_name,
    told_apart,
    write_route,
)
from surehand.core.workflow.compiler.saving import Save, cause_of
from surehand.core.workflow.fence import overlaps
from surehand.core.workflow.recording import Clicked, Exchange, Place, SecretEntered
from surehand.core.workflow.route import WriteRoute


@frozen(kw_only=True)
class OtherWrite:
    """One kind of write beside the save: its name, how often it was seen, and what it looks like."""

    name: str
    route: WriteRoute
    before: int
    after: int
    clicked: bool
    like_save: bool


@frozen(kw_only=True)
class Writes:
    """The route of the save with its name, the other writes, the sockets, and further servers with their requests."""

    name: str
    save: WriteRoute
    others: tuple[OtherWrite, ...]
    sockets: tuple[str, ...]
    origins: tuple[tuple[str, int], ...]


def may_add(route: WriteRoute, page: str) -> bool:
    """Whether each sending of this write may add a record below another: it is posted to a list of that one's own.

    A form that is posted to its own address changes what it shows.

    Args:
        route: The write.
        page: The path of the page that sends it.
    """
    pieces = route.path.strip("/").split("/")
    named = [_is_open(each) for each in pieces]
    return route.method == "POST" and any(named) and not named[-1] and not _is_form_of(pieces, page)


def _is_form_of(pieces: list[str], page: str) -> bool:
    others = page.strip("/").split("/")
    alike = [a == b or (_is_open(a) and _is_open(b)) for a, b in zip(pieces, others, strict=False)]
    return len(pieces) == len(others) and all(alike)


def _is_open(piece: str) -> bool:
    return piece == "*" or piece.startswith("{")


@frozen
class _Chosen:
    """The event that saves, and the number of the exchange that is taken for the save."""

    event: int
    exchange: int


@frozen
class _Seen:
    shown: Demonstration
    save: _Chosen
    number: int
    exchange: Exchange

    @property
    def cause(self) -> int:
        return cause_of(self.shown, self.exchange)


def possible_writes(
    pages: Pages, saves: tuple[Save, ...], names: Sequence[Name]
) -> Result[tuple[Writes, ...], CompileRefusal]:
    """All writes of the recordings, told apart: once for each write of the click that may be the save.

    Args:
        pages: The pages of the demonstrations.
        saves: The save of each.
        names: What names a record: the save may go to that one alone.
    """
    found = [_writes_of(pages, chosen, names) for chosen in _choices(pages.shown, saves)]
    good = tuple(each.unwrap() for each in found if isinstance(each, Success))
    if good:
        return Success(tuple(sorted(good, key=lambda each: each.name)))
    ambiguous = pages.shown[0].refusal(RefusalCode.SEVERAL_WRITES_AT_SAVE, saves[0].event)
    return Failure(found[0].failure() if len(found) == 1 else ambiguous)


def _choices(shown: tuple[Demonstration, ...], saves: tuple[Save, ...]) -> list[tuple[_Chosen, ...]]:
    """The writes that may be the save, each kind with its exchange in every recording."""
    if all(len(save.exchanges) == 1 for save in saves):
        return [tuple(_Chosen(save.event, save.exchanges[0]) for save in saves)]
    kinds = [
        {route_key(each.recording.exchanges[number], each.known): number for number in save.exchanges}
        for each, save in zip(shown, saves, strict=True)
    ]
    shared = [kind for kind in kinds[0] if all(kind in each for each in kinds[1:])]
    return [tuple(_Chosen(save.event, each[kind]) for save, each in zip(saves, kinds, strict=True)) for kind in shared]


def _writes_of(pages: Pages, saves: tuple[_Chosen, ...], names: Sequence[Name]) -> Result[Writes, CompileRefusal]:
    shown = pages.shown
    exchanges = tuple(each.recording.exchanges[save.exchange] for each, save in zip(shown, saves, strict=True))
    known = tuple(each.known for each in shown)
    places = tuple(exchange.place for exchange in exchanges)
    route = write_route(exchanges, known)
    if route is None or len({place.origin for place in places}) > 1:
        return Failure(shown[0].refusal(RefusalCode.WRITE_NOT_SUPPORTED, saves[0].event))
    seen = tuple(_others(shown, saves))
    plain = tuple(_own_route(each) for each in seen)
    strange = next((each for each, its in zip(seen, plain, strict=True) if its is None), None)
    if strange is not None:
        return Failure(strange.shown.refusal(RefusalCode.WRITE_NOT_SUPPORTED, _event(strange)))
    alike = [its for its in plain if its is not None] + ([route] if places[0].path in pages.shared else [])
    save = _of_origin(told_apart(route, places, alike, known), shown, places)
    grouped = _grouped([(each, its) for each, its in zip(seen, plain, strict=True) if its is not None], route)
    clash = next((first for each, first in grouped.items() if overlaps(save, each)), None)
    if clash is not None:
        event = _event(clash[0])
        return Failure(clash[0].shown.refusal(RefusalCode.SAVE_ROUTE_NOT_UNIQUE, event))
    path = template(tuple(place.path for place in places), names, known)
    return Success(
        Writes(
            name=route_name(save),
            save=save if path is None else evolve(save, path=path),
            others=tuple(_other(each, group, save) for each, group in grouped.items()),
            sockets=tuple(sorted(_sockets(shown))),
            origins=_origins(shown),
        )
    )


def _event(seen: _Seen) -> int | None:
    return seen.cause if seen.cause >= 0 else None


def _others(shown: tuple[Demonstration, ...], saves: tuple[_Chosen, ...]) -> Iterator[_Seen]:
    for each, save in zip(shown, saves, strict=True):
        signing_in = _sign_in_exchanges(each)
        for number, exchange in enumerate(each.recording.exchanges):
            if is_write(exchange) and number not in {save.exchange, *signing_in} and _is_of_app(each, exchange):
                yield _Seen(each, save, number, exchange)


def _is_of_app(shown: Demonstration, exchange: Exchange) -> bool:
    """Whether the server is the app's own or the one that the save goes to; others are not reached in a run."""
    return exchange.place.origin in {shown.recording.origin, *(origin for origin, _ in _origins((shown,)))}


def _sign_in_exchanges(shown: Demonstration) -> set[int]:
    """The first write after each secret of the sign-in."""
    secrets = [at for at in range(shown.start) if isinstance(shown.recording.events[at].action, SecretEntered)]
    writes = [(number, each.after) for number, each in enumerate(shown.recording.exchanges) if is_write(each)]
    return {number for at in secrets for number in [next((each for each, after in writes if after > at), -1)]}


def _own_route(seen: _Seen) -> WriteRoute | None:
    return write_route((seen.exchange,), (seen.shown.known,))


def _of_origin(route: WriteRoute, shown: tuple[Demonstration, ...], places: tuple[Place, ...]) -> WriteRoute:
    """The route with its server where that is not the one of the pages."""
    elsewhere = places[0].origin != shown[0].recording.origin
    return evolve(route, origin=places[0].origin) if elsewhere else route


def _grouped(plain: list[tuple[_Seen, WriteRoute]], save: WriteRoute) -> dict[WriteRoute, list[_Seen]]:
    """The other writes by route, with the members of the query where one address serves several of them."""
    groups: dict[WriteRoute, list[_Seen]] = {}
    queries = {(its.method, its.path): set[object]() for _, its in plain}
    for each, its in plain:
        queries[its.method, its.path].add(query_template((each.exchange.place,), (each.shown.known,)))
    for each, its in plain:
        several = len(queries[its.method, its.path]) > 1 or (its.method, its.path) == (save.method, save.path)
        told = told_apart(its, (each.exchange.place,), [its] if several else [], (each.shown.known,))
        groups.setdefault(_of_origin(told, (each.shown,), (each.exchange.place,)), []).append(each)
    return groups


def _other(route: WriteRoute, group: list[_Seen], save: WriteRoute) -> OtherWrite:
    before = sum(each.exchange.after <= each.save.event for each in group)
    return OtherWrite(
        name=route_name(route),
        route=route,
        before=before,
        after=len(group) - before,
        clicked=any(each.cause >= 0 and isinstance(each.shown.action(each.cause), Clicked) for each in group),
        like_save=_parent(route) == _parent(save) and route.method == save.method and not only_queries(route),
    )


def _parent(route: WriteRoute) -> str:
    return route.path.rstrip("/").rpartition("/")[0]


def _sockets(shown: tuple[Demonstration, ...]) -> set[str]:
    return {
        _socket_path(path_template((exchange.place.path,), (each.known,)) or "/")
        for each in shown
        for exchange in each.recording.exchanges
        if exchange.socket and _is_of_app(each, exchange)
    }


def _socket_path(path: str) -> str:
    """The path with everything between its first id and its last segment left open: there are more of that session."""
    segments = path.split("/")
    first = segments.index("*") if "*" in segments else len(segments)
    return "/".join("*" if first < at < len(segments) - 1 else each for at, each in enumerate(segments))


def _origins(shown: tuple[Demonstration, ...]) -> tuple[tuple[str, int], ...]:
    """Servers beside the app's own that are written to or answer with JSON, with how many requests they had."""
    counts: dict[str, int] = {}
    for each in shown:
        for exchange in each.recording.exchanges:
            if exchange.place.origin != each.recording.origin:
                counts[exchange.place.origin] = counts.get(exchange.place.origin, 0) + 1
    return tuple(sorted(counts.items()))
