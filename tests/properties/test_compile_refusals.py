"""Bad recordings: each is refused with its step and a closed code, and its neighbour that is not bad is accepted."""

from collections.abc import Callable
from functools import partial

import pytest
from attrs import evolve
from returns.result import Failure, Success

from support.demonstrations import (
    JSON,
    Field,
    Play,
    Shape,
    Tape,
    Values,
    by_role,
    demonstrate,
    label,
    once,
    place,
    save,
)
from surehand.core.workflow.bundle import DialogAnswer, Key
from surehand.core.workflow.compile import CompileRefusal, RefusalCode, compile_recordings, saves_something
from surehand.core.workflow.compiler.refusals import SENTENCES
from surehand.core.workflow.recording import (
    Candidate,
    Clicked,
    Control,
    DialogSeen,
    FieldFacts,
    Happened,
    Pressed,
    Recording,
    Uploaded,
)
from surehand.core.workflow.route import GraphqlOperation, GraphqlRead

FIELDS = (
    Field(caption="Kind", control=Control.SELECT, options=("Routine", "Urgent")),
    Field(caption="Note", control=Control.TEXT),
)
SHAPE = Shape(fields=FIELDS)
VALUES = Values(texts=("Urgent", "Call back tomorrow"))
SAVE = partial(save, shape=SHAPE, values=VALUES)
FORM_PAGE = "/records/SYN-1042/notes"

#: Where events of the plain demonstration stand: what follows the two fields, and the save.
IN_FORM, AT_SAVE = 11, 11
#: After the save stands the page that follows it.
AFTER = 13


def codes(*recordings: Recording) -> list[tuple[RefusalCode, int | None]]:
    """The refusals of recordings, as codes and steps."""
    compiled = compile_recordings(recordings)
    return [(each.code, each.step) for each in compiled.failure()] if isinstance(compiled, Failure) else []


def played(play: Play, shape: Shape = SHAPE, values: Values = VALUES) -> Recording:
    """A demonstration with something beside it."""
    return demonstrate(shape, values, play)


def happens(what: str) -> Callable[[Tape], object]:
    """Something that a run cannot repeat."""
    return lambda tape: tape.do(Happened(what=what))  # type: ignore[arg-type]  # the names of the table below


def uploads(tape: Tape) -> None:
    """Choose a file."""
    tape.do(Uploaded(place=tape.here, candidates=once(label("Letter"))))


def presses(tape: Tape) -> None:
    """Use a shortcut."""
    tape.do(Pressed(place=tape.here, candidates=(), key="Control+k"))


def asks(form: str) -> Callable[[Tape], object]:
    """A dialog of this kind opens by itself."""
    return lambda tape: tape.do(DialogSeen(form=form, answer=DialogAnswer.ACCEPT))  # type: ignore[arg-type]  # as above


def asked_by_click(*forms: str) -> Callable[[Tape], object]:
    """A click opens dialogs of these kinds."""

    def play(tape: Tape) -> None:
        tape.click("Check")
        for form in forms:
            asks(form)(tape)

    return play


def saves_by_key(tape: Tape) -> None:
    """Press Enter in the last field."""
    tape.enter("Summary", "done", ended_by=Key.ENTER)
    tape.send("POST", FORM_PAGE)


def saves_by_shortcut(tape: Tape) -> None:
    """Use a shortcut that saves."""
    presses(tape)
    tape.send("POST", FORM_PAGE)


def double_clicks(tape: Tape) -> None:
    """Double-click on save."""
    tape.click("Save note", clicks=2)
    tape.send("POST", FORM_PAGE)
    tape.send("POST", FORM_PAGE)


def double_clicks_a_guarded_button(tape: Tape) -> None:
    """Double-click on a save that sends once."""
    tape.click("Save note", clicks=2)
    tape.send("POST", FORM_PAGE)


def clicks_twice(tape: Tape) -> None:
    """Click on save, and again a little later."""
    SAVE(tape)
    SAVE(tape)


def clicks_twice_sends_once(tape: Tape) -> None:
    """Click on save before it can save, and again."""
    tape.click("Save note")
    SAVE(tape)


def double_clicks_on_another_page(tape: Tape) -> None:
    """Double-click on a save that sends from the page that follows."""
    tape.click("Save note", clicks=2)
    tape.arrive(place("/sending", "Sending"))
    tape.send("POST", FORM_PAGE)


def saves_by_key_twice(tape: Tape) -> None:
    """Press Enter in the last field, and again."""
    saves_by_key(tape)
    tape.send("POST", FORM_PAGE)


def is_refused(tape: Tape) -> None:
    """The app does not take the record."""
    tape.click("Save note")
    tape.send("POST", FORM_PAGE, status_class=4)


