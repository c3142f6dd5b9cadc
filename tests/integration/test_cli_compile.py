"""``surehand compile``: from protected recordings to a folder that verifies, with every question answered."""

import json
from pathlib import Path

import pytest

from support.command_line import Told, surehand
from support.demonstration_strategies import answered
from support.demonstrations import Field, Play, Shape, Tape, Values, demonstrate
from support.terminal import at_terminal
from surehand.core.workflow.compile import compile_recordings
from surehand.core.workflow.recording import Control, Recording, Uploaded
from surehand.shell.authoring.protected import find_recording_key, write_recording

#: Texts that must stand nowhere in the clear.
CANARIES = ("canaryzz", "SYN-1042", "Ada Example")

SHAPE = Shape(
    fields=(
        Field(caption="Kind", control=Control.SELECT, options=("Routine", "Urgent")),
        Field(caption="Note", control=Control.TEXT),
    ),
    presence=True,
)
VALUES = Values(texts=("Urgent", "canaryzz calls back"))
#: The question about the write that every page sends.
PRESENCE = next(
    each.id
    for each in compile_recordings((demonstrate(SHAPE, VALUES),)).unwrap().questions
    if "/presence" in each.subject
)
OTHERS = Values(texts=("Routine", "canaryzz is fine"), row=("SYN-1043", "Ben Example", "1902-04-15"), key="78")


def state(home: Path) -> Path:
    """The state folder of a home, where the key of recordings lies."""
    return home / ".local" / "state" / "surehand" / "surehand"


