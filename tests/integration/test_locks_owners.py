"""Owners and turns, as real processes hold and lose them."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import pytest

from support.folders import run_python, second_path
from surehand.shell.clock import SystemClock
from surehand.shell.files import UnsafeFileError
from surehand.shell.identity import DamagedKeyError, fingerprint_key, new_run_id, new_token
from surehand.shell.locks import Gate, LockTimeoutError, OwnerLock, boot_id, is_alive

#: Takes a name, tells it, and lives until its input ends.
OWNS = """\
import sys
from pathlib import Path
from surehand.shell.locks import OwnerLock
lock = OwnerLock.acquire(Path(sys.argv[1]))
print(lock.token, flush=True)
sys.stdin.read()
"""

ASKS = """\
import sys
from pathlib import Path
from surehand.shell.locks import is_alive
print(is_alive(Path(sys.argv[1]), sys.argv[2]))
"""


class Owner:
    """A process that holds a name."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.token = self.process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


class TestOwners:
    """An owner lives exactly as long as its lock is held; nothing else is asked."""

    def test_lives_while_it_holds_its_lock(self, tmp_path: Path) -> None:
        lock = OwnerLock.acquire(tmp_path)

        assert 32 == len(lock.token)
        assert is_alive(tmp_path, lock.token)
        lock.release()
        lock.release()
        assert not is_alive(tmp_path, lock.token)
        assert [] == list((tmp_path / "owners").iterdir())

    def test_is_gone_when_its_process_is_killed(self, tmp_path: Path) -> None:
        with Owner(tmp_path) as owner:
            assert is_alive(tmp_path, owner.token)
            owner.process.send_signal(signal.SIGKILL)
            owner.process.wait()

            assert (tmp_path / "owners" / f"{owner.token}.lock").exists()
            assert not is_alive(tmp_path, owner.token)

    def test_a_stopped_process_lives(self, tmp_path: Path) -> None:
        with Owner(tmp_path) as owner:
            owner.process.send_signal(signal.SIGSTOP)

            assert is_alive(tmp_path, owner.token)

    def test_is_seen_by_another_path(self, tmp_path: Path) -> None:
        folder = tmp_path / "runs"
        lock = OwnerLock.acquire(folder)
        alive = second_path(folder, ASKS, lock.token)
        lock.release()

        assert ("True\n", "") == (alive.stdout, alive.stderr)

    def test_names_of_another_boot_are_gone(self, tmp_path: Path) -> None:
        lock = OwnerLock.acquire(tmp_path)
        path = tmp_path / "owners" / f"{lock.token}.lock"
        assert boot_id() == path.read_bytes()
        path.write_bytes(b"another boot")

        assert not is_alive(tmp_path, lock.token)
        lock.release()

    def test_a_forked_child_does_not_keep_its_parent_alive(self, tmp_path: Path) -> None:
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom surehand.shell.locks import OwnerLock\n"
            "lock = OwnerLock.acquire(Path(sys.argv[1]))\n"
            "if os.fork() == 0:\n    os.close(1); os.close(2); sys.stdin.read(); os._exit(0)\n"
            "print(lock.token, flush=True)\nos._exit(0)\n"
        )
        reading, writing = os.pipe()
        parent = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], check=True, stdin=reading, stdout=subprocess.PIPE, text=True
        )

        assert not is_alive(tmp_path, parent.stdout.strip())
        os.close(writing)
        os.close(reading)

    @pytest.mark.parametrize("token", ["", "a" * 31, "A" * 32, "../" + "a" * 29, "a" * 32 + "\n", "a" * 32])
    def test_nobody_has_a_name_that_was_never_taken(self, tmp_path: Path, token: str) -> None:
        assert not is_alive(tmp_path, token)

    def test_clears_away_the_dead_and_leaves_the_living(self, tmp_path: Path) -> None:
        with Owner(tmp_path) as living, Owner(tmp_path) as dead:
            dead.process.kill()
            dead.process.wait()
            (tmp_path / "owners" / "leftover.draft").touch()
            lock = OwnerLock.acquire(tmp_path)

            assert {f"{living.token}.lock", f"{lock.token}.lock"} == {
                path.name for path in (tmp_path / "owners").iterdir()
            }
            assert is_alive(tmp_path, living.token)
            lock.release()

    def test_a_symbolic_link_is_refused(self, tmp_path: Path) -> None:
        lock = OwnerLock.acquire(tmp_path / "one")
        (tmp_path / "two").mkdir()
        (tmp_path / "two" / "owners").symlink_to(tmp_path / "one" / "owners")
        with pytest.raises(UnsafeFileError):
            OwnerLock.acquire(tmp_path / "two")
        (tmp_path / "three" / "owners").mkdir(parents=True)
        name = f"{lock.token}.lock"
        (tmp_path / "three" / "owners" / name).symlink_to(tmp_path / "one" / "owners" / name)
        with pytest.raises(UnsafeFileError):
            is_alive(tmp_path / "three", lock.token)
        lock.release()

    def test_a_crowd_of_owners_each_gets_a_name_of_its_own(self, tmp_path: Path) -> None:
        locks: list[OwnerLock] = []
        barrier = threading.Barrier(8)

        def acquire() -> None:
            barrier.wait()
            locks.extend(OwnerLock.acquire(tmp_path) for _ in range(10))

        crowd = [threading.Thread(target=acquire) for _ in range(8)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()

        assert 80 == len({lock.token for lock in locks})
        assert all(is_alive(tmp_path, lock.token) for lock in locks)
        for lock in locks:
            lock.release()


class Ticks:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> int:
        """Seconds since this clock was made."""
        return int(self.seconds)

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Move on."""
        self.seconds += seconds


class Unhurried(SystemClock):
    """A clock by which no time passes, however long somebody sleeps."""

    def monotonic(self) -> float:
        """Always the same."""
        return 0.0


class TestTurns:
    """One turn at a time, and nobody waits for ever."""

    def test_a_turn_that_never_comes_is_an_error(self, tmp_path: Path) -> None:
        clock = Ticks()
        with Gate(tmp_path / "lock").turn(), pytest.raises(LockTimeoutError):
            Gate(tmp_path / "lock", limit=30, clock=clock)._locked()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no second block

        assert 30 <= clock.seconds < 31

    def test_a_turn_follows_a_turn(self, tmp_path: Path) -> None:
        gate = Gate(tmp_path / "lock")
        for _ in range(3):
            with gate.turn():
                assert (tmp_path / "lock").exists()

    def test_a_dead_holder_does_not_block(self, tmp_path: Path) -> None:
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom surehand.shell.locks import Gate\n"
            "with Gate(Path(sys.argv[1]) / 'lock').turn(): os._exit(0)\n"
        )
        run_python(script, tmp_path)

        with Gate(tmp_path / "lock", limit=0).turn():
            pass

    def test_a_child_forked_during_a_turn_does_not_keep_it(self, tmp_path: Path) -> None:
        script = (
            "import os, sys\nfrom pathlib import Path\nfrom surehand.shell.locks import Gate\n"
            "gate = Gate(Path(sys.argv[1]) / 'lock', limit=0)\n"
            "reading, writing = os.pipe()\n"
            "with gate.turn():\n"
            "    child = os.fork()\n"
            "    if child == 0:\n        os.close(writing); os.read(reading, 1); os._exit(0)\n"
            "with gate.turn(): print('mine again')\n"
            "os.close(writing)\nos.waitpid(child, 0)\n"
        )
        told = run_python(script, tmp_path)

        assert ("mine again\n", "") == (told.stdout, told.stderr)

    def test_a_lock_file_that_was_replaced_is_not_held(self, tmp_path: Path) -> None:
        with Gate(tmp_path / "lock").turn():
            (tmp_path / "lock").unlink()
            with Gate(tmp_path / "lock", limit=0).turn(), pytest.raises(LockTimeoutError):
                Gate(tmp_path / "lock", limit=0)._locked()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no third block

    def test_one_who_waits_goes_before_one_who_had_a_turn(self, tmp_path: Path) -> None:
        order: list[str] = []

        # A line that does not move is passed by after a moment, in which a busy machine may let nobody move.
        gate = Gate(tmp_path / "lock", clock=Unhurried())

        def wait_for_a_turn() -> None:
            with gate.turn():
                order.append("waited")

        waiting = threading.Thread(target=wait_for_a_turn)
        with gate.turn():
            waiting.start()
            folder = os.open(tmp_path, os.O_RDONLY)
            while _is_free(folder):
                waiting.join(0.001)
        with gate.turn():
            order.append("again")
        waiting.join()
        os.close(folder)

        assert order == ["waited", "again"]

    def test_a_line_that_does_not_move_is_passed_by(self, tmp_path: Path) -> None:
        folder = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        clock = Ticks()
        with Gate(tmp_path / "lock", clock=clock).turn():
            assert (tmp_path / "lock").exists()
        os.close(folder)

        assert 0 < clock.seconds < 1


def _is_free(folder: int) -> bool:
    """Whether nobody stands in the line of this folder; it is tried and let go."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(folder, fcntl.LOCK_UN)
    return True


class TestIdentity:
    """Names are never the same twice, and a folder has one secret for ever."""

    def test_names_have_their_form(self) -> None:
        names = {new_run_id() for _ in range(100)}

        assert 100 == len(names)
        assert all(name.startswith("run_") and len(name) == 36 and int(name[4:], 16) >= 0 for name in names)
        assert 32 == len(new_token())

    def test_all_get_the_secret_that_was_first(self, tmp_path: Path) -> None:
        script = (
            "import sys\nfrom pathlib import Path\nfrom surehand.shell.identity import fingerprint_key\n"
            "print(fingerprint_key(Path(sys.argv[1]) / 'surehand').hex())\n"
        )
        asking = [
            subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        told = {process.communicate()[0].strip() for process in asking}

        assert {fingerprint_key(tmp_path / "surehand").hex()} == told
        assert 0o600 == (tmp_path / "surehand" / "fingerprint.key").stat().st_mode & 0o777

    @pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
    def test_a_damaged_secret_is_refused_and_kept(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "fingerprint.key").write_bytes(content)

        with pytest.raises(DamagedKeyError):
            fingerprint_key(tmp_path)
        assert content == (tmp_path / "fingerprint.key").read_bytes()

    def test_a_linked_secret_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").write_bytes(bytes(32))
        (tmp_path / "fingerprint.key").symlink_to(tmp_path / "elsewhere")

        with pytest.raises(UnsafeFileError):
            fingerprint_key(tmp_path)