def enters_elsewhere(tape: Tape) -> None:
    """Something is entered in a frame of another server."""
    here = tape.here
    tape.here = evolve(place("/card", "Card"), origin="https://pay.example")
    tape.enter("Card", "some words")
    tape.here = here


def sends(*writes: tuple[str, str]) -> Callable[[Tape], object]:
    """One click on save that sends several writes."""

    def play(tape: Tape) -> None:
        tape.click("Save note")
        for method, where in writes:
            tape.send(method, where, content_type=JSON, status_class=2)

    return play


def autosaves(tape: Tape) -> None:
    """The form writes to the save's own address while it is filled."""
    tape.send("POST", FORM_PAGE)


def not_unique(tape: Tape) -> None:
    """Click on one of two."""
    tape.click("Open", candidates=(Candidate(by_role("button", "Open"), 2),))


def unnamed_page(tape: Tape) -> None:
    """Enter something on a page that nothing tells from others."""
    tape.arrive(place("/bare"))
    tape.do(
        Clicked(
            place=tape.here,
            candidates=once(by_role("link", "Go on", "SYN-1042")),
            facts=FieldFacts(control=Control.LINK, caption="Go on"),
            row=("SYN-1042", "Go on"),
            headers=("Number", ""),
        )
    )
    tape.arrive(place("/records/SYN-1042/notes/new", "Add note"))


def types_a_secret(tape: Tape) -> None:
    """Type a secret into the form."""
    tape.click("Show code", control=Control.LINK)
    tape.secret("Code")


def double_clicks_something(tape: Tape) -> None:
    """Double-click on something that does not save."""
    tape.click("Expand", clicks=2)


def opens_a_tab_and_reloads(tape: Tape) -> None:
    """Two things at once."""
    happens("tab_opened")(tape)
    happens("reloaded")(tape)


BAD = [
    (Play(in_form=uploads), RefusalCode.FILE_UPLOAD, IN_FORM),
    (Play(in_form=happens("tab_opened")), RefusalCode.TWO_TABS, IN_FORM),
    (Play(in_form=happens("human_check")), RefusalCode.HUMAN_CHECK, IN_FORM),
    (Play(in_form=happens("reloaded")), RefusalCode.RELOADED, IN_FORM),
    (Play(after_save=happens("reloaded")), RefusalCode.RELOADED, AFTER),
    (Play(after_save=happens("went_back")), RefusalCode.WENT_BACK, AFTER),
    (Play(after_save=happens("tab_opened")), RefusalCode.TWO_TABS, AFTER),
    (Play(in_form=types_a_secret), RefusalCode.SECRET_AFTER_SIGN_IN, IN_FORM + 1),
    (Play(in_form=presses), RefusalCode.KEY_OUTSIDE_FIELD, IN_FORM),
    (Play(in_form=double_clicks_something), RefusalCode.CLICKED_TWICE, IN_FORM),
    (Play(in_form=asks("confirm")), RefusalCode.DIALOG_WITHOUT_CLICK, IN_FORM),
    (Play(in_form=asked_by_click("prompt")), RefusalCode.DIALOG_NOT_SUPPORTED, IN_FORM + 1),
    (Play(in_form=asked_by_click("beforeunload")), RefusalCode.DIALOG_NOT_SUPPORTED, IN_FORM + 1),
    (Play(in_form=asked_by_click("confirm", "alert")), RefusalCode.DIALOG_NOT_SUPPORTED, IN_FORM + 2),
    (Play(saves=double_clicks), RefusalCode.SAVE_CLICKED_TWICE, AT_SAVE),
    (Play(saves=double_clicks_a_guarded_button), RefusalCode.SAVE_CLICKED_TWICE, AT_SAVE),
    (Play(saves=clicks_twice), RefusalCode.SAVE_CLICKED_TWICE, AT_SAVE + 1),
    (Play(saves=clicks_twice_sends_once), RefusalCode.SAVE_CLICKED_TWICE, AT_SAVE),
    (Play(saves=saves_by_key), RefusalCode.SAVED_BY_KEY, AT_SAVE),
    (Play(saves=saves_by_key_twice), RefusalCode.SAVED_BY_KEY, AT_SAVE),
    (Play(saves=double_clicks_on_another_page), RefusalCode.SAVE_CLICKED_TWICE, AT_SAVE),
    (Play(saves=saves_by_shortcut), RefusalCode.SAVED_BY_KEY, AT_SAVE),
    (Play(saves=lambda tape: tape.click("Save note")), RefusalCode.NO_SAVE, None),
    (Play(saves=is_refused), RefusalCode.SAVE_FAILED, AT_SAVE),
    (
        Play(saves=sends(("POST", "/api/notes/78"), ("POST", "/api/notes/check"))),
        RefusalCode.SEVERAL_WRITES_AT_SAVE,
        AT_SAVE,
    ),
    (Play(saves=sends(("POST", "/api/notes"), ("POST", "/api/notes"))), RefusalCode.SAVE_ROUTE_NOT_UNIQUE, AT_SAVE),
    (Play(in_form=autosaves), RefusalCode.SAVE_ROUTE_NOT_UNIQUE, AT_SAVE),
    (Play(saves=sends(("PROPFIND", "/notes"))), RefusalCode.WRITE_NOT_SUPPORTED, AT_SAVE),
    (Play(in_form=enters_elsewhere), RefusalCode.OTHER_SERVER, IN_FORM),
    (Play(in_form=not_unique), RefusalCode.TARGET_NOT_UNIQUE, IN_FORM),
    (Play(in_form=unnamed_page), RefusalCode.PAGE_NOT_RECOGNISABLE, IN_FORM + 1),
]

