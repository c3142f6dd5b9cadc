"""The fallback store: exclusively created claim files in the state folder, where SQLite cannot be opened.

Laws of this module:

- Creating a name that is not there yet is the only compare-and-set, and it is made durable (file, then folder) before
  anything is answered. No file is ever changed; the phases of a run are numbered files, each made once.
- A reservation counts from the moment when its attempt has its name; what was written before that is nobody's run.
- A file that is there and cannot be read, or does not agree with its sum, is corrupt, not absent.
- Claims that were copied or restored are refused by their seal; it counts the places in the order.
- Lookups cost the same however many runs there are; lists read a folder. It is a fallback, not a rival.

Below ``claims``: ``runs/<run id>.0`` is a record as it was reserved, ``runs/<run id>.1`` and up are its phases,
``runs/<run id>.late`` what its owner said too late,
``attempts/<request key>:<n>`` and ``order/<n>`` are further names of the ``.0`` files. ``layout`` holds the version,
the random name and the epoch of the claims; it alone is ever replaced.
"""

import json
import os
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated, Final, Self, TypeVar

from attrs import evolve, frozen

from surehand.core.outcome.evidence import Phase
from surehand.core.outcome.result import MAX_ATTEMPTS, RunResult
from surehand.core.request.gate import Decision, Start, decide
from surehand.core.request.keys import attempt_key
from surehand.core.request.record import RunRecord, may_move, may_report_late, require_end_of
from surehand.core.schema import Number
from surehand.shell.files import (
    UnsafeFileError,
    link_exclusively,
    private_folder,
    read_private,
    refuse_link,
    refuse_network_file_system,
    sync_folder,
    write_durably,
)
from surehand.shell.identity import new_token
from surehand.shell.locks import Gate, LockTimeoutError
from surehand.shell.store.base import (
    StoreCorruptError,
    StoreNewerError,
    StoreOfOtherKindError,
    StoreRestoredError,
    StoreUnavailableError,
    is_run_id,
    kept_result,
    require_draft,
    require_refusal,
    require_whole_history,
    result_text,
)
from surehand.shell.store.seal import Seal, SealFile, require_goes_on

CLAIMS: Final = "claims"
LEDGER: Final = ("ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal", "ledger.seal")
TURNS: Final = "ledger.lock"

#: The version of the layout; a higher one was written by a newer Surehand.
LAYOUT: Final = 2

_LAYOUT: Final = re.compile(rb"([0-9]{1,9})(?: ([0-9a-f]{32}) ([0-9]{1,9}))?")

_FOLDERS: Final = ("runs", "attempts", "order")
_MOVES: Final = 3


@frozen(kw_only=True)
class _Reservation:
    """What a ``.0`` file holds."""

    run_id: str
    request_key: str
    attempt: Annotated[int, Number(minimum=0, maximum=MAX_ATTEMPTS)]
    workflow: str | None = None
    fingerprint: str
    owner: str
    journaled: bool
    created_at: int
    bundle: str = ""


@frozen(kw_only=True)
class _Move:
    """What a file of a later phase holds."""

    phase: Phase
    result: str | None = None


_Kept = TypeVar("_Kept", _Reservation, _Move)


