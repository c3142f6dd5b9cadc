"""What a person is told who names a file that cannot be read as what it was named for.

Laws:

- It is said which file, what is wrong with it, and where in it; nothing that stands in it is repeated.
- Values that were given in the place of a file are not repeated either.
- A file that is refused begins and writes nothing.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from support.command_line import Told, surehand
from surehand.shell.files import UnsafeFileError
from surehand.shell.reading import UnreadableError, no_larger, reading

CANARY = "CANARY7Q"


@frozen
class Reader:
    """An option or argument that takes a file.

    Args:
        command: The command, with the word ``FILE`` in the place of the file.
        name: A name that the file may have.
        code: How the command ends when its file cannot be read.
    """

    command: tuple[str, ...]
    name: str
    code: int = 2

    def asked(self, home: Path) -> Told:
        """The command, asked of its file."""
        return surehand(home, *(self.name if word == "FILE" else word for word in self.command))


INPUTS = ("--inputs", "FILE", "--request-id", "r")
READERS = {
    "inputs of a run": Reader(("run", "add_triage_note", *INPUTS, "--sandbox-engine", "simulated"), "entry.json"),
    "a plan": Reader(("plan", "run", "FILE", "--request-id", "r"), "plan.toml"),
    "a plan in JSON": Reader(("plan", "run", "FILE", "--request-id", "r"), "plan.json"),
    "a plan to check": Reader(("plan", "check", "FILE"), "plan.toml", code=1),
    "a plan to draw": Reader(("plan", "graph", "FILE"), "plan.toml"),
}

#: What is written into the file, and what is said of it, in TOML and in JSON.
BROKEN: dict[str, tuple[bytes, str, str]] = {
    "a syntax error": (f'\n{{"a": {CANARY}'.encode(), "line 2, column 1 is not TOML", "line 2, column 7 is not JSON"),
    "no UTF-8": (CANARY.encode() + b"\xff\xfe\x80", "it is not UTF-8", "it is not UTF-8"),
    "nested too deeply": (b"a = " + b"[" * 9000, "it is nested too deeply", "line 1, column 1 is not JSON"),
}

every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=list(READERS))


class TestTheFileIsNamedAndWhatIsWrongWithIt:
    """Each command says which file it was, and what to mend in it."""

    @every_reader
    def test_one_that_is_not_there(self, tmp_path: Path, reader: Reader) -> None:
        told = reader.asked(tmp_path)

        assert (2, "") == (told.code, told.out)
        assert reader.name in told.err
        assert "does not exist" in told.err or "there is no such file" in told.err

    @every_reader
    def test_a_folder(self, tmp_path: Path, reader: Reader) -> None:
        (tmp_path / reader.name).mkdir()
        told = reader.asked(tmp_path)

        assert (2, "") == (told.code, told.out)
        assert reader.name in told.err
        assert "is a directory" in told.err or "it is a folder" in told.err

    @every_reader
    @pytest.mark.parametrize("fault", BROKEN)
    def test_one_that_is_broken(self, tmp_path: Path, reader: Reader, fault: str) -> None:
        content, toml, json = BROKEN[fault]
        (tmp_path / reader.name).write_bytes(content)
        told = reader.asked(tmp_path)

        assert reader.code == told.code
        assert f"{reader.name}: " in told.out + told.err
        assert (json if reader.name.endswith(".json") else toml) in told.out + told.err
        assert CANARY not in told.out + told.err
        assert [reader.name] == [each.name for each in tmp_path.iterdir()]

    @pytest.mark.parametrize("reader", ["inputs of a run", "a plan in JSON"])
    @pytest.mark.parametrize("text", ['{"a": 1, "a": "CANARY7Q"}', '{"CANARY7Q": NaN}'])
    def test_one_that_every_reader_takes_otherwise(self, tmp_path: Path, reader: str, text: str) -> None:
        (tmp_path / READERS[reader].name).write_text(text)
        told = READERS[reader].asked(tmp_path)

        assert (2, "", False) == (told.code, told.out, CANARY in told.err)
        assert "a name stands in it twice, or a number that cannot be read" in told.err

    def test_one_that_begins_with_a_mark_of_its_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "plan.toml").write_bytes(b"\xef\xbb\xbf" + PLAN.read_bytes())

        assert "The plan is in order.\n" == READERS["a plan to check"].asked(tmp_path).out

    def test_one_that_is_empty(self, tmp_path: Path) -> None:
        (tmp_path / "entry.json").touch()

        assert "entry.json: it is empty" in READERS["inputs of a run"].asked(tmp_path).err

    def test_standard_input_is_called_so(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "run", "add_triage_note", "--inputs", "-", "--request-id", "r", stdin="[]")

        assert (2, True) == (told.code, "standard input: it holds JSON, but no object" in told.err)

    def test_a_plan_under_another_name(self, tmp_path: Path) -> None:
        (tmp_path / "plan.yaml").touch()
        told = surehand(tmp_path, "plan", "run", "plan.yaml", "--request-id", "r")

        assert (2, True) == (told.code, "plan.yaml: a plan is a file that ends in .toml or .json" in told.err)

    def test_a_settings_file(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text(f"runs_dir = {CANARY}")
        told = surehand(tmp_path, "runs", "list", SUREHAND_CONFIG="config.toml")

        assert "Error: the settings file cannot be read: line 1, column 12 is not TOML\n" == told.err

    def test_a_key_file(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "bundle", "verify", "own", "--key-file", "nowhere")

        assert (2, "Error: the key file cannot be read: there is no such file\n") == (told.code, told.err)


class TestValuesAreNoFiles:
    """Whoever gives values in the place of a file is told where they belong, and they are not repeated."""

    @pytest.mark.parametrize("values", [f'{{"note": "{CANARY}"}}', f"note={CANARY}", f"a\n{CANARY}"])
    @pytest.mark.parametrize("command", [("run", "add_triage_note"), ("plan", "run", "plan.toml")])
    def test_they_are_not_repeated(self, tmp_path: Path, command: tuple[str, ...], values: str) -> None:
        (tmp_path / "plan.toml").write_bytes(PLAN.read_bytes())
        told = surehand(tmp_path, *command, "--inputs", values, "--request-id", "r")

        assert (2, "", False) == (told.code, told.out, CANARY in told.err)
        assert "name a file, or - for standard input" in told.err

    def test_a_file_may_have_such_a_name(self, tmp_path: Path) -> None:
        (tmp_path / "a=b").write_text("[]")
        told = surehand(tmp_path, "run", "add_triage_note", "--inputs", "a=b", "--request-id", "r")

        assert "a=b: it holds JSON, but no object" in told.err


PLAN = Path(__file__).parents[2] / "docs" / "how-to" / "plans" / "triage_two_notes.toml"


def raising(error: Exception) -> Callable[[], None]:
    """What raises the error."""

    def fails() -> None:
        raise error

    return fails


class TestWhatIsWrongIsToldByItsKind:
    """The kind of an error chooses the sentence; what is no fault of a file is raised as it is."""

    @pytest.mark.parametrize(
        ("error", "sentence"),
        [
            (FileNotFoundError(CANARY), "there is no such file"),
            (NotADirectoryError(CANARY), "there is no such file"),
            (IsADirectoryError(CANARY), "it is a folder"),
            (PermissionError(CANARY), "you may not read it"),
            (OSError(CANARY), "the file system refuses"),
            (UnsafeFileError(CANARY), "it is a folder, a symbolic link or something else that is no file of its own"),
            (RecursionError(CANARY), "it is nested too deeply"),
            (ValueError(CANARY), "a name stands in it twice, or a number that cannot be read"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
    )
    def test_each(self, error: Exception, sentence: str) -> None:
        with pytest.raises(UnreadableError) as told, reading():
            raising(error)()

        assert sentence == str(told.value)

    def test_a_bug_stays_one(self) -> None:
        with pytest.raises(KeyError), reading():
            raising(KeyError(CANARY))()

    def test_the_limit_is_the_last_that_fits(self) -> None:
        assert b"1234" == no_larger(b"1234", 4)
        with pytest.raises(UnreadableError, match="too large"):
            no_larger(b"12345", 4)
