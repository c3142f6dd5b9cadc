"""The cells of the space layer, each in a forked process inside a mount namespace of its own.

Laws of this module:

- A limit is a real one: a small file system, a limit of the process, a mount that takes nothing.
- Entries are asked for until the limit is met. Then it is lifted, and each entry is asked for again: by the same
  service, and by a new one.
- Saves are counted in memory, which no limit of a disk touches. The process lives to the end of its cell.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar, Final

from attrs import define, field, frozen

from support.effects import OpensPremises, ask, hand, opens_claims_premises, premises_of, unanswered, untrue
from support.stores import MEMORY_DISK
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import RunResult, is_final
from surehand.core.request.gate import Decision
from surehand.core.request.record import RunRecord
from surehand.shell.api import Surehand
from surehand.shell.assembly import open_premises
from surehand.shell.store.base import StoreUnavailableError
from surehand.shell.store.sqlite import SqliteStore

#: Entries that are asked for under a limit; fewer when it is met early.
ENTRIES: Final = 60

#: Refusals in a row after which the limit counts as met.
MET: Final = 3


class PoisonedStore(SqliteStore):
    """The control: it remembers a request before it has room for it, and then never lets it run."""

    _seen: ClassVar[set[str]] = set()

    def reserve(self, draft: RunRecord) -> Decision:
        """Reserve, unless that was tried before."""
        if draft.request_key in self._seen and not self.attempts(draft.request_key):
            raise StoreUnavailableError("tried before")
        self._seen.add(draft.request_key)
        return super().reserve(draft)


OPENS: Final[dict[str, OpensPremises]] = {
    "sqlite": open_premises,
    "claims": opens_claims_premises,
    "poisoned": lambda folder: premises_of(folder, PoisonedStore.open),
}

Lift = Callable[[], None]


@frozen
class Limit:
    """One cell: which limit, how tight, and which store.

    Args:
        kind: The name of the limit.
        step: How tight, in the unit of the limit.
        store: ``sqlite`` or ``claims``.
        used: Whether the folder was used before the limit came.
    """

    kind: str
    step: int
    store: str
    used: bool


@define
class _Judge:
    """Asks, remembers every answer, and says what is wrong with them."""

    folder: Path
    opens: OpensPremises
    saves: list[str] = field(factory=list[str])
    told: dict[str, list[RunResult]] = field(factory=lambda: defaultdict[str, list[RunResult]](list))

    def hand(self) -> Surehand:
        """A service on the folder."""
        return hand(self.folder, self.folder, self.opens, self.saves.append)

    def ask(self, surehand: Surehand, name: str) -> RunResult:
        """Ask for one entry."""
        answer = ask(surehand, name)
        self.told[name].append(answer)
        return answer

    def fill(self, surehand: Surehand) -> tuple[int, int]:
        """Ask for new entries until none goes; how many were done and how many were not."""
        done = refused = number = 0
        for number in range(ENTRIES):
            is_done = self.ask(surehand, f"entry-{number}").outcome is Outcome.DONE
            done += is_done
            refused = 0 if is_done else refused + 1
            if refused == MET:
                break
        return done, number + 1 - done

    def wrong(self) -> list[str]:
        """What is wrong with everything that was told."""
        found: list[str] = []
        known: set[str] = set()
        for name, answers in self.told.items():
            runs = {answer.run_id for answer in answers}
            known |= runs
            saves = tuple(save for save in self.saves if save in runs)
            found += [f"{name}: {said}" for said in self._wrong_of(answers, saves)]
        found += ["a save of no run that was told of"] * sum(save not in known for save in self.saves)
        return found

    def _wrong_of(self, answers: list[RunResult], saves: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        last = answers[-1]
        for answer in answers:
            own = tuple(save for save in saves if save == answer.run_id)
            said = untrue(answer, own if answer.outcome is Outcome.DID_NOT_RUN else saves)
            found += [said] if said is not None else []
        if len(saves) > 1:
            found.append("saved twice")
        if not is_final(last):
            found.append("it goes on for ever")
        if all(answer.outcome is Outcome.DID_NOT_RUN for answer in answers):
            found.append(f"it never runs again: {last.reason.value}")
        if any(answer.outcome is Outcome.DONE for answer in answers) and last.outcome is not Outcome.DONE:
            found.append(f"done became {last.reason.value}")
        return found


def perform(limit: Limit, place: Path) -> dict[str, object]:
    """Run one cell in a folder of its own; what is wrong, and how many entries went and did not go."""
    folder = place / "runs" / "surehand"
    judge = _Judge(folder, OPENS[limit.store])
    with LIMITS[limit.kind](limit, place, judge) as lift:
        with judge.hand() as surehand:
            done, refused = judge.fill(surehand)
            lift()
            for name in tuple(judge.told):
                judge.ask(surehand, name)
        with judge.hand() as surehand:
            for name in (*judge.told, "after-all"):
                judge.ask(surehand, name)
            wrong = judge.wrong()
            with closing(judge.opens(folder).store) as store:
                wrong += unanswered(surehand, store)
                store.check_health()
    return {"wrong": wrong, "done": done, "refused": refused}


def _use_before(limit: Limit, judge: _Judge) -> None:
    if limit.used:
        with judge.hand() as surehand:
            judge.ask(surehand, "before")


@contextmanager
def _mounted(place: Path, options: str) -> Generator[Path]:
    """A small file system of its own at the place of the runs folder."""
    target = place / "runs"
    target.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(target)], check=True)  # noqa: S607 - found on the path
    try:
        yield target
    finally:
        subprocess.run(["umount", "-l", str(target)], check=True)  # noqa: S607 - found on the path


def _remount(target: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(target)], check=True)  # noqa: S607 - found on the path


@contextmanager
def full_disk(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """So many KiB and no more."""
    with _mounted(place, f"size={limit.step}k") as target:
        _use_before(limit, judge)
        yield lambda: _remount(target, "size=64m")


@contextmanager
def no_inodes(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """So many files and no more."""
    with _mounted(place, f"nr_inodes={limit.step}") as target:
        yield lambda: _remount(target, "nr_inodes=100000")
    del judge


@contextmanager
def read_only(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """A file system that takes nothing."""
    with _mounted(place, "size=64m") as target:
        _use_before(limit, judge)
        _remount(target, "ro")
        yield lambda: _remount(target, "rw")


@contextmanager
def file_size(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """No file grows beyond so many bytes."""
    del place
    _use_before(limit, judge)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit.step, hard))
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def open_files(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """So many more files may be open, and no more."""
    del place
    _use_before(limit, judge)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name.name) for name in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + limit.step, hard))
    yield lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def folder_in_the_way(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """A file or a symbolic link stands where the folder belongs."""
    del judge
    (place / "runs").mkdir()
    obstacle = place / "runs" / "surehand"
    if limit.step == 0:
        obstacle.write_text("not a folder")
    else:
        obstacle.symlink_to(place)
    yield obstacle.unlink


@contextmanager
def folder_gone(limit: Limit, place: Path, judge: _Judge) -> Generator[Lift]:
    """The folder is moved away while a service has it open, and moved back."""
    del limit
    folder = place / "runs" / "surehand"
    with judge.hand() as surehand:
        judge.ask(surehand, "before")
        folder.rename(place / "away")
        told = [ask(surehand, "before"), ask(surehand, "entry-0")]
        judge.told["before"].append(told[0])
        judge.told["entry-0"].append(told[1])
        if folder.exists():
            shutil.rmtree(folder)
        (place / "away").rename(folder)
    yield lambda: None


LIMITS: Final = {
    "full disk": full_disk,
    "no inodes": no_inodes,
    "read-only": read_only,
    "file size": file_size,
    "open files": open_files,
    "in the way": folder_in_the_way,
    "folder gone": folder_gone,
}


def main() -> None:
    """Run the cells that the first argument lists; one JSON line for each."""
    limits = [Limit(**one) for one in json.loads(sys.argv[1])]
    for limit in limits:
        with tempfile.TemporaryDirectory(prefix="surehand-space-", dir=MEMORY_DISK) as place:
            print(json.dumps(_forked(limit, Path(place))), flush=True)  # noqa: T201 - the answer to an order


def _forked(limit: Limit, place: Path) -> dict[str, object]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            said = perform(limit, place)
        except BaseException as error:  # noqa: BLE001 - a child must not run on as its parent
            said = {"wrong": [f"the cell broke down: {type(error).__name__}: {error}"], "done": 0, "refused": 0}
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said_text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not said_text:
        return {"wrong": [f"the process ended with {status}"], "done": 0, "refused": 0}
    said_by_child: dict[str, object] = json.loads(said_text)
    return said_by_child


if __name__ == "__main__":
    main()