class ClaimStore:
    """The ledger in claim files; the docstrings of ``RunStore`` apply."""

    def __init__(self, folder: Path, *, read_only: bool, restored: bool = False) -> None:
        self._folder: Final = folder
        self._claims: Final = folder / CLAIMS
        self._runs: Final = self._claims / "runs"
        self._attempts: Final = self._claims / "attempts"
        self._order: Final = self._claims / "order"
        self._read_only: Final = read_only
        self._restored: Final = restored
        self._seal: Final = SealFile(self._claims)
        self._name = ""
        self._last_order = 0
        self._closed = False

    @classmethod
    def open(cls, folder: Path, *, read_only: bool = False, restored: bool = False) -> Self:
        """Open the claim files of a folder, and make their folders when there are none.

        Args:
            folder: The state folder.
            read_only: Never write; missing claims are then an error, and restored ones can be read.
            restored: Take claims that were restored or are gone, to begin a new epoch with them.

        Raises:
            StoreError: The folder refuses, or what lies in it is not to be trusted.
        """
        store = cls(folder, read_only=read_only, restored=restored)
        with _store_errors():
            store._open()
        return store

    def reserve(self, draft: RunRecord) -> Decision:
        """Let the gate decide, and claim the attempt that it names; who comes second lets it decide again."""
        require_draft(draft)
        with _store_errors():
            self._require_writable()
            while True:
                decision = decide(self.attempts(draft.request_key), draft)
                if not isinstance(decision, Start) or self._claim(decision.record):
                    return decision

    def record_refusal(self, record: RunRecord) -> None:
        """Keep the record of a call that reserved nothing: its end is written before its name counts."""
        require_refusal(record)
        with _store_errors():
            self._require_writable()
            if _is(self._phase_file(record.run_id, 0)):
                raise ValueError("the run id was used before")
            self._write_move(record, 1)
            self._count(self._write_reservation(record))

    def mark_started(self, run_id: str, owner: str) -> bool:
        """``reserved -> started``; the name is flushed only when the run is not journaled."""
        return self._move(run_id, owner, Phase.STARTED)

    def begin_delivery(self, run_id: str, owner: str) -> bool:
        """``reserved | started -> delivering``, flushed."""
        return self._move(run_id, owner, Phase.DELIVERING)

    def finish(self, run_id: str, owner: str, result: RunResult) -> bool:
        """``reserved | started | delivering -> finished`` by the owner, flushed."""
        require_end_of(run_id, result)
        return self._move(run_id, owner, Phase.FINISHED, result)

    def settle_owner_gone(self, record: RunRecord, result: RunResult) -> bool:
        """Finish a run that still stands as in ``record``, flushed."""
        require_end_of(record.run_id, result)
        return self._move(record.run_id, record.owner, Phase.FINISHED, result, only_from=record.phase)

    def note_late(self, run_id: str, owner: str, result: RunResult) -> bool:
        """Keep what the owner of a finished run says too late, flushed."""
        require_end_of(run_id, result)
        with _store_errors():
            self._require_writable()
            record = self._find(run_id)[0]
            if record is None or not may_report_late(record, owner):
                return False
            write_durably(self._late_file(run_id), result_text(result).encode(), exclusive=True)
            return self._late(run_id) == result

    def late_report(self, run_id: str) -> RunResult | None:
        """What the run's owner said too late."""
        with _store_errors():
            self._require_open()
            return self._late(run_id) if is_run_id(run_id) else None

    def old_refusals(self, before: int) -> int:  # noqa: ARG002 - as below
        """None can be dropped."""
        self._require_open()
        return 0

    def forget_refusals(self, before: int) -> int:  # noqa: ARG002 - nothing is dropped, however old
        """No file is ever removed, since the order of all later ones stands on it."""
        self._require_open()
        return 0

    def load(self, run_id: str) -> RunRecord | None:
        """The record of one call."""
        with _store_errors():
            self._require_open()
            return self._find(run_id)[0]

    def attempts(self, request_key: str) -> tuple[RunRecord, ...]:
        """All attempts under the request key, oldest first."""
        with _store_errors():
            self._require_open()
            names = (self._attempts / attempt_key(request_key, number) for number in range(1, MAX_ATTEMPTS + 1))
            attempts = tuple(self._brought_up(_reservation(name))[0] for name in names if _is(name))
            if any(record.request_key != request_key for record in attempts):
                raise StoreCorruptError("an attempt under another's name")
            return require_whole_history(attempts)

    def recent(self, limit: int, before: str | None = None) -> tuple[RunRecord, ...]:
        """The newest records first."""
        page: list[RunRecord] = []
        with _store_errors():
            self._require_open()
            for record in self._newest(before):
                if len(page) >= limit:
                    break
                page.append(record)
        return tuple(page)

    def unfinished(self) -> Iterator[RunRecord]:
        """Every run that is not finished."""
        with _store_errors():
            self._require_open()
            return iter([record for record in self._newest(None) if record.phase is not Phase.FINISHED][::-1])

    def check_health(self) -> None:
        """Read every file and compare the names with the records."""
        with _store_errors():
            self._require_open()
            for name in self._attempts.iterdir():
                record = _reservation(name)
                if name.name != attempt_key(record.request_key, record.attempt):
                    raise StoreCorruptError("an attempt under another's name")
                self.attempts(record.request_key)
            for _ in self._newest(None):
                pass

    def noted(self) -> frozenset[str]:
        """Every request key that was ever reserved under this seal, as far as notes were kept."""
        with _store_errors():
            return self._seal.noted()

    def begin_epoch(self) -> int:
        """Seal the claims as the ones that go on from here; returns the number of the epoch."""
        with _store_errors(), Gate(self._folder / TURNS).turn():
            self._require_open()
            return self._put_seal()

    def close(self) -> None:
        """Refuse every later call; nothing is held."""
        self._closed = True

    # Opening.

    def _open(self) -> None:
        if self._read_only:
            refuse_link(self._folder)
        else:
            private_folder(self._folder)
        refuse_network_file_system(self._folder)
        refuse_link(self._claims)
        self._refuse_other_kind()
        if not _is(self._claims / "layout"):
            self._make()
        seal = None if self._restored or self._read_only else self._seal.read()
        version, self._name, _ = self._require_known_layout()
        for name in _FOLDERS:
            if not (self._claims / name).is_dir() or (self._claims / name).is_symlink():
                raise StoreCorruptError("a folder of claims is missing")
        if self._restored or self._read_only:
            return
        if version < LAYOUT:
            self._bring_forward()
        elif not self._seal.belongs(require_goes_on(seal, self._name, self._known_places(seal))):
            raise StoreRestoredError("a copy")

    def _make(self) -> None:
        if self._read_only:
            raise StoreUnavailableError("there are no claims")
        with Gate(self._folder / TURNS).turn():
            self._refuse_other_kind()
            if _is(self._claims / "layout"):
                return
            if _is(self._runs) and any(self._runs.iterdir()):
                raise StoreCorruptError("claims without their layout")
            self._require_nothing_lost()
            for name in _FOLDERS:
                private_folder(self._claims / name)
            if self._restored:
                self._put_layout(new_token(), 0)
            else:
                self._put_seal()

    def _bring_forward(self) -> None:
        """Seal claims of the first layout, which knew no seals."""
        with Gate(self._folder / TURNS).turn():
            version, self._name, _ = self._require_known_layout()
            if version < LAYOUT:
                self._require_nothing_lost()
                self._put_seal()

    def _require_nothing_lost(self) -> None:
        """Refuse to begin where a seal says that claims were in use."""
        seal = None if self._restored else self._seal.read()
        if seal is not None and seal.count:
            raise StoreRestoredError("the claims are gone")

    def _put_seal(self) -> int:
        """Put a new seal on the claims: beside them first, so that claims of an older name stay refused."""
        known = self._require_known_layout()[2] if _is(self._claims / "layout") else 0
        name = new_token()
        epoch = max(known, self._seal.epoch()) + 1
        self._seal.write(name, epoch, 0)
        self._put_layout(name, epoch)
        self._name = name
        return epoch

    def _put_layout(self, name: str, epoch: int) -> None:
        write_durably(self._claims / "layout", f"{LAYOUT} {name} {epoch}".encode())

    def _known_places(self, seal: Seal | None) -> int:
        """As many places as the seal counts, if the last of them is there."""
        count = 0 if seal is None else seal.count
        return count if count == 0 or _is(self._order / f"{count:012}") else 0

    def _count(self, order: Path) -> None:
        """Say that this place in the order is taken for good. Who counts at the same time may leave a lower count."""
        if not self._restored:
            self._seal.count(self._name, int(order.name))

    def _refuse_other_kind(self) -> None:
        if any(_is(self._folder / name) for name in LEDGER):
            raise StoreOfOtherKindError("a ledger of SQLite is here")

    def _require_known_layout(self) -> tuple[int, str, int]:
        """Version, name and epoch of the claims; the first layout had neither name nor epoch."""
        text = read_private(self._claims / "layout")
        version, found = text.partition(b" ")[0], _LAYOUT.fullmatch(text)
        if version.isdigit() and int(version) > LAYOUT:
            raise StoreNewerError("a newer layout")
        if found is None or (int(found[1]) == LAYOUT) is (found[2] is None):
            raise StoreCorruptError("not a layout")
        return int(found[1]), (found[2] or b"").decode(), int(found[3] or 0)

    # Writing.

    def _claim(self, record: RunRecord) -> bool:
        """Give a reservation its attempt's name; ``False``, and nothing left behind, when that is taken."""
        if record.attempt == 1 and not self._restored:
            self._seal.note(record.request_key)
        order = self._write_reservation(record)
        reservation = self._phase_file(record.run_id, 0)
        if link_exclusively(reservation, self._attempts / attempt_key(record.request_key, record.attempt)):
            sync_folder(self._attempts)
            self._count(order)
            return True
        order.unlink()
        reservation.unlink()
        return False

    def _write_reservation(self, record: RunRecord) -> Path:
        """Write the record as it is reserved and give it its place in the order; neither makes it count."""
        name = self._phase_file(record.run_id, 0)
        if not write_durably(name, _text_of(_reserved(record)), exclusive=True):
            raise ValueError("the run id was used before")
        for number in count(self._last_order + 1):
            order = self._order / f"{number:012}"
            if link_exclusively(name, order):
                self._last_order = number
                sync_folder(self._order)
                return order
        raise AssertionError  # pragma: no cover - count never ends

    def _move(
        self,
        run_id: str,
        owner: str,
        phase: Phase,
        result: RunResult | None = None,
        *,
        only_from: Phase | None = None,
    ) -> bool:
        with _store_errors():
            self._require_writable()
            while True:
                now, moves = self._find(run_id)
                if now is None or not may_move(now, owner, phase) or only_from not in (None, now.phase):
                    return False
                if self._write_move(evolve(now, phase=phase, result=result), moves + 1):
                    return True

    def _write_move(self, record: RunRecord, number: int) -> bool:
        """Make the run's next move, unless another one was made first."""
        text = None if record.result is None else result_text(record.result)
        return write_durably(
            self._phase_file(record.run_id, number),
            _text_of(_Move(phase=record.phase, result=text)),
            exclusive=True,
            sync_name=record.phase is not Phase.STARTED or not record.journaled,
        )

    def _require_writable(self) -> None:
        self._require_open()
        if self._read_only:
            raise StoreUnavailableError("opened for reading only")
        if not self._restored and self._require_known_layout()[1] != self._name:
            raise StoreRestoredError("another epoch has begun")

    def _require_open(self) -> None:
        if self._closed or not _is(self._claims / "layout"):
            raise StoreUnavailableError("closed or removed")

    # Reading.

    def _find(self, run_id: str) -> tuple[RunRecord | None, int]:
        name = self._phase_file(run_id, 0)
        if not (is_run_id(run_id) and _is(name)):
            return None, 0
        reservation = _reservation(name)
        if reservation.run_id != run_id:
            raise StoreCorruptError("a run under another's name")
        return self._brought_up(reservation) if self._counts(reservation) else (None, 0)

    def _counts(self, reservation: RunRecord) -> bool:
        """Whether this reservation won its attempt; a refusal needs none."""
        if reservation.attempt == 0:
            return _is(self._phase_file(reservation.run_id, 1))
        name = self._attempts / attempt_key(reservation.request_key, reservation.attempt)
        return _is(name) and _reservation(name).run_id == reservation.run_id

    def _brought_up(self, reservation: RunRecord) -> tuple[RunRecord, int]:
        """The record as it stands now, and how many moves it made."""
        made = (number for number in range(_MOVES, 0, -1) if _is(self._phase_file(reservation.run_id, number)))
        moves = next(made, 0)
        if moves == 0:
            return reservation, 0
        move = _structured(self._phase_file(reservation.run_id, moves), _Move)
        if (move.result is None) is (move.phase is Phase.FINISHED):
            raise StoreCorruptError("phase and result contradict each other")
        result = None if move.result is None else kept_result(move.result, reservation.run_id)
        return evolve(reservation, phase=move.phase, result=result), moves

    def _newest(self, before: str | None) -> Iterator[RunRecord]:
        names = sorted(os.scandir(self._order), key=lambda entry: entry.name, reverse=True)
        if before is not None:
            place = self._phase_file(before, 0)
            number = place.lstat().st_ino if is_run_id(before) and _is(place) else None
            places = [index for index, entry in enumerate(names) if entry.inode() == number]
            names = names[places[0] + 1 :] if places else []
        for entry in names:
            reservation = _reservation(Path(entry.path))
            if self._counts(reservation):
                yield self._brought_up(reservation)[0]

    def _late(self, run_id: str) -> RunResult | None:
        try:
            text = read_private(self._late_file(run_id)).decode(errors="replace")
        except FileNotFoundError:
            return None
        return kept_result(text, run_id)

    def _late_file(self, run_id: str) -> Path:
        return self._runs / f"{run_id}.late"

    def _phase_file(self, run_id: str, number: int) -> Path:
        return self._runs / f"{run_id}.{number}"