def record(home: Path, name: str, recording: Recording) -> None:
    """Put a recording where a recorder would."""
    write_recording(home / name, recording, find_recording_key(state(home), {}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a good recording."""
    state(tmp_path).mkdir(parents=True, mode=0o700)
    record(tmp_path, "note", demonstrate(SHAPE, VALUES))
    return tmp_path


def written(answers: dict[str, str]) -> str:
    """A file of answers."""
    return "".join(f'"{name}" = "{answer}"\n' for name, answer in answers.items())


def good_answers(*recordings: Recording) -> dict[str, str]:
    """An answer to every question that is asked."""
    return answered(compile_recordings(recordings).unwrap())


def holds_canary(*texts: str) -> bool:
    """Whether something that was typed or read stands in a text."""
    return any(canary in text for canary in CANARIES for text in texts)


class TestQuestions:
    """As long as a question is open nothing is written; the questions are printed, without any recorded text."""

    def test_they_are_printed_as_json(self, home: Path) -> None:
        told = surehand(home, "compile", "note", "--out", "made", "--json")
        printed = json.loads(told.out)

        assert (told.code, printed["status"]) == (3, "questions")
        assert [each["id"] for each in printed["questions"]] == [
            each.id for each in compile_recordings((demonstrate(SHAPE, VALUES),)).unwrap().questions
        ]
        assert {each["code"] for each in printed["problems"]} == {"missing"}
        assert not (home / "made").exists()
        assert not holds_canary(told.out, told.err)

    def test_they_are_printed_for_a_person(self, home: Path) -> None:
        told = surehand(home, "compile", "note", "--out", "made")

        assert told.code == 3
        assert "Where is the saved record read after each save?" in told.out
        assert "read_back.source is not answered" in told.out
        assert not holds_canary(told.out, told.err)

    def test_only_what_is_open_is_printed_again(self, home: Path) -> None:
        answers = good_answers(demonstrate(SHAPE, VALUES))
        del answers["identity.unique"]
        (home / "answers.toml").write_text(written(answers))
        told = surehand(home, "compile", "note", "--out", "made", "--answers", "answers.toml")

        assert (told.code, told.out.count(" is not answered"), told.out.count("[")) == (3, 1, 1)

    @pytest.mark.parametrize(
        ("wrong", "expected"),
        [
            ({PRESENCE: "is_a_save"}, f"{PRESENCE} is answered so that no workflow can be made"),
            ({PRESENCE: "perhaps"}, f"{PRESENCE} has another answer than its options"),
            ({"write.other": "let_through"}, "write.other is no question of this draft"),
            (
                {"row.number.value": "constant", "shown.patient.value": "leave_out", "shown.born.value": "leave_out"},
                "bundle contradicts the other answers (the identity has fewer than two fields)",
            ),
        ],
    )
    def test_a_wrong_answer_is_named(self, home: Path, wrong: dict[str, str], expected: str) -> None:
        (home / "answers.toml").write_text(written(good_answers(demonstrate(SHAPE, VALUES)) | wrong))
        told = surehand(home, "compile", "note", "--out", "made", "--answers", "answers.toml")

        assert (told.code, expected in told.out, (home / "made").exists()) == (3, True, False)


class TestAWorkflow:
    """Answers make a folder that verifies and in which no recorded text stands."""

    @staticmethod
    def compiled(home: Path, *more: str) -> Told:
        (home / "answers.toml").write_text(written(good_answers(demonstrate(SHAPE, VALUES))))
        return surehand(home, "compile", "note", "--out", "flows/add_note", "--answers", "answers.toml", *more)

    def test_it_is_written_and_verifies(self, home: Path) -> None:
        told = self.compiled(home)

        assert (told.code, told.err) == (0, "")
        assert "surehand certify flows/add_note" in told.out
        assert surehand(home, "bundle", "verify", "flows/add_note").code == 0

    def test_nothing_that_was_recorded_stands_in_it(self, home: Path) -> None:
        told = self.compiled(home)
        files = [path.read_text() for path in (home / "flows" / "add_note").iterdir()]

        assert not holds_canary(told.out, told.err, *files)
        assert holds_canary(json.dumps(VALUES.texts))

    def test_it_is_told_as_json(self, home: Path) -> None:
        printed = json.loads(self.compiled(home, "--json", "--name", "write_note").out)

        assert (printed["status"], printed["workflow"]) == ("written", "write_note")
        assert printed["inputs"] == ["number", "kind", "note", "patient", "born"]

    def test_several_recordings_ask_less(self, home: Path) -> None:
        record(home, "again", demonstrate(SHAPE, OTHERS))
        one = json.loads(surehand(home, "compile", "note", "--out", "made", "--json").out)
        two = json.loads(surehand(home, "compile", "note", "again", "--out", "made", "--json").out)

        assert {each["id"] for each in two["questions"]} < {each["id"] for each in one["questions"]}

    def test_dotted_names_mean_the_same_in_a_file_of_answers(self, home: Path) -> None:
        answers = good_answers(demonstrate(SHAPE, VALUES))
        (home / "dotted.toml").write_text("".join(f'{name} = "{answer}"\n' for name, answer in answers.items()))

        assert surehand(home, "compile", "note", "--out", "made", "--answers", "dotted.toml").code == 0

    def test_another_folder_is_not_written_over(self, home: Path) -> None:
        (home / "flows" / "add_note").mkdir(parents=True)
        (home / "flows" / "add_note" / "letter.txt").write_text("mine")
        told = self.compiled(home)

        assert (told.code, (home / "flows" / "add_note" / "letter.txt").read_text()) == (1, "mine")


class TestAtATerminal:
    """A person is asked each question once, and only what the answers before it leave open."""

    def test_answers_make_a_workflow(self, home: Path) -> None:
        answers = good_answers(demonstrate(SHAPE, VALUES))
        typed = tuple((f"[{name}]", answer) for name, answer in answers.items())
        shown = at_terminal(home, "compile", "note", "--out", "made", answers=typed)

        assert (shown.code, "written    add_note" in shown.screen) == (0, True)
        assert "read_back.connection" not in shown.screen
        assert not holds_canary(shown.screen)

    def test_an_answer_out_of_the_options_is_asked_again(self, home: Path) -> None:
        first, *rest = good_answers(demonstrate(SHAPE, VALUES)).items()
        typed = ((f"[{first[0]}]", "perhaps"), ("available options", first[1]), *((f"[{n}]", a) for n, a in rest))

        assert at_terminal(home, "compile", "note", "--out", "made", answers=typed).code == 0


class TestRefusals:
    """What cannot become a workflow is refused by a code, a place and a sentence, and leaves nothing behind."""

    @staticmethod
    def bad() -> Recording:
        def uploads(tape: Tape) -> None:
            tape.do(Uploaded(place=tape.here, candidates=()))

        return demonstrate(SHAPE, VALUES, Play(in_form=uploads))

    def test_a_bad_recording(self, home: Path) -> None:
        record(home, "bad", self.bad())
        told = surehand(home, "compile", "bad", "--out", "made")

        assert told.code == 1
        assert "refused  file_upload" in told.out
        assert "recording 1, event 12: A file is uploaded." in told.out
        assert not (home / "made").exists()

    def test_a_bad_recording_as_json(self, home: Path) -> None:
        record(home, "bad", self.bad())
        told = surehand(home, "compile", "note", "bad", "--out", "made", "--json")
        refusals = json.loads(told.out)["refusals"]

        assert [(each["code"], each["recording"], each["step"]) for each in refusals] == [("file_upload", 1, 11)]
        assert not holds_canary(told.out)

    def test_a_recording_that_is_missing(self, home: Path) -> None:
        told = surehand(home, "compile", "nowhere", "--out", "made")

        assert (told.code, told.err) == (
            1,
            "Error: nowhere cannot be read as a recording (missing): there is none in it; surehand record makes one.\n",
        )

    def test_a_recording_that_is_damaged(self, home: Path) -> None:
        (home / "note" / "recording.bin").write_bytes(b"x" * 90)
        told = surehand(home, "compile", "note", "--out", "made")

        assert (
            told.code,
            told.err.startswith("Error: note cannot be read as a recording (does_not_open): its key"),
        ) == (
            1,
            True,
        )

    @pytest.mark.parametrize(
        ("arguments", "content"),
        [
            (("--name", "Add note"), ""),
            (("--answers", "answers.toml"), "no toml at all ["),
            (("--answers", "answers.toml"), '"identity.unique" = 7\n'),
            (("--answers", "nowhere.toml"), ""),
        ],
    )
    def test_bad_usage(self, home: Path, arguments: tuple[str, ...], content: str) -> None:
        (home / "answers.toml").write_text(content)

        assert surehand(home, "compile", "note", "--out", "made", *arguments).code == 2
