"""Sessions of apps on a real file system: secret, bound to their app, and replaced only by what grew out of them."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from surehand.shell.sessions import MAX_BYTES, SESSIONS, SessionState, SessionStore, grown

APP, OTHER = "https://app.example", "https://app.example:8443"
CANARY = "canary-token-7f3a"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    """A store in a state folder that is not there yet."""
    return SessionStore(tmp_path / "state")


def files(store: SessionStore) -> list[Path]:
    """All files of the store."""
    return [path for path in (store.state_folder / SESSIONS).iterdir() if path.is_file()]


class TestKeeping:
    """What was saved is loaded, by whoever uses the same folder, for the same app alone."""

    def test_what_was_saved_is_loaded(self, store: SessionStore) -> None:
        store.save(APP, "one")
        store.save(APP, "two \u00fc")

        assert (store.load(APP), store.load(OTHER)) == ("two \u00fc", None)
        assert SessionStore(store.state_folder).load(APP) == "two \u00fc"

    def test_nothing_is_there_before_and_after(self, store: SessionStore) -> None:
        assert (store.load(APP), store.state(APP)) == (None, SessionState.NONE)
        store.save(APP, "x")
        assert store.state(APP) is SessionState.KEPT
        store.forget(APP)
        store.forget(APP)
        assert (store.load(APP), store.state(APP)) == (None, SessionState.NONE)

    def test_a_session_of_no_reasonable_size_is_refused(self, store: SessionStore) -> None:
        with pytest.raises(ValueError, match="size"):
            store.save(APP, "x" * (MAX_BYTES + 1))


class TestSecrecy:
    """On the disk there is nothing to be read, and nobody else may try."""

    def test_neither_the_session_nor_the_app_stands_there(self, store: SessionStore) -> None:
        store.save(APP, CANARY)

        for path in files(store):
            assert CANARY.encode() not in path.read_bytes()
            assert "example" not in path.name

    def test_folders_and_files_belong_to_this_account_alone(self, store: SessionStore) -> None:
        before = os.umask(0)
        try:
            store.save(APP, CANARY)
        finally:
            os.umask(before)

        folder = store.state_folder / SESSIONS
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in files(store)} == {0o600}

    def test_two_texts_of_one_session_differ(self, store: SessionStore) -> None:
        store.save(APP, CANARY)
        before = {path.name: path.read_bytes() for path in files(store)}
        store.save(APP, CANARY)

        changed = [path.name for path in files(store) if path.read_bytes() != before[path.name]]
        assert [name.endswith(".session") for name in changed] == [True]


class TestDamage:
    """A session that cannot be read is none, and is known to be damaged."""

    def session(self, store: SessionStore) -> Path:
        return next(path for path in files(store) if path.suffix == ".session")

    def test_every_flipped_byte_is_noticed(self, store: SessionStore) -> None:
        store.save(APP, "x")
        whole = self.session(store).read_bytes()

        for at in range(len(whole)):
            self.session(store).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert (store.load(APP), store.state(APP)) == (None, SessionState.DAMAGED)
        self.session(store).write_bytes(whole)
        assert store.load(APP) == "x"

    def test_every_cut_is_noticed(self, store: SessionStore) -> None:
        store.save(APP, "x")
        whole = self.session(store).read_bytes()

        for length in range(len(whole)):
            self.session(store).write_bytes(whole[:length])
            assert (store.load(APP), store.state(APP)) == (None, SessionState.DAMAGED)

    def test_the_session_of_one_app_is_none_of_another(self, store: SessionStore) -> None:
        store.save(APP, "mine")
        first = self.session(store)
        store.save(OTHER, "other")
        second = next(path for path in files(store) if path.suffix == ".session" and path != first)
        second.write_bytes(first.read_bytes())

        assert (store.load(APP), store.state(OTHER)) == ("mine", SessionState.DAMAGED)

    @pytest.mark.parametrize("key", [b"", b"short", b"x" * 32])
    def test_another_key_reads_nothing_and_the_next_session_is_kept(self, store: SessionStore, key: bytes) -> None:
        store.save(APP, "x")
        (store.state_folder / SESSIONS / "key").write_bytes(key)

        assert store.state(APP) is SessionState.DAMAGED
        store.save(APP, "y")
        assert store.load(APP) == "y"

    def test_a_link_in_its_place_is_not_followed(self, store: SessionStore, tmp_path: Path) -> None:
        store.save(APP, "x")
        path = self.session(store)
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")

        assert store.state(APP) is SessionState.DAMAGED


class TestRenewal:
    """A session is replaced by what grew out of it; what a person renewed in the meantime stays."""

    def test_what_grew_out_of_it_is_kept(self, store: SessionStore) -> None:
        store.save(APP, "one")

        assert store.renew(APP, "one", "two") is True
        assert store.load(APP) == "two"

    @pytest.mark.parametrize("kept", ["signed in again", None])
    def test_one_that_is_another_by_now_stays(self, store: SessionStore, kept: str | None) -> None:
        store.save(APP, "one")
        store.forget(APP) if kept is None else store.save(APP, kept)

        assert store.renew(APP, "one", "two") is False
        assert store.load(APP) == kept

    def test_many_writers_never_tear_it(self, store: SessionStore) -> None:
        script = (
            "import sys; from pathlib import Path; from surehand.shell.sessions import SessionStore\n"
            "store = SessionStore(Path(sys.argv[1]))\n"
            f"for _ in range(20): store.save({APP!r}, sys.argv[2] * 5000)"
        )
        texts = ["a", "b", "c"]
        command = [sys.executable, "-c", script, str(store.state_folder)]
        writers = [subprocess.Popen([*command, text]) for text in texts]
        seen = {store.load(APP) for _ in range(200)}

        assert [writer.wait(120) for writer in writers] == [0, 0, 0]
        assert {*seen, store.load(APP)} <= {None, *(text * 5000 for text in texts)}
        assert store.load(APP) is not None


class TestGrowth:
    """A run hands on cookies, and the values of what the app kept before; nothing that appeared while it entered."""

    def test_new_cookies_and_renewed_values_are_handed_on(self) -> None:
        before = {
            "cookies": [{"name": "s", "value": "1"}],
            "origins": [
                {"origin": APP, "localStorage": [{"name": "token", "value": "1"}, {"name": "gone", "value": "g"}]}
            ],
        }
        now = {
            "cookies": [{"name": "s", "value": "2"}, {"name": "t", "value": "3"}],
            "origins": [
                {"origin": APP, "localStorage": [{"name": "token", "value": "2"}, {"name": "draft", "value": CANARY}]},
                {"origin": OTHER, "localStorage": [{"name": "draft", "value": CANARY}]},
            ],
        }

        assert json.loads(grown(json.dumps(before), json.dumps(now))) == {
            "cookies": now["cookies"],
            "origins": [
                {"origin": APP, "localStorage": [{"name": "token", "value": "2"}, {"name": "gone", "value": "g"}]}
            ],
        }

    def test_a_session_of_cookies_alone_stays_one(self) -> None:
        assert json.loads(grown('{"cookies": []}', '{"cookies": [{"name": "s"}], "origins": [{"origin": "x"}]}')) == {
            "cookies": [{"name": "s"}],
            "origins": [],
        }