GOOD = [
    Play(),
    Play(at_start=lambda tape: tape.click("Help")),
    Play(in_form=asked_by_click("confirm")),
    Play(in_form=asked_by_click("alert")),
    Play(after_save=asks("beforeunload")),
    Play(after_save=presses),
    Play(after_save=double_clicks_something),
    Play(after_save=lambda tape: tape.enter("Search", "SYN-1042", ended_by=Key.ENTER)),
    Play(saves=sends(("POST", "/api/notes"), ("GET", "/api/notes"))),
    Play(saves=sends(("POST", "/api/notes"), ("POST", "/api/letters"))),
    Play(in_form=lambda tape: tape.send("POST", f"{FORM_PAGE}/drafts")),
    Play(in_form=lambda tape: tape.send("PROPFIND", place("/dav"), status_class=2) and None),
]


class TestBadRecordings:
    """What a run could not repeat, or would do twice, or could not prove, is refused by its step and a code."""

    @pytest.mark.parametrize(("play", "code", "step"), BAD, ids=lambda each: getattr(each, "value", None))
    def test_it_is_refused(self, play: Play, code: RefusalCode, step: int | None) -> None:
        assert codes(played(play)) == [(code, step)]

    @pytest.mark.parametrize("play", GOOD[:-1])
    def test_its_neighbour_is_accepted(self, play: Play) -> None:
        assert codes(played(play)) == []

    def test_everything_that_is_wrong_is_named(self) -> None:
        assert codes(played(Play(in_form=opens_a_tab_and_reloads))) == [
            (RefusalCode.TWO_TABS, IN_FORM),
            (RefusalCode.RELOADED, IN_FORM + 1),
        ]

    def test_a_write_that_no_route_can_name_is_refused_wherever_it_is(self) -> None:
        assert codes(played(GOOD[-1])) == [(RefusalCode.WRITE_NOT_SUPPORTED, IN_FORM - 1)]

    @pytest.mark.parametrize(
        ("play", "expected"),
        [
            (Play(), True),
            (Play(saves=saves_by_key), True),
            (Play(saves=clicks_twice), True),
            (Play(saves=lambda tape: tape.click("Save note")), False),
        ],
    )
    def test_a_recording_without_a_save_is_known_before_it_is_compiled(self, play: Play, expected: bool) -> None:
        assert saves_something(played(play)) == expected

    def test_nothing_is_nothing(self) -> None:
        assert codes() == [(RefusalCode.NO_RECORDING, None)]

    def test_an_empty_recording_saves_nothing(self) -> None:
        assert codes(Tape().recording()) == [(RefusalCode.NO_SAVE, None)]

    def test_a_task_without_an_entry_is_refused(self) -> None:
        assert codes(demonstrate(evolve(SHAPE, fields=()), Values(texts=()))) == [(RefusalCode.NOTHING_ENTERED, 9)]

    def test_a_page_that_shows_too_little_is_refused(self) -> None:
        recording = evolve(
            demonstrate(evolve(SHAPE, row=False, fields=FIELDS[:1]), Values(texts=("Urgent",))), pages=()
        )

        assert codes(recording) == [(RefusalCode.IDENTITY_NOT_SHOWN, 8)]

    def test_a_changed_record_that_only_its_new_texts_name_is_refused(self) -> None:
        shape = evolve(SHAPE, row=False, changes=True)

        assert codes(demonstrate(shape, VALUES)) == [(RefusalCode.CHANGED_RECORD_NOT_NAMED, 9)]
        assert codes(demonstrate(evolve(shape, row=True), VALUES)) == []

    def test_several_options_of_one_list_are_refused(self) -> None:
        def tags(tape: Tape) -> None:
            tape.choose("Tags", "billing", ("billing", "urgent"), control=Control.LIST)
            tape.choose("Tags", "urgent", ("billing", "urgent"), control=Control.LIST)

        assert codes(played(Play(in_form=tags))) == [(RefusalCode.SEVERAL_CHOICES, IN_FORM + 1)]

    def test_another_option_of_a_native_list_counts_as_a_correction(self) -> None:
        def corrects(tape: Tape) -> None:
            tape.choose("Kind", "Routine", ("Routine", "Urgent"))

        assert codes(played(Play(in_form=corrects))) == []

    def test_more_than_a_workflow_holds_is_refused(self) -> None:
        def clicks(tape: Tape) -> None:
            for _ in range(200):
                tape.click("Next")

        assert {code for code, _ in codes(played(Play(in_form=clicks)))} == {RefusalCode.TOO_LARGE}

    def test_more_inputs_than_a_workflow_holds_are_refused(self) -> None:
        fields = tuple(Field(caption=f"Note {'abcdefghij'[n % 10]}{'klmnop'[n // 10]}") for n in range(51))
        texts = tuple(f"text number {n}" for n in range(51))

        assert codes(demonstrate(Shape(fields=fields), Values(texts=texts))) == [(RefusalCode.TOO_LARGE, 60)]


