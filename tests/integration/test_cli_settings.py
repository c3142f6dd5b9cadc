"""Settings and checks of an installation.

Laws:

- An argument wins over the environment, the environment over the file, the file over the default.
- What is not understood is an error and never a default.
"""

from pathlib import Path

import pytest

from surehand.core.workflow import policy
from surehand.core.workflow.policy import Profile
from surehand.shell.config import (
    DEFAULT_POLICY,
    DEFAULT_PROFILE,
    PROFILE_NAMES,
    BundleArguments,
    BundleSettings,
    ConfigError,
    SandboxEngine,
    settings,
)
from surehand.shell.doctor import State, examine, has_wal_reset_fault, is_in_order


def config(folder: Path, text: str) -> dict[str, str]:
    """An environment that names a settings file with this text."""
    file = folder / "config.toml"
    file.write_text(text)
    return {"SUREHAND_CONFIG": str(file)}


class TestTheNearestSettingWins:
    """Argument, environment, file, default."""

    def test_each_in_its_turn(self, tmp_path: Path) -> None:
        environ = config(tmp_path, 'runs_dir = "/from/file"\nsandbox_engine = "simulated"')
        nearer = {**environ, "SUREHAND_RUNS_DIR": "/from/environment"}

        assert Path("/from/file") == settings(environ=environ).runs_dir
        assert Path("/from/environment") == settings(environ=nearer).runs_dir
        assert Path("/from/argument") == settings("/from/argument", environ=nearer).runs_dir
        assert SandboxEngine.SIMULATED is settings(environ=environ).sandbox_engine
        assert SandboxEngine.BROWSER is settings(None, "browser", environ=environ).sandbox_engine

    def test_the_default_is_the_users_state_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

        found = settings(environ={})

        assert (tmp_path / "state" / "surehand", SandboxEngine.AUTO) == (found.runs_dir, found.sandbox_engine)
        assert tmp_path / "state" / "surehand" / "surehand" == found.state_folder
        assert [] == list(tmp_path.iterdir())

    def test_the_users_settings_file_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        (tmp_path / "surehand").mkdir()
        (tmp_path / "surehand" / "config.toml").write_text('runs_dir = "/from/file"')

        assert Path("/from/file") == settings(environ={}).runs_dir

    def test_a_relative_folder_is_of_the_working_folder(self) -> None:
        assert Path.cwd() / "runs" == settings("runs", environ={}).runs_dir


class TestWhatIsNotUnderstoodIsAnError:
    """Unknown names, wrong types, no TOML, no file: refused, without repeating a value."""

    @pytest.mark.parametrize(
        "text", ["runs_dir = 7", 'unknown = "CANARY"', "not toml CANARY", 'sandbox_engine = "CANARY"', "runs_dir = []"]
    )
    def test_in_the_file(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ConfigError) as refused:
            settings(environ=config(tmp_path, text))

        assert "CANARY" not in str(refused.value)

    def test_a_named_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError):
            settings(environ={"SUREHAND_CONFIG": str(tmp_path / "none.toml")})


class TestDecisionsThatActNeedTheFile:
    """Continue and Skip are served over the operator's own apps only where the settings file says so."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("", False), ("[attended]\n", False), ("no", False), ("yes", True)],
    )
    def test_it_says_yes_or_no(self, tmp_path: Path, text: str, expected: bool) -> None:
        written = f'[attended]\ncontinue_and_skip = "{text}"' if text in {"yes", "no"} else text

        assert settings(environ=config(tmp_path, written)).continue_and_skip is expected

    @pytest.mark.parametrize(
        "text",
        ['[attended]\ncontinue_and_skip = "maybe"', "[attended]\ncontinue_and_skip = true", '[attended]\nx = "yes"'],
    )
    def test_any_other_word_is_an_error(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ConfigError):
            settings(environ=config(tmp_path, text))


BUNDLES = """
[bundles]
folder = "/from/file"
profile = "regulated"
policy = "clinical-write"
key_file = "/key"

[databases]
billing = "/data/billing.db"