@contextmanager
def _store_errors() -> Generator[None]:
    try:
        yield
    except (LockTimeoutError, UnsafeFileError, OSError) as error:
        raise StoreUnavailableError("the folder refused") from error


def _is(path: Path) -> bool:
    """Whether the name is taken, by whatever."""
    return os.path.lexists(path)


def _reserved(record: RunRecord) -> _Reservation:
    return _Reservation(
        run_id=record.run_id,
        request_key=record.request_key,
        attempt=record.attempt,
        workflow=record.workflow,
        fingerprint=record.fingerprint,
        owner=record.owner,
        journaled=record.journaled,
        created_at=record.created_at,
        bundle=record.bundle,
    )


def _reservation(path: Path) -> RunRecord:
    kept = _structured(path, _Reservation)
    return RunRecord(
        run_id=kept.run_id,
        request_key=kept.request_key,
        attempt=kept.attempt,
        workflow=kept.workflow,
        fingerprint=kept.fingerprint,
        owner=kept.owner,
        journaled=kept.journaled,
        phase=Phase.RESERVED,
        created_at=kept.created_at,
        bundle=kept.bundle,
    )


def _text_of(kept: _Reservation | _Move) -> bytes:
    from surehand.core.wire import to_wire  # noqa: PLC0415 - loads cattrs, which a fast start does without

    text = json.dumps(to_wire(kept), separators=(",", ":")).encode()
    return text + b"\n" + _sum(text)


def _sum(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode()


def _structured(path: Path, kind: type[_Kept]) -> _Kept:
    from surehand.core.wire import from_wire  # noqa: PLC0415 - loads cattrs, which a fast start does without

    text, _, said = read_private(path).partition(b"\n")
    if said and said != _sum(text):  # the first layout had no sums
        raise StoreCorruptError("not the claim that was written")
    try:
        wire: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreCorruptError("not a claim") from error
    kept = from_wire(wire, kind).value_or(None)
    if kept is None:
        raise StoreCorruptError("not a claim")
    return kept