class TestOneUrlForEverything:
    """Where one address serves reads and writes, the operation tells the save from what only asks."""

    @staticmethod
    def play(*names: str) -> Play:
        def asks_server(tape: Tape) -> None:
            tape.send("POST", "/graphql", content_type=JSON, status_class=2, operation=GraphqlRead())

        def saves(tape: Tape) -> None:
            tape.click("Save note")
            for name in names:
                tape.send("POST", "/graphql", content_type=JSON, status_class=2, operation=GraphqlOperation(name))
            asks_server(tape)

        return Play(in_form=asks_server, saves=saves)

    def test_a_query_is_no_second_write(self) -> None:
        assert codes(played(self.play("CreateNote"))) == []

    def test_two_mutations_are_told_apart(self) -> None:
        assert codes(played(self.play("CreateNote", "SendLetter"))) == []

    def test_the_same_mutation_twice_is_refused(self) -> None:
        assert codes(played(self.play("CreateNote", "CreateNote"))) == [(RefusalCode.SAVE_ROUTE_NOT_UNIQUE, AT_SAVE)]

    def test_the_same_without_an_operation_is_refused(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            tape.send("POST", "/graphql", content_type=JSON, status_class=2)

        play = Play(in_form=lambda tape: tape.send("POST", "/graphql", content_type=JSON), saves=saves)

        assert codes(played(play)) == [(RefusalCode.SAVE_ROUTE_NOT_UNIQUE, AT_SAVE)]


class TestSeveralRecordings:
    """Recordings that do not show the same task are refused at the step where they part."""

    def test_another_app_is_refused(self) -> None:
        other = evolve(demonstrate(SHAPE, VALUES), origin="https://elsewhere.example")

        assert compile_recordings((demonstrate(SHAPE, VALUES), other)) == Failure(
            (CompileRefusal(RefusalCode.OTHER_APP, None, 1),)
        )

    def test_one_step_more_is_refused_there(self) -> None:
        longer = played(Play(in_form=lambda tape: tape.click("Check")))

        assert compile_recordings((demonstrate(SHAPE, VALUES), longer)) == Failure(
            (CompileRefusal(RefusalCode.DEMONSTRATIONS_DIFFER, IN_FORM, 1),)
        )

    def test_one_step_less_is_refused_at_the_save(self) -> None:
        longer = played(Play(in_form=lambda tape: tape.click("Check")))

        assert compile_recordings((longer, demonstrate(SHAPE, VALUES))) == Failure(
            (CompileRefusal(RefusalCode.DEMONSTRATIONS_DIFFER, AT_SAVE, 1),)
        )

    def test_another_kind_of_step_is_refused_there(self) -> None:
        one = played(Play(in_form=lambda tape: tape.click("Check")))
        other = played(Play(in_form=lambda tape: tape.check("Check", checked=True)))

        assert compile_recordings((one, other)) == Failure(
            (CompileRefusal(RefusalCode.DEMONSTRATIONS_DIFFER, IN_FORM, 1),)
        )

    def test_each_recording_is_judged(self) -> None:
        assert compile_recordings((demonstrate(SHAPE, VALUES), played(Play(in_form=uploads)))) == Failure(
            (CompileRefusal(RefusalCode.FILE_UPLOAD, IN_FORM, 1),)
        )

    def test_two_alike_are_accepted(self) -> None:
        assert isinstance(compile_recordings((demonstrate(SHAPE, VALUES), demonstrate(SHAPE, VALUES))), Success)


class TestSentences:
    """Every refusal has a sentence that ends, and none repeats another."""

    def test_each_code_has_its_own(self) -> None:
        assert set(SENTENCES) == set(RefusalCode)
        assert len(set(SENTENCES.values())) == len(RefusalCode)
        assert all(CompileRefusal(code).sentence.endswith(".") for code in RefusalCode)