[apps]
"https://APP.example:443" = "http://127.0.0.1:8000"
"""


class TestBundlesAreSaidByArgumentsOrByTheFile:
    """Their folder, how strictly they run, where apps and databases are; nobody serves any without being told to."""

    def test_the_file_stands_in_for_what_the_arguments_leave_open(self, tmp_path: Path) -> None:
        found = settings(bundles=BundleArguments(), environ=config(tmp_path, BUNDLES)).bundles

        assert found == BundleSettings(
            folder=Path("/from/file"),
            profile="regulated",
            policy="clinical-write",
            key_file=Path("/key"),
            apps={"https://app.example": "http://127.0.0.1:8000"},
            databases={"billing": Path("/data/billing.db")},
        )

    def test_an_argument_wins(self, tmp_path: Path) -> None:
        said = BundleArguments(
            folder="/from/argument",
            profile="standard",
            policy="permissive",
            key_file="/other",
            apps=("https://app.example=http://127.0.0.1:9000", "http://127.0.0.1:7000"),
        )
        found = settings(bundles=said, environ=config(tmp_path, BUNDLES)).bundles

        assert found is not None
        assert (found.folder, found.profile, found.policy) == (Path("/from/argument"), "standard", "permissive")
        assert found.key_file == Path("/other")
        assert found.apps == {"https://app.example": "http://127.0.0.1:9000", "": "http://127.0.0.1:7000"}

    def test_none_are_served_where_nobody_names_them_or_wants_them(self, tmp_path: Path) -> None:
        assert settings(bundles=BundleArguments(), environ={"SUREHAND_CONFIG": str(empty(tmp_path))}).bundles is None
        assert settings(environ=config(tmp_path, BUNDLES)).bundles is None

    def test_the_profiles_are_those_of_the_gate(self) -> None:
        assert PROFILE_NAMES == tuple(profile.value for profile in Profile)
        assert (Profile(DEFAULT_PROFILE), DEFAULT_POLICY) == (Profile.STANDARD, policy.DEFAULT_POLICY)

    @pytest.mark.parametrize(
        "said",
        [
            BundleArguments(folder="f", profile="CANARY"),
            BundleArguments(folder="f", parallel_per_app=0),
            BundleArguments(folder="f", parallel_per_app=9),
            BundleArguments(folder="f", apps=("ftp://CANARY",)),
            BundleArguments(folder="f", apps=("http://CANARY/path",)),
            BundleArguments(folder="f", apps=("http://user@CANARY",)),
            BundleArguments(folder="f", apps=("CANARY=http://127.0.0.1:1",)),
        ],
        ids=str,
    )
    def test_an_argument_that_is_not_understood(self, said: BundleArguments) -> None:
        with pytest.raises(ConfigError) as refused:
            settings(bundles=said, environ={"SUREHAND_CONFIG": "/dev/null"})

        assert "CANARY" not in str(refused.value)

    @pytest.mark.parametrize(
        "text",
        [
            "bundles = 7",
            '[bundles]\nother = "CANARY"',
            "[bundles]\nfolder = 7",
            '[bundles]\nfolder = "f"\nprofile = "CANARY"',
            "[databases]\nbilling = 7",
            '[apps]\n"http://127.0.0.1" = "CANARY"',
            '[CANARY]\na = "b"',
        ],
    )
    def test_a_file_that_is_not_understood(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ConfigError) as refused:
            settings(bundles=BundleArguments(folder="f"), environ=config(tmp_path, text))

        assert "CANARY" not in str(refused.value)


def empty(folder: Path) -> Path:
    """A settings file that says nothing."""
    file = folder / "empty.toml"
    file.touch()
    return file


class TestTheCheckpointFaultOfSqliteIsKnownByVersion:
    """3.7.0 to 3.51.2 can lose a commit, except the lines that were repaired."""

    @pytest.mark.parametrize(
        ("version", "faulty"),
        [
            ((3, 6, 23), False),
            ((3, 7, 0), True),
            ((3, 40, 1), True),
            ((3, 44, 5), True),
            ((3, 44, 6), False),
            ((3, 45, 0), True),
            ((3, 50, 6), True),
            ((3, 50, 7), False),
            ((3, 51, 2), True),
            ((3, 51, 3), False),
        ],
    )
    def test_each_version(self, version: tuple[int, int, int], faulty: bool) -> None:
        assert faulty is has_wal_reset_fault(version)


class StoppedClock:
    """A clock that stands still."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """Always the same second."""
        return self._now

    def monotonic(self) -> float:
        """Always the same instant."""
        return 0.0

    def sleep(self, seconds: float) -> None:
        """Nothing passes."""


class TestDoctorSeesEachFault:
    """Each check names its fault, and a sound installation has none."""

    def states(self, folder: Path, clock: int = 1_800_000_000) -> dict[str, State]:
        """The state of each check."""
        findings = examine(settings(folder, "simulated", environ={}), StoppedClock(clock))
        assert is_in_order(findings) is all(each.state is not State.FAILED for each in findings)
        return {each.check: each.state for each in findings}

    def test_a_sound_one(self, tmp_path: Path) -> None:
        assert {State.OK} == set(self.states(tmp_path).values())

    def test_a_clock_before_our_time(self, tmp_path: Path) -> None:
        assert State.FAILED is self.states(tmp_path, clock=0)["clock"]

    def test_an_open_folder(self, tmp_path: Path) -> None:
        (tmp_path / "surehand").mkdir(mode=0o755)

        assert State.WARNING is self.states(tmp_path)["folder"]

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.disk_usage", _little_space)

        assert State.FAILED is self.states(tmp_path)["free_space"]


class _Usage:
    free = 1024


def _little_space(_path: Path) -> _Usage:
    return _Usage()
