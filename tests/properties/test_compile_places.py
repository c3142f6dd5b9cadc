"""Addresses, pages, targets and writes of a workflow: as narrow as the recordings prove, and never by a value."""

from functools import partial

import pytest
from attrs import evolve
from returns.result import Success

from support.demonstration_strategies import all_answers, answered, bundle_of
from support.demonstrations import (
    JSON,
    ORIGIN,
    Field,
    Play,
    Shape,
    Tape,
    Values,
    by_role,
    by_test_id,
    demonstrate,
    label,
    once,
    place,
)
from surehand.core.workflow.bundle import (
    Bundle,
    ChooseStep,
    ClickStep,
    DialogAnswer,
    Effect,
    Entry,
    FillStep,
    Key,
    OpenStep,
    Rule,
    SearchBy,
)
from surehand.core.workflow.commands import Open
from surehand.core.workflow.compile import (
    AnswerCode,
    Draft,
    EvidenceCode,
    Option,
    Question,
    RefusalCode,
    compile_recordings,
    confirm,
)
from surehand.core.workflow.compiler.writes import may_add
from surehand.core.workflow.recording import (
    Candidate,
    Control,
    Exchange,
    Known,
    MemberSeen,
    PageSeen,
    Place,
    Recording,
    Showing,
)
from surehand.core.workflow.replay import Act, compile_plan
from surehand.core.workflow.route import FormField, GraphqlOperation, GraphqlRead, JsonMember, Operation, WriteRoute
from surehand.core.workflow.source import JsonRecords, PageRecords, RecordPage
from surehand.core.workflow.target import Constant, FromInput, PageGate, QueryPart, Target, TargetKind, Within

FIELDS = (Field(caption="Note", control=Control.TEXT), Field(caption="Reporter"))
SHAPE = Shape(fields=FIELDS, sign_in=False, row=False, reading="json")
VALUES = Values(texts=("Call back tomorrow", "Nurse Two"))
ROW_SHAPE = evolve(SHAPE, row=True)


def draft_of(*recordings: Recording) -> Draft:
    """The draft of good recordings."""
    compiled = compile_recordings(recordings)
    assert isinstance(compiled, Success), compiled
    draft: Draft = compiled.unwrap()
    return draft


def bundle(*recordings: Recording, **wanted: str) -> Bundle:
    """The bundle of good recordings with the first answers, or the wanted ones."""
    confirmed = bundle_of(draft_of(*recordings), **wanted)
    assert isinstance(confirmed, Success), confirmed
    made: Bundle = confirmed.unwrap()
    return made


def played(play: Play, shape: Shape = SHAPE, values: Values = VALUES) -> Recording:
    """A demonstration with something beside it."""
    return demonstrate(shape, values, play)


def codes(*recordings: Recording) -> list[RefusalCode]:
    """The codes of refusals."""
    return [each.code for each in compile_recordings(recordings).failure()]


def starts_at(where: Place) -> Play:
    """The task begins at another address, opened by hand."""
    return Play(at_start=lambda tape: tape.open(where))


def asked_about(draft: Draft, subject: str) -> Question:
    """The one question about this."""
    found = [each for each in draft.questions if each.subject == subject]
    assert len(found) == 1, [each.id for each in draft.questions]
    return found[0]


def opened(made: Bundle) -> list[str]:
    """The addresses that a workflow opens."""
    return [step.path for step in made.steps if isinstance(step, OpenStep)]


class TestOpenedAddresses:
    """An address that is opened holds the app's own words; an id in it is an input, unless a person says otherwise."""

    def test_words_stay(self) -> None:
        assert opened(bundle(played(starts_at(place("/ward/notes", "Notes", view="open"))))) == [
            "/ward/notes?view=open"
        ]

    def test_an_id_is_asked_about(self) -> None:
        recording = played(starts_at(place("/wards/17/notes", "Notes")))

        assert opened(bundle(recording)) == ["/wards/{wards_in_address}/notes"]
        assert opened(bundle(recording, **{"address.wards_in_address.value": "constant"})) == ["/wards/17/notes"]

    def test_an_id_at_the_root_is_asked_about_too(self) -> None:
        assert opened(bundle(played(starts_at(place("/17", "Notes"))))) == ["/{in_address}"]

    def test_an_id_in_the_query_may_be_left_out(self) -> None:
        recording = played(starts_at(place("/notes", "Notes", ward="17", view="open")))

        assert opened(bundle(recording)) == ["/notes?ward={ward_in_address}&view=open"]
        assert opened(bundle(recording, **{"address.ward_in_address.value": "leave_out"})) == ["/notes?view=open"]

    def test_a_query_of_nothing_but_what_is_left_out_is_none(self) -> None:
        recording = played(starts_at(place("/notes", "Notes", ward="17")))

        assert opened(bundle(recording, **{"address.ward_in_address.value": "leave_out"})) == ["/notes"]

    def test_ids_that_differ_are_inputs(self) -> None:
        two = [played(starts_at(place(f"/wards/{ward}", "Ward"))) for ward in ("17", "18")]

        assert opened(bundle(*two)) == ["/wards/{wards_in_address}"]

    def test_a_name_of_the_row_before_is_used_again(self) -> None:
        play = Play(in_form=lambda tape: tape.open(place("/records/SYN-1042/notes/new", "Add note")))

        assert opened(bundle(played(play, ROW_SHAPE)))[-1] == "/records/{number}/notes/new"

    def test_equal_ids_in_several_places_are_asked_about_one_by_one(self) -> None:
        recording = played(starts_at(place("/projects/1/data", "Data", tab="1", task="1")))
        answers = {"address.projects_in_address.value": "constant", "address.tab_in_address.value": "constant"}

        assert opened(bundle(recording)) == [
            "/projects/{projects_in_address}/data?tab={tab_in_address}&task={task_in_address}"
        ]
        assert opened(bundle(recording, **answers)) == ["/projects/1/data?tab=1&task={task_in_address}"]

    @pytest.mark.parametrize(
        ("saved_to", "route"),
        [
            ("/api/tasks/1/notes", "/api/tasks/{task_in_address}/notes"),
            ("/api/projects/1/notes", "/api/projects/{projects_in_address}/notes"),
            ("/api/beds/1/notes", "/api/beds/*/notes"),
        ],
    )
    def test_a_short_id_means_a_place_that_is_called_like_its_own(self, saved_to: str, route: str) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            tape.send("POST", saved_to)

        start = starts_at(place("/projects/1/data", "Data", tab="1", task="1"))

        assert bundle(played(evolve(start, saves=saves))).save.route.path == route

    def test_a_long_id_means_any_place(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            tape.send("POST", "/api/beds/SYN-1042/notes")

        made = bundle(played(evolve(starts_at(place("/wards/SYN-1042/notes", "Notes")), saves=saves)))

        assert made.save.route.path == "/api/beds/{wards_in_address}/notes"

    @pytest.mark.parametrize(
        ("fragment", "expected"),
        [
            ("/notes/new", "/notes/new"),
            ("!/wards/17/notes", "!/wards/{wards_in_address}/notes"),
            ("tab_notes", "tab_notes"),
            ("entry-8123", None),
            ("", None),
        ],
    )
    def test_what_follows_the_hash_is_opened_too(self, fragment: str, expected: str | None) -> None:
        made = bundle(played(starts_at(place("/app", "Notes", fragment=fragment))))

        assert [(step.path, step.fragment) for step in made.steps if isinstance(step, OpenStep)] == [("/app", expected)]

    def test_an_input_behind_the_hash_stays_one_piece_of_it(self) -> None:
        made = bundle(played(starts_at(place("/app", "Notes", fragment="/wards/17"))))
        given = {"wards_in_address": "a b#c", "note": "x", "reporter": "y"}
        opens = [item.command for item in compile_plan(made, given) if isinstance(item, Act)]

        assert [each.path for each in opens if isinstance(each, Open)] == ["/app#/wards/a%20b%23c"]

    def test_an_id_behind_the_hash_may_be_constant(self) -> None:
        recording = played(starts_at(place("/app", "Notes", fragment="/wards/17")))
        made = bundle(recording, **{"address.wards_in_address.value": "constant"})

        assert [step.fragment for step in made.steps if isinstance(step, OpenStep)] == ["/wards/17"]

    def test_a_member_that_is_there_twice_is_left_out(self) -> None:
        twice = evolve(place("/notes"), query=(QueryPart("tag", "a"), QueryPart("tag", "b"), QueryPart("view", "open")))

        assert opened(bundle(played(starts_at(twice)))) == ["/notes?view=open"]

    def test_addresses_of_different_forms_differ(self) -> None:
        two = [played(starts_at(place(path, "Ward"))) for path in ("/wards/17", "/wards/17/notes")]

        assert codes(*two)[0] == RefusalCode.DEMONSTRATIONS_DIFFER

    def test_what_was_looked_at_before_an_address_was_opened_is_no_step(self) -> None:
        def looks_around(tape: Tape) -> None:
            tape.click("Close welcome")
            tape.open(place("/notes", "Notes"))

        assert [step.id for step in bundle(played(Play(at_start=looks_around))).steps][:2] == [
            "open_page",
            "click_add_note",
        ]

    def test_a_filter_that_was_entered_before_stays(self) -> None:
        def filters(tape: Tape) -> None:
            tape.enter("Ward", "Intensive care")
            tape.open(place("/notes", "Notes"))

        assert [
            step.id
            for step in bundle(played(Play(at_start=filters)), **{"field.ward.read_back": "not_part_of_record"}).steps
        ][:3] == ["open_page", "enter_ward", "open_page_2"]


class TestGates:
    """A page is known by its path, by what tells it from others of the same path, and by one landmark."""

    @staticmethod
    def gate_of_form(*recordings: Recording) -> PageGate:
        return bundle(*recordings).save.page

    def test_the_row_that_was_opened_stands_in_the_path(self) -> None:
        assert self.gate_of_form(demonstrate(ROW_SHAPE, VALUES)).path == "/records/{number}/notes/new"

    def test_a_constant_row_stands_in_it_encoded(self) -> None:
        values = evolve(VALUES, row=("SYN 1042/a", "Ada Example", "1901-03-14"))
        made = bundle(demonstrate(ROW_SHAPE, values), **{"row.number.value": "constant"})

        assert made.save.page.path == "/records/SYN%201042%2Fa/notes/new"
        assert made.save.route.path == "/records/SYN%201042%2Fa/notes"

    def test_a_row_that_does_not_matter_leaves_the_segment_open(self) -> None:
        def lists(tape: Tape) -> None:
            row = ("SYN-1042", "Ada Example", "1901-03-14", "Open")
            found = once(by_role("link", "Open", "SYN-1042"), by_role("link", "Open"))
            tape.click(
                "Open", control=Control.LINK, row=row, headers=("Number", "Patient", "Born", ""), candidates=found
            )
            tape.arrive(place("/records/SYN-1042", "Record"))

        draft = draft_of(played(Play(at_start=lists)))
        question = next(each for each in draft.questions if each.id == "row.number.value")
        made = bundle_of(draft, **{"row.number.value": "any_row"}).unwrap()

        assert question.options == ("input", "constant", "any_row")
        assert EvidenceCode.ONE_ROW_ONLY in [each.code for each in question.evidence]
        assert [step.target.row for step in made.steps if isinstance(step, ClickStep)] == [None, None]
        assert made.steps[2].page.path == "/records/*"  # type: ignore[union-attr]  # the click on the page of the record

    def test_a_landmark_holds_no_value_and_is_better_when_no_other_page_has_it(self) -> None:
        def arrives(tape: Tape) -> None:
            here = place("/notes/last")
            headings = once(*(by_role("heading", name) for name in ("Clinic", "Ada Example's note", "New note")))
            tape.arrive(evolve(here, landmarks=headings))

        def everywhere(tape: Tape) -> None:
            tape.open(evolve(place("/start"), landmarks=once(by_role("heading", "Clinic"))))

        values = evolve(VALUES, texts=("Ada Example", "Nurse Two"))

        assert self.gate_of_form(played(Play(at_start=everywhere, in_form=arrives), values=values)).landmark == by_role(
            "heading", "New note"
        )

    def test_pages_of_one_path_are_told_by_their_query(self) -> None:
        def arrives(tape: Tape) -> None:
            tape.arrive(place("/notes/new", "Edit", step="last", version="a81f77", id="9"))

        assert self.gate_of_form(played(Play(in_form=arrives))).query == (QueryPart("step", "last"),)

    def test_pages_of_one_path_are_told_by_their_fragment(self) -> None:
        def arrives(tape: Tape) -> None:
            tape.arrive(place("/notes/new", "Edit", fragment="/visits/17/edit"))

        assert self.gate_of_form(played(Play(in_form=arrives))).fragment == "/visits/*/edit"

    def test_a_fragment_that_is_no_address_is_not_looked_at(self) -> None:
        def arrives(tape: Tape) -> None:
            tape.arrive(place("/notes/new", "Edit", fragment="top"))

        assert self.gate_of_form(played(Play(in_form=arrives))).fragment is None

    def test_a_page_without_a_landmark_is_known_by_the_field_itself(self) -> None:
        bare = Play(in_form=lambda tape: (tape.arrive(place("/bare")), tape.enter("Extra", "more words")))
        made = bundle(played(bare), **{"field.extra.read_back": "not_part_of_record"})

        assert [step.page.landmark for step in made.steps if isinstance(step, FillStep)][-1] == label("Extra")

    def test_a_dialog_is_known_by_what_stands_in_it(self) -> None:
        inside = evolve(label("Extra"), within=Within.DIALOG)

        def in_dialog(tape: Tape) -> None:
            tape.click("More")
            outside = tape.here
            tape.here = evolve(outside, landmarks=once(by_role("heading", "Add note"), by_role("button", "Cancel")))
            tape.enter("Extra", "more words", candidates=once(inside))
            tape.here = outside

        made = bundle(played(Play(in_form=in_dialog)), **{"field.extra.read_back": "not_part_of_record"})

        assert [step.page.landmark for step in made.steps if isinstance(step, FillStep)][-1] == by_role(
            "button", "Cancel"
        )

    @staticmethod
    def edits(*headings: tuple[str, ...], text: str = "more words", elsewhere: str = "Editor") -> Recording:
        """An editor that has these headings at one step after the other; one of them stands on another page, too."""

        def acts(tape: Tape) -> None:
            tape.open(evolve(place("/start"), landmarks=once(by_role("heading", elsewhere))))
            tape.arrive(place("/editor"))
            for number, names in enumerate(headings):
                tape.here = evolve(tape.here, landmarks=once(*(by_role("heading", name) for name in names)))
                tape.enter("Extra", text) if number == 0 else tape.click("Check")

        return played(Play(in_form=acts))

    @pytest.mark.parametrize(
        ("headings", "expected"),
        [
            ((("Summary", "Editor"), ("Editor",), ("Editor",)), by_role("heading", "Editor")),
            ((("Summary", "Editor"), ("Summary", "Editor"), ("Summary", "Editor")), by_role("heading", "Summary")),
            ((("Summary",), ("Blocks",), ("Blocks",)), label("Extra")),
        ],
    )
    def test_a_landmark_stays_from_step_to_step_rather_than_being_on_no_other_page(
        self, headings: tuple[tuple[str, ...], ...], expected: Target
    ) -> None:
        made = bundle(self.edits(*headings), **{"field.extra.read_back": "not_part_of_record"})

        assert next(step.page.landmark for step in made.steps if step.id == "enter_extra") == expected  # type: ignore[union-attr]  # no opened page

    def test_a_look_before_the_first_act_says_nothing_of_it(self) -> None:
        def acts(tape: Tape) -> None:
            both = once(by_role("heading", "First"), by_role("heading", "Editor"))
            tape.arrive(evolve(place("/editor"), landmarks=both))
            tape.shows()
            tape.click("Check")

        recording = played(Play(in_form=acts))
        look = next(page for page in recording.pages if page.place.path == "/editor")
        later = evolve(look, place=evolve(look.place, landmarks=once(by_role("heading", "Editor"))))

        def gate_with(page: PageSeen) -> PageGate:
            return self.gate_of_form(evolve(recording, pages=(page, *recording.pages)))

        assert by_role("heading", "First") == gate_with(evolve(later, after=0)).landmark
        assert by_role("heading", "Editor") == gate_with(later).landmark

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("== Ward icu ==\nBeds: 9", "Editor"), ("== Wards ==\nBeds: 9", "Ward icu")],
    )
    def test_what_the_entered_text_itself_puts_on_the_page_is_no_landmark(self, text: str, expected: str) -> None:
        made = bundle(
            self.edits(("Ward icu", "Editor"), ("Ward icu", "Editor"), text=text),
            **{"field.extra.read_back": "not_part_of_record"},
        )

        assert made.save.page.landmark == by_role("heading", expected)

    def test_a_dialog_that_hid_the_page_and_a_frame_of_it_say_nothing_of_it(self) -> None:
        def acts(tape: Tape) -> None:
            tape.arrive(place("/editor", "Editor"))
            outside = tape.here
            tape.here = place("/editor", "Welcome")
            tape.shows()
            tape.click("Close", candidates=once(evolve(by_role("button", "Close"), within=Within.DIALOG)))
            tape.here = place("/editor", "Text area")
            tape.click("Bold", candidates=once(evolve(by_role("button", "Bold"), frame="Text")))
            tape.here = outside

        assert self.gate_of_form(played(Play(in_form=acts))).landmark == by_role("heading", "Editor")

    def test_what_was_seen_before_the_task_says_nothing(self) -> None:
        recording = played(Play(at_start=lambda tape: tape.shows()), evolve(SHAPE, sign_in=True))

        assert self.gate_of_form(recording).landmark == by_role("heading", "Add note")

    def test_a_page_that_has_only_begun_says_nothing_of_the_time_of_a_step(self) -> None:
        def acts(tape: Tape) -> None:
            tape.arrive(place("/editor", "Loading"))
            tape.here = place("/editor", "Editor")
            tape.click("Check")
            tape.arrive(place("/editor"))
            tape.here = place("/editor", "Editor")

        assert self.gate_of_form(played(Play(in_form=acts))).landmark == by_role("heading", "Editor")

    def test_places_of_different_forms_cannot_be_one_page(self) -> None:
        def arrives(path: str) -> Play:
            return Play(in_form=lambda tape: (tape.arrive(place(path, "Edit")), tape.click("Check")))

        assert codes(played(arrives("/a/b")), played(arrives("/a"))) == [RefusalCode.PAGE_NOT_RECOGNISABLE]


class TestTargets:
    """A target is the first exact one; a link or a button named by its record is bound to the input of that record."""

    @staticmethod
    def clicks(made: Bundle) -> list[Target]:
        return [step.target for step in made.steps if isinstance(step, ClickStep)]

    def test_a_link_named_by_its_record(self) -> None:
        made = bundle(demonstrate(evolve(ROW_SHAPE, linked=True), VALUES))

        assert self.clicks(made)[0] == Target(TargetKind.ROLE, "{patient}", "link", row=FromInput("number"))

    def test_a_button_whose_name_holds_the_key_of_its_row(self) -> None:
        def edits(tape: Tape) -> None:
            row = ("4 Row actions", "Ada Example", "Edit row 4")
            tape.click(
                "Edit row 4", row=row, headers=("id", "patient", ""), candidates=once(by_role("button", "Edit row 4"))
            )

        made = bundle(played(Play(at_start=edits)))

        assert self.clicks(made)[0] == by_role("button", "Edit row {id}")
        assert next(each.name for each in made.parameters) == "id"

    def test_the_best_target_that_all_recordings_have(self) -> None:
        def checks(identity: str) -> Play:
            found = once(by_test_id(identity), by_role("button", "Check"))
            return Play(in_form=lambda tape: tape.click("Check", candidates=found))

        assert self.clicks(bundle(played(checks("c-a"))))[-1] == by_test_id("c-a")
        assert self.clicks(bundle(played(checks("c-a")), played(checks("c-b"))))[-1] == by_role("button", "Check")

    @pytest.mark.parametrize(
        "target",
        [
            by_role("button", "Note of Call back tomorrow"),
            Target(TargetKind.ATTRIBUTE, "Call back tomorrow", attribute="title"),
            Target(TargetKind.ATTRIBUTE, "open", attribute="data-initial-value"),
            by_role("button", "Check {this}"),
            by_role("button", "Check", "some other row"),
            evolve(by_role("button", "Check"), frame="Note of Call back tomorrow"),
            by_test_id("call-back-tomorrow"),
        ],
    )
    def test_a_target_that_holds_a_value_is_none(self, target: Target) -> None:
        found = (Candidate(target, 1), Candidate(by_role("button", "Plain"), 1))
        alone = Play(in_form=lambda tape: tape.click("Check", candidates=found[:1]))

        assert self.clicks(bundle(played(Play(in_form=lambda tape: tape.click("Check", candidates=found)))))[
            -1
        ] == by_role("button", "Plain")
        assert codes(played(alone)) == [RefusalCode.TARGET_NOT_UNIQUE]

    def test_a_table_without_captions_has_its_record_in_the_first_column(self) -> None:
        def opens(tape: Tape) -> None:
            found = once(by_role("button", "Open", "SYN-1042"))
            tape.click("Open", row=("SYN-1042", "Ada Example", "Open"), candidates=found)

        made = bundle(played(Play(at_start=opens)))

        assert self.clicks(made)[0] == Target(TargetKind.ROLE, "Open", "button", row=FromInput("record"))

    def test_a_menu_is_no_row_of_a_record(self) -> None:
        def menus(tape: Tape) -> None:
            tape.click("Letters", control=Control.LINK, row=("Letters", "Add"), headers=("Name", "Add"))
            tape.arrive(place("/letters", "Letters"))
            tape.click("Add letter", control=Control.LINK)

        made = bundle(played(Play(at_start=menus)))

        assert [each.row for each in self.clicks(made)[:2]] == [None, None]
        assert [each.name for each in self.clicks(made)[:2]] == ["Letters", "Add letter"]

    def test_two_things_of_one_name_are_told_apart_by_what_programmers_gave(self) -> None:
        def named(which: str) -> tuple[Candidate, ...]:
            return once(by_role("button", "Publish"), Target(TargetKind.ATTRIBUTE, which, attribute="class"))

        def saves(tape: Tape) -> None:
            tape.click("Publish", candidates=named("toggle"))
            tape.click("Publish", candidates=named("confirm"))
            tape.send("POST", "/notes")

        made = bundle(played(Play(saves=saves)))

        assert self.clicks(made)[-1] == Target(TargetKind.ATTRIBUTE, "toggle", attribute="class")
        assert made.save.target == Target(TargetKind.ATTRIBUTE, "confirm", attribute="class")

    def test_the_opener_of_a_list_is_not_found_by_its_choice(self) -> None:
        def chooses(tape: Tape) -> None:
            found = once(by_role("button", "None yet"), Target(TargetKind.CAPTION, "Ward"))
            tape.choose("Ward", "Day clinic", ("Ward 3", "Day clinic"), control=Control.LIST, candidates=found)

        made = bundle(played(Play(in_form=chooses)), **{"field.ward.read_back": "not_part_of_record"})

        assert [step.target for step in made.steps if isinstance(step, ChooseStep)] == [
            Target(TargetKind.CAPTION, "Ward")
        ]


class TestEntering:
    """How a text gets into a field is what the recording shows; where the app rewrote it, a person says how."""

    @staticmethod
    def fill(made: Bundle, name: str) -> FillStep:
        return next(step for step in made.steps if isinstance(step, FillStep) and step.value == FromInput(name))

    def test_an_editable_text_is_typed(self) -> None:
        shape = evolve(SHAPE, fields=(Field(caption="Title", control=Control.EDITABLE), *FIELDS))
        made = bundle(demonstrate(shape, evolve(VALUES, texts=("A title of a note", *VALUES.texts))))

        assert (self.fill(made, "title").entry, self.fill(made, "note").entry) == (Entry.TYPE, Entry.REPLACE)

    @pytest.mark.parametrize(("answer", "entry"), [("at_once", Entry.REPLACE), ("key_by_key", Entry.TYPE)])
    def test_a_rewritten_text_is_asked_about(self, answer: str, entry: Entry) -> None:
        rewritten = Play(in_form=lambda tape: tape.enter("Phone", "(555) 123-4567", typed="5551234567"))
        wanted = {"field.phone.entry": answer, "field.phone.read_back": "not_part_of_record"}

        assert self.fill(bundle(played(rewritten), **wanted), "phone").entry == entry

    def test_a_native_date_is_always_rewritten_and_not_asked_about(self) -> None:
        dated = Play(in_form=lambda tape: tape.enter("Due", "2026-05-04", typed="05042026", control=Control.DATE))

        assert "field.due.entry" not in [each.id for each in draft_of(played(dated)).questions]

    def test_a_key_that_ended_the_entry_is_pressed_again(self) -> None:
        keyed = Play(in_form=lambda tape: tape.enter("Tag", "two words", ended_by=Key.ENTER))
        wanted = {"field.tag.read_back": "not_part_of_record"}

        assert self.fill(bundle(played(keyed), **wanted), "tag").then == Key.ENTER
        assert self.fill(bundle(demonstrate(SHAPE, VALUES)), "note").then is None

    @pytest.mark.parametrize(
        ("ended_by", "matches", "expected"),
        [(Key.ENTER, 1, by_test_id("remarks")), (Key.ENTER, 2, None), (None, 1, None)],
    )
    def test_a_text_that_a_key_takes_out_of_its_field_is_looked_for_where_it_stands_then(
        self, ended_by: Key | None, matches: int, expected: Target | None
    ) -> None:
        there = (Candidate(by_test_id("more words"), 1), Candidate(by_test_id("remarks"), matches))
        taken = Play(in_form=lambda tape: tape.enter("Tag", "more words", ended_by=ended_by, shown=there))

        assert (
            self.fill(bundle(played(taken), **{"field.tag.read_back": "not_part_of_record"}), "tag").shown == expected
        )

    def test_a_search_is_no_part_of_the_record_and_names_the_row(self) -> None:
        made = bundle(demonstrate(evolve(ROW_SHAPE, search=True), VALUES))

        assert not self.fill(made, "search").part_of_record
        assert next(step.target.row for step in made.steps if isinstance(step, ClickStep)) == FromInput("search")

    def test_what_was_left_empty_is_no_step(self) -> None:
        emptied = Play(in_form=lambda tape: tape.enter("Remark", ""))

        assert "enter_remark" not in [step.id for step in bundle(played(emptied)).steps]

    def test_a_click_into_a_field_is_no_step(self) -> None:
        clicked = Play(in_form=lambda tape: tape.click("Note", control=Control.TEXT))

        assert bundle(played(clicked)) == bundle(demonstrate(SHAPE, VALUES))

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("Okafor, Peter (M1003)", SearchBy.WHOLE),
            ("okafor, pe", SearchBy.WHOLE),
            ("oka", SearchBy.FIRST_WORD),
            ("Okafor", SearchBy.FIRST_WORD),
            ("m1003", SearchBy.LAST_WORD),
        ],
    )
    def test_a_list_is_searched_by_the_words_that_were_typed(self, typed: str, expected: SearchBy) -> None:
        made = bundle(played(self.searching(typed)), **{"field.doctor.read_back": "not_part_of_record"})

        assert [step.search for step in made.steps if isinstance(step, ChooseStep)] == [expected]

    @pytest.mark.parametrize("typed", ["", "o", "peter", "1970-01-01"])
    def test_any_other_search_is_refused(self, typed: str) -> None:
        assert codes(played(self.searching(typed))) == [RefusalCode.SEARCHED_BY_OTHER_TEXT]

    @staticmethod
    def searching(typed: str) -> Play:
        def chooses(tape: Tape) -> None:
            tape.choose("Doctor", "Okafor, Peter (M1003)", (), control=Control.LIST, searched=True, typed=typed)

        return Play(in_form=chooses)

    def test_controls_that_differ_are_different_steps(self) -> None:
        line = Play(in_form=lambda tape: tape.enter("Tag", "two words"))
        text = Play(in_form=lambda tape: tape.enter("Tag", "two words", control=Control.TEXT))

        assert codes(played(line), played(text)) == [RefusalCode.DEMONSTRATIONS_DIFFER]

    def test_dialogs_that_were_answered_differently_are_different_steps(self) -> None:
        def answers(answer: DialogAnswer) -> Play:
            return Play(in_form=lambda tape: (tape.click("Check"), tape.dialog(answer)))

        assert codes(played(answers(DialogAnswer.ACCEPT)), played(answers(DialogAnswer.DISMISS))) == [
            RefusalCode.DEMONSTRATIONS_DIFFER
        ]

    def test_a_save_that_was_confirmed_differently_is_another_one(self) -> None:
        def saves(tape: Tape, answer: DialogAnswer) -> None:
            tape.click("Save note")
            tape.dialog(answer)
            tape.send("POST", "/notes")

        two = [played(Play(saves=partial(saves, answer=answer))) for answer in DialogAnswer]

        assert codes(*two) == [RefusalCode.DEMONSTRATIONS_DIFFER]
        assert bundle(two[0]).save.dialog == DialogAnswer.ACCEPT


class TestWrites:
    """The save has one route; every other write is asked about, and told from the save."""

    @staticmethod
    def saves(*writes: Exchange) -> Play:
        def play(tape: Tape) -> None:
            tape.click("Save note")
            tape.exchanges += [evolve(each, after=len(tape.events)) for each in writes]

        return Play(saves=play)

    @staticmethod
    def write(where: Place, *, content_type: str = JSON, operation: Operation | None = None) -> Exchange:
        return Exchange(
            after=0, method="POST", place=where, content_type=content_type, status_class=2, operation=operation
        )

    def test_the_save_may_go_to_the_named_record_alone(self) -> None:
        assert bundle(demonstrate(ROW_SHAPE, VALUES)).save.route.path == "/records/{number}/notes"

    def test_an_id_that_nothing_names_is_open(self) -> None:
        assert bundle(played(self.saves(self.write(place("/api/drafts/81/publish"))))).save.route == WriteRoute(
            "POST", "/api/drafts/*/publish", JSON
        )

    def test_what_the_query_routes_by_is_a_path(self) -> None:
        read = self.write(place("/index.php", None, route="/v2/users/me"))
        saved = self.write(place("/index.php", None, route="/v2/posts/7"))

        def asks(tape: Tape) -> None:
            tape.exchanges.append(evolve(read, after=len(tape.events)))

        made = bundle(played(evolve(self.saves(saved), in_form=asks)))

        assert made.save.route.query == (QueryPart("route", "/v2/posts/*"),)
        assert made.harmless_writes == (WriteRoute("POST", "/index.php", JSON, (QueryPart("route", "/v2/users/me"),)),)

    def test_the_operation_tells_it(self) -> None:
        made = bundle(played(self.saves(self.write(place("/graphql"), operation=GraphqlOperation("CreateNote")))))

        assert made.save.route.operation == GraphqlOperation("CreateNote")

    @pytest.mark.parametrize(
        ("value", "expected"), [("Save", FormField("do", "Save")), ("Call back tomorrow", FormField("do"))]
    )
    def test_the_value_of_a_button_is_kept_only_when_it_is_none_of_a_record(
        self, value: str, expected: FormField
    ) -> None:
        made = bundle(played(self.saves(self.write(place("/notes"), operation=FormField("do", value)))))

        assert made.save.route.operation == expected

    def test_operations_that_differ_between_recordings_are_no_route(self) -> None:
        two = [
            played(self.saves(self.write(place("/graphql"), operation=GraphqlOperation(name))))
            for name in ("CreateA", "CreateB")
        ]

        assert codes(*two) == [RefusalCode.WRITE_NOT_SUPPORTED]

    def test_saves_to_addresses_of_different_forms_are_no_route(self) -> None:
        two = [played(self.saves(self.write(place(path)))) for path in ("/notes", "/wards/notes")]

        assert codes(*two) == [RefusalCode.WRITE_NOT_SUPPORTED]

    def test_a_word_in_the_query_tells_it(self) -> None:
        def previews(tape: Tape) -> None:
            tape.exchanges.append(evolve(self.write(place("/notes", None, do="preview")), after=len(tape.events)))

        made = bundle(played(evolve(self.saves(self.write(place("/notes", None, do="save"))), in_form=previews)))

        assert made.save.route.query == (QueryPart("do", "save"),)

    def test_a_save_that_another_write_could_be_is_refused(self) -> None:
        def checks(tape: Tape) -> None:
            tape.exchanges.append(evolve(self.write(place("/notes/check")), after=len(tape.events)))

        play = evolve(self.saves(self.write(place("/notes/78"))), in_form=checks)

        assert codes(played(play)) == [RefusalCode.SAVE_ROUTE_NOT_UNIQUE]

    @pytest.mark.parametrize("content_type", ["text", "a/b/c", "text/x_y"])
    def test_a_kind_of_content_that_no_route_names_is_refused(self, content_type: str) -> None:
        assert codes(played(self.saves(self.write(place("/notes"), content_type=content_type)))) == [
            RefusalCode.WRITE_NOT_SUPPORTED
        ]

    def test_a_save_to_another_server_of_the_app_names_it(self) -> None:
        api = "https://api.clinic.example"
        saved = self.write(evolve(place("/notes"), origin=api))
        draft = draft_of(played(self.saves(saved)))
        made = bundle_of(draft).unwrap()

        asked = asked_about(draft, api)

        assert asked.options == ("yes", "no")
        assert (made.origins, made.save.route.origin) == ((ORIGIN, api), api)
        assert "a write goes to another origin" in str(bundle_of(draft, **{asked.id: "no"}).failure()[0].rule)

    def test_a_write_to_another_server_is_asked_about_only_if_it_is_the_apps(self) -> None:
        tracks = self.write(evolve(place("/hit"), origin="https://tracker.example"))
        play = Play(in_form=lambda tape: tape.exchanges.append(evolve(tracks, after=len(tape.events))))
        draft = draft_of(played(play))

        server, write = asked_about(draft, "https://tracker.example").id, asked_about(draft, "POST /hit").id

        assert write in answered(draft)
        assert write not in answered(draft, **{server: "no"})
        assert bundle_of(draft, **{server: "no"}).unwrap().harmless_writes == ()

    def test_what_a_write_looks_like_is_told(self) -> None:
        def busy(tape: Tape) -> None:
            tape.click("Check")
            tape.send("POST", "/checks", operation=FormField("check"))
            tape.send("POST", "/drafts", content_type=JSON)
            tape.enter("Extra", "more words")
            tape.send("POST", "/drafts", content_type=JSON)
            tape.send("POST", "/graphql", content_type=JSON, operation=GraphqlRead())
            tape.send("POST", "/rpc", content_type=JSON, operation=JsonMember("method", "ping"))

        found = {
            each.subject: [(one.code, one.number, one.text) for one in each.evidence]
            for each in draft_of(played(Play(in_form=busy))).questions
            if each.id.startswith("write.")
        }

        assert found == {
            "POST /checks": [
                (EvidenceCode.TIMES_BEFORE_SAVE, 1, None),
                (EvidenceCode.OPERATION, None, "check"),
                (EvidenceCode.LOOKS_LIKE_DRAFT, None, None),
            ],
            "POST /drafts": [
                (EvidenceCode.TIMES_BEFORE_SAVE, 2, None),
                (EvidenceCode.LOOKS_LIKE_DRAFT, None, None),
            ],
            "POST /graphql": [
                (EvidenceCode.TIMES_BEFORE_SAVE, 1, None),
                (EvidenceCode.ONLY_QUERIES, None, None),
                (EvidenceCode.BY_ITSELF, None, None),
            ],
            "POST /rpc": [
                (EvidenceCode.TIMES_BEFORE_SAVE, 1, None),
                (EvidenceCode.OPERATION, None, "method=ping"),
                (EvidenceCode.LOOKS_LIKE_DRAFT, None, None),
                (EvidenceCode.BY_ITSELF, None, None),
            ],
        }

    def test_what_one_of_several_recordings_sent_is_asked_about(self) -> None:
        quick, waiting = played(Play()), played(Play(in_form=lambda tape: tape.send("POST", "/drafts/8")))

        asked = draft_of(quick, waiting).questions

        assert draft_of(quick, quick).questions == tuple(each for each in asked if each.subject != "POST /drafts/*")
        assert asked_about(draft_of(quick, waiting), "POST /drafts/*").options == (
            "let_through",
            "hold_back",
            "is_a_save",
        )

    @pytest.mark.parametrize(("answer", "harmless", "blocked"), [("let_through", 1, 0), ("hold_back", 0, 1)])
    def test_a_write_is_let_through_or_held_back(self, answer: str, harmless: int, blocked: int) -> None:
        recording = demonstrate(evolve(SHAPE, presence=True), VALUES)
        made = bundle(recording, **{asked_about(draft_of(recording), "PATCH /presence/me").id: answer})

        assert (len(made.harmless_writes), len(made.blocked_writes)) == (harmless, blocked)

    def test_what_the_sign_in_sent_is_no_write_of_the_workflow(self) -> None:
        made = draft_of(demonstrate(evolve(SHAPE, sign_in=True), VALUES))

        assert not [each for each in made.questions if each.id.startswith("write.")]

    def test_a_socket_is_asked_about_by_the_template_of_its_path(self) -> None:
        opens = Play(in_form=lambda tape: tape.send("GET", "/sockjs/481/a8f1k2m3/websocket", socket=True))
        draft = draft_of(played(opens))

        assert asked_about(draft, "/sockjs/*/*/websocket").options == ("let_through", "stop")
        assert bundle_of(draft).unwrap().sockets == ("/sockjs/*/*/websocket",)

    @pytest.mark.parametrize(
        "path", ["/sockjs/481/qykqtbxs/websocket", "/sockjs/481/a8f1k2m3/websocket", "/sockjs/7/x1/websocket"]
    )
    def test_a_socket_of_a_session_is_one_question_whatever_its_ids_look_like(self, path: str) -> None:
        opens = Play(in_form=lambda tape: tape.send("GET", path, socket=True))

        assert [each.id for each in draft_of(played(opens)).questions if each.id.startswith("socket.")] == [
            asked_about(draft_of(played(opens)), "/sockjs/*/*/websocket").id
        ]

    def test_the_last_click_that_saves_counts(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Next")
            tape.send("POST", "/wizard/first")
            tape.click("Finish")
            tape.send("POST", "/notes")

        made = bundle(played(Play(saves=saves)))

        assert made.save.target == by_role("button", "Finish")
        assert [route.path for route in made.harmless_writes] == ["/wizard/first"]

    def test_a_search_after_the_save_is_no_entry_of_it(self) -> None:
        looks = Play(after_save=lambda tape: tape.enter("Find", "Call back tomorrow"))

        assert bundle(played(looks)) == bundle(demonstrate(SHAPE, VALUES))

    def test_a_write_of_the_next_page_is_not_the_save(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            tape.send("POST", "/notes")
            tape.arrive(place("/notes/done", "Done"))
            tape.send("POST", "/seen", content_type=JSON)

        assert bundle(played(Play(saves=saves))).save.route.path == "/notes"


class TestNamesOfWrites:
    """A question about a request is named by its route: by nothing that was sent before, after or beside it."""

    BEAT = FormField("action", "heartbeat")

    @staticmethod
    def beside(*sent: tuple[str, Operation | None]) -> Draft:
        def busy(tape: Tape) -> None:
            for path, operation in sent:
                tape.send("POST", path, operation=operation)

        return draft_of(played(Play(in_form=busy)))

    def writes(self, *sent: tuple[str, Operation | None]) -> dict[str, str]:
        return {each.id: each.subject for each in self.beside(*sent).questions if each.id.startswith("write.")}

    def test_it_tells_method_path_and_operation(self) -> None:
        (name,) = self.writes(("/wp-admin/admin-ajax.php", self.BEAT))
        evidence = asked_about(self.beside(("/wp-admin/admin-ajax.php", self.BEAT)), "POST /wp-admin/admin-ajax.php")

        assert name.startswith("write.post_wp_admin_admin_ajax_php")
        assert "heartbeat" in name
        assert [each.text for each in evidence.evidence if each.code is EvidenceCode.OPERATION] == ["action=heartbeat"]

    def test_order_and_other_requests_change_no_name(self) -> None:
        one, other = ("/ajax", self.BEAT), ("/drafts", None)

        assert self.writes(one, other) == self.writes(other, one)
        assert self.writes(one).items() < self.writes(other, one).items()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("/a-b", None), ("/a_b", None)),
            (("/ward/one/save", None), ("/bed/one/save", None)),
            (("/ajax", FormField("action", "beat")), ("/ajax", FormField("task", "beat"))),
            (("/ajax", FormField("action", "a" * 60 + "b")), ("/ajax", FormField("action", "a" * 60 + "c"))),
        ],
    )
    def test_no_two_routes_have_one_name(
        self, one: tuple[str, Operation | None], other: tuple[str, Operation | None]
    ) -> None:
        assert len(self.writes(one, other)) == 2

    def test_an_answer_for_one_route_is_none_for_another(self) -> None:
        one, other = self.beside(("/a-b", None)), self.beside(("/a_b", None))
        problems = confirm(other, answered(one)).failure()

        assert {each.code for each in problems} == {AnswerCode.MISSING, AnswerCode.NOT_A_QUESTION}


class TestSeveralWritesOfOneClick:
    """Where one click sends several writes, a person names the save among them; the others are asked about."""

    @staticmethod
    def play(*paths: str, status_class: int = 2) -> Play:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            for path in paths:
                tape.send("POST", path, content_type=JSON, status_class=status_class)

        return Play(saves=saves)

    def test_each_may_be_the_save_and_the_other_is_then_a_write_beside_it(self) -> None:
        draft = draft_of(played(self.play("/notes", "/letters")))
        question = next(each for each in draft.questions if each.id == "save.write")
        made = {option: bundle_of(draft, **{"save.write": option}).unwrap() for option in question.options[:2]}

        assert question.options[-1] == "stop"
        assert [each.text.partition(": ")[2] for each in question.evidence if each.text] == [
            "POST /letters",
            "POST /notes",
        ]
        assert [(each.save.route.path, [route.path for route in each.harmless_writes]) for each in made.values()] == [
            ("/letters", ["/notes"]),
            ("/notes", ["/letters"]),
        ]

    def test_nothing_is_chosen_by_itself(self) -> None:
        draft = draft_of(played(self.play("/notes", "/letters")))
        answers = answered(draft)
        del answers["save.write"]

        assert "save.write" in [each.id for each in confirm(draft, answers).failure()]
        assert "save.write" not in answered(draft_of(demonstrate(SHAPE, VALUES)))

    def test_the_one_that_the_app_refused_is_no_option_and_the_other_is_still_asked_about(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note")
            tape.send("POST", "/hits", content_type=JSON, status_class=4)
            tape.send("POST", "/notes", content_type=JSON, status_class=2)

        question = next(each for each in draft_of(played(Play(saves=saves))).questions if each.id == "save.write")

        assert [each.rpartition("_")[0] for each in question.options] == ["post_notes", ""]

    def test_those_that_every_recording_sent_may_be_it(self) -> None:
        two = [played(self.play("/notes", "/letters")), played(self.play("/hits", "/notes"))]
        none = [played(self.play("/notes", "/letters")), played(self.play("/hits", "/beats"))]

        assert bundle(*two).save.route.path == "/notes"
        assert codes(*none) == [RefusalCode.SEVERAL_WRITES_AT_SAVE]


class TestReadBack:
    """The saved record is read where the recording saw it, by members that held what was entered."""

    def test_an_answer_in_json(self) -> None:
        made = bundle(demonstrate(SHAPE, VALUES))

        assert made.read_back.source == JsonRecords("/api/notes?limit=50", "items", "id")
        assert made.read_back.effect == Effect.CREATE
        assert [(item.expected, item.rule) for item in (*made.read_back.identity, *made.read_back.written)] == [
            (FromInput("note"), Rule.TEXT),
            (FromInput("reporter"), Rule.TEXT),
        ]

    def test_a_list_and_the_answer_of_one_record(self) -> None:
        made = bundle(demonstrate(evolve(SHAPE, reading="detail"), VALUES))

        assert made.read_back.source == JsonRecords("/api/notes", "items", "id", "/api/notes/*")
        assert len(made.read_back.identity) + len(made.read_back.written) == 2

    def test_a_list_and_the_page_of_the_record(self) -> None:
        made = bundle(demonstrate(evolve(SHAPE, reading="pages"), VALUES))
        source = made.read_back.source

        assert isinstance(source, PageRecords)
        assert (source.path, source.link, source.record.path) == ("/notes", "/notes/*", "/notes/*")
        assert [item.name for item in source.fields] == ["note", "reporter"]

    @pytest.mark.parametrize(
        ("same_document", "heading", "expected"),
        [
            (True, "Add note", by_test_id("the note")),
            (True, "Note", by_role("heading", "Note")),
            (False, "Add note", by_role("heading", "Add note")),
        ],
    )
    def test_a_page_that_was_never_loaded_is_not_known_by_what_stood_there_before(
        self, same_document: bool, heading: str, expected: Target
    ) -> None:
        def looks(tape: Tape) -> None:
            tape.shows(links=["/help", "/notes/78", "/notes/76"])
            tape.click("Show", control=Control.LINK)
            tape.arrive(place("/notes/78", heading), same_document=same_document)
            tape.shows(
                Showing(known=Known(event=3), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                Showing(known=Known(event=4), rule=Rule.TEXT, candidates=once(by_test_id("who reports"))),
            )

        source = bundle(played(Play(after_save=looks), evolve(SHAPE, reading="nothing"))).read_back.source

        assert isinstance(source, PageRecords)
        assert source.record == PageGate("/notes/*", expected)

    def test_the_page_at_an_address_that_the_row_names(self) -> None:
        made = bundle(demonstrate(evolve(ROW_SHAPE, reading="record"), VALUES))

        assert isinstance(made.read_back.source, RecordPage)
        assert made.read_back.source.path == "/records/{number}/summary"

    def test_the_form_itself_after_the_save_proves_nothing(self) -> None:
        recording = demonstrate(evolve(SHAPE, reading="nothing"), VALUES)
        again = evolve(recording.pages[-1], after=len(recording.events))

        assert draft_of(evolve(recording, pages=(*recording.pages, again))).plan.found is None

    @pytest.mark.parametrize(("reading", "kind"), [("json", "json"), ("pages", "pages")])
    def test_a_field_that_nothing_shows_is_asked_about(self, reading: str, kind: str) -> None:
        hidden = Play(in_form=lambda tape: tape.enter("Secretly", "not shown again"))
        draft = draft_of(played(hidden, evolve(SHAPE, reading=reading)))
        question = next(each for each in draft.questions if each.id == "field.secretly.read_back")
        made = bundle_of(draft).unwrap()

        assert question.when is not None
        assert question.when.options == (kind,)
        assert [step.part_of_record for step in made.steps if isinstance(step, FillStep)] == [True, True, False]

    def test_an_answer_of_another_server_is_no_source(self) -> None:
        recording = demonstrate(SHAPE, VALUES)
        elsewhere = tuple(
            evolve(each, place=evolve(each.place, origin="https://other.example")) for each in recording.answers
        )

        assert draft_of(evolve(recording, answers=elsewhere)).plan.found is None

    def test_an_answer_that_the_session_alone_does_not_get_is_no_source(self) -> None:
        recording = demonstrate(SHAPE, VALUES)

        assert (
            draft_of(
                evolve(recording, answers=tuple(evolve(each, fresh=False) for each in recording.answers))
            ).plan.found
            is None
        )

    def test_an_answer_without_a_key_is_no_source(self) -> None:
        recording = demonstrate(SHAPE, VALUES)
        keyless = tuple(evolve(each, members=each.members[1:]) for each in recording.answers)

        assert draft_of(evolve(recording, answers=keyless)).plan.found is None

    def test_an_address_with_an_id_that_nothing_names_is_no_source(self) -> None:
        recording = demonstrate(SHAPE, VALUES)
        at_id = tuple(evolve(each, place=place("/api/wards/71/notes")) for each in recording.answers)

        assert draft_of(evolve(recording, answers=at_id)).plan.found is None

    def test_a_member_of_the_query_that_is_an_id_or_a_time_is_left_out(self) -> None:
        recording = demonstrate(ROW_SHAPE, VALUES)
        where = place("/api/notes", None, limit="50", _="1780000000000", record="SYN-1042", key="7")
        asked = tuple(evolve(each, place=where) for each in recording.answers)

        assert bundle(evolve(recording, answers=asked)).read_back.source == JsonRecords(
            "/api/notes?limit=50&record={number}", "items", "id"
        )

    def test_recordings_must_agree_about_a_source(self) -> None:
        one = demonstrate(SHAPE, VALUES)
        other = evolve(one, answers=tuple(evolve(each, items="rows") for each in one.answers))
        there = evolve(one, answers=tuple(evolve(each, was_absent=False) for each in one.answers))

        assert draft_of(one, other).plan.found is None
        assert draft_of(one, there).plan.found is None
        assert draft_of(one, one).plan.found is not None

    def test_of_two_members_with_the_same_text_the_one_named_like_the_field_counts(self) -> None:
        recording = demonstrate(SHAPE, evolve(VALUES, texts=("the same text", "the same text")))
        event = Known(event=4)
        members = tuple(
            MemberSeen(name=name, unique=name == "id", known=None if name == "id" else event, rule=Rule.IDENTIFIER)
            for name in ("id", "body.reporter", "body.note_text", "copy")
        )
        made = bundle(evolve(recording, answers=tuple(evolve(each, members=members) for each in recording.answers)))

        assert {item.expected: item.name for item in (*made.read_back.identity, *made.read_back.written)} == {
            FromInput("note"): "body.note_text",
            FromInput("reporter"): "body.reporter",
        }

    def test_an_option_that_stands_there_anyway_proves_nothing(self) -> None:
        shape = evolve(SHAPE, fields=(Field(caption="Kind", control=Control.RADIO, options=("Low", "High")), *FIELDS))
        values = evolve(VALUES, texts=("Low", *VALUES.texts))

        def looks(kind: Target) -> Play:
            return Play(
                after_save=lambda tape: (
                    tape.arrive(place("/summary", "Summary")),
                    tape.shows(
                        Showing(known=Known(event=3), rule=Rule.CHOICE, candidates=once(kind)),
                        Showing(known=Known(event=4), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                        Showing(known=Known(event=5), rule=Rule.TEXT, candidates=once(by_test_id("who reports"))),
                    ),
                )
            )

        read = {
            kind.name: [
                item.slot
                for item in draft_of(played(looks(kind), evolve(shape, reading="nothing"), values)).plan.found.fields  # type: ignore[union-attr]  # there is one
            ]
            for kind in (
                Target(TargetKind.ATTRIBUTE, "kind_low", attribute="for"),
                by_role("radio", "kind low"),
                by_test_id("colour"),
                by_test_id("kind of note"),
                label("Kind"),
            )
        }

        assert read == {
            "kind_low": ["note", "reporter"],
            "kind low": ["note", "reporter"],
            "colour": ["note", "reporter"],
            "kind of note": ["kind", "note", "reporter"],
            "Kind": ["kind", "note", "reporter"],
        }

    def test_a_change_is_told_by_what_is_not_entered(self) -> None:
        made = bundle(demonstrate(evolve(ROW_SHAPE, changes=True), VALUES))

        assert made.read_back.effect == Effect.UPDATE
        assert {item.expected for item in made.read_back.identity} == {
            FromInput("number"),
            FromInput("patient"),
            FromInput("born"),
        }
        assert made.read_back.may_change == ("version",)

    def test_the_key_of_the_one_record_of_an_address_names_it(self) -> None:
        recording = demonstrate(evolve(ROW_SHAPE, changes=True), VALUES)
        answers = tuple(
            evolve(
                each,
                place=place("/api/records/SYN-1042.json"),
                items="",
                count=1,
                members=tuple(member for member in each.members if member.known is None or member.known.cell is None),
            )
            for each in recording.answers
        )
        made = bundle(evolve(recording, answers=answers))

        assert made.read_back.source == JsonRecords("/api/records/{number}.json", "", "id")
        assert [(item.name, item.expected) for item in made.read_back.identity] == [("id", FromInput("number"))]

    def test_members_that_the_form_could_put_back_may_guard_it(self) -> None:
        recording = demonstrate(evolve(ROW_SHAPE, changes=True), VALUES)
        more = tuple(
            evolve(each, members=(*each.members, MemberSeen(name="allergy", unique=False)))
            for each in recording.answers
        )
        recording = evolve(recording, answers=more)

        assert bundle(recording).guards == ("allergy",)
        assert bundle(recording, guards="no").guards == ()

    def test_a_key_of_the_work_is_offered_where_a_list_shows_one(self) -> None:
        recording = demonstrate(SHAPE, VALUES)
        keyed = tuple(
            evolve(each, members=tuple(evolve(member, unique=True) for member in each.members))
            for each in recording.answers
        )
        recording = evolve(recording, answers=keyed)

        assert len(bundle(recording).business_key) == 2
        assert bundle(recording, business_key="no").business_key == ()
        assert bundle(demonstrate(SHAPE, VALUES)).business_key == ()

    def test_a_database_may_be_read_instead(self) -> None:
        draft = draft_of(demonstrate(ROW_SHAPE, VALUES))
        made = bundle_of(draft, **{"read_back.source": "database", "read_back.connection": "clinic"}).unwrap()

        assert made.read_back.source.connection == "clinic"  # type: ignore[union-attr]  # a database
        assert made.read_back.level == made.read_back.minimum
        assert [item.name for item in made.read_back.identity] == ["row_number_column"]

    def test_a_list_from_before_the_save_is_known_by_links_beside_the_new_one(self) -> None:
        def looks(tape: Tape) -> None:
            tape.arrive(place("/notes/78", "Note"))
            tape.shows(
                Showing(known=Known(event=4), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                Showing(known=Known(event=5), rule=Rule.TEXT, candidates=once(by_test_id("who reports"))),
            )

        lists = Play(
            at_start=lambda tape: (tape.click("Help"), tape.shows(links=["/help", "/notes/76"])), after_save=looks
        )
        source = bundle(played(lists, evolve(SHAPE, reading="nothing"))).read_back.source

        assert isinstance(source, PageRecords)
        assert (source.path, source.link) == ("/records", "/notes/*")

    @pytest.mark.parametrize(
        ("links", "expected"),
        [
            (
                ("/note?id=78&url=/notes?size%3D20", "/note?id=77&url=/notes?size%3D20"),
                "/note?id=*&url=/notes?size%3D20",
            ),
            (("/note?id=78&url=/notes?size%3D20",), "/note?id=*&url=/notes?size%3D20"),
            (("/note?id=79",), None),
        ],
    )
    def test_the_key_may_stand_in_the_query_of_a_link(self, links: tuple[str, ...], expected: str | None) -> None:
        def looks(tape: Tape) -> None:
            tape.shows(links=links)
            tape.arrive(place("/note", "Note", id="78", url="/notes?size=20"))
            tape.shows(
                Showing(known=Known(event=3), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                Showing(known=Known(event=4), rule=Rule.TEXT, candidates=once(by_test_id("who reports"))),
            )

        found = draft_of(played(Play(after_save=looks), evolve(SHAPE, reading="nothing"))).plan.found

        assert (None if found is None else found.source.link) == expected  # type: ignore[union-attr]  # pages

    @pytest.mark.parametrize(
        ("before", "after", "found"),
        [
            (["/notes/76"], None, True),
            (["/notes/+"], None, False),
            (["/notes/76"], ["/notes/76", "/notes/78"], True),
            (["/notes/76"], ["/notes/76", "/help"], False),
        ],
    )
    def test_a_list_links_to_the_record_once_it_is_saved(
        self, before: list[str], after: list[str] | None, found: bool
    ) -> None:
        def looks(tape: Tape) -> None:
            if after is not None:
                tape.arrive(place("/records", "Records"))
                tape.click("Refresh")
                tape.shows(links=after)
            tape.arrive(place("/notes/78", "Note"))
            tape.shows(
                Showing(known=Known(event=4), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                Showing(known=Known(event=5), rule=Rule.TEXT, candidates=once(by_test_id("who reports"))),
            )

        lists = Play(at_start=lambda tape: (tape.click("Help"), tape.shows(links=before)), after_save=looks)
        plan = draft_of(played(lists, evolve(SHAPE, reading="nothing"))).plan

        assert (plan.found is not None) == found

    def test_a_page_that_one_recording_did_not_look_at_is_no_source(self) -> None:
        two = [demonstrate(evolve(SHAPE, reading=reading), VALUES) for reading in ("pages", "nothing")]

        assert draft_of(*two).plan.found is None

    def test_a_page_that_nothing_tells_from_others_is_no_source(self) -> None:
        def looks(tape: Tape) -> None:
            tape.arrive(place("/bare"))
            option = Target(TargetKind.ATTRIBUTE, "note", attribute="for")
            tape.shows(Showing(known=Known(event=3), rule=Rule.TEXT, candidates=once(option)))

        assert draft_of(played(Play(after_save=looks), evolve(SHAPE, reading="nothing"))).plan.found is None

    @pytest.mark.parametrize(
        ("listing", "link"),
        [
            (place("/notes", "Notes", ward="17"), "/note/78"),
            (place("/notes"), "/note/78"),
            (place("/notes", "Notes"), "/note/78/call-back-tomorrow"),
            (place("/17/notes", "Notes"), "/note/78"),
        ],
    )
    def test_a_list_that_cannot_be_opened_again_is_no_source(self, listing: Place, link: str) -> None:
        def looks(tape: Tape) -> None:
            tape.arrive(listing)
            tape.shows(links=(link,))
            tape.arrive(place(link, "Note"))
            tape.shows(
                Showing(known=Known(event=3), rule=Rule.TEXT, candidates=once(by_test_id("the note"))),
                Showing(known=Known(event=99), rule=Rule.TEXT, candidates=once(by_test_id("nobody"))),
            )

        assert draft_of(played(Play(after_save=looks), evolve(SHAPE, reading="nothing"))).plan.found is None


class TestIdentityOfAForm:
    """Of what a form itself holds, the unique field is checked and one that is always given; the rest may be empty."""

    FIELDS = (
        Field(caption="Title", required=False),
        Field(caption="Kind", control=Control.SELECT, options=("Low", "High")),
        Field(caption="Name"),
        Field(caption="Mail"),
        Field(caption="Phone", required=False),
    )
    TEXTS = ("Doctor of law", "Low", "Ada Example", "ada@clinic.example", "555 0100")

    def draft(self, *kept: str, texts: tuple[str, ...] = TEXTS) -> Draft:
        chosen = [at for at, each in enumerate(self.FIELDS) if not kept or each.caption in kept]
        shape = evolve(SHAPE, fields=tuple(self.FIELDS[at] for at in chosen))
        return draft_of(demonstrate(shape, Values(texts=tuple(texts[at] for at in chosen))))

    @staticmethod
    def required(made: Bundle) -> list[str]:
        return [each.name for each in made.parameters if each.required]

    def test_optional_fields_stay_out_and_may_be_empty(self) -> None:
        made = bundle_of(self.draft(), **{"identity.unique": "mail"}).unwrap()

        assert [(item.expected, item.unique) for item in made.identity] == [
            (FromInput("name"), False),
            (FromInput("mail"), True),
        ]
        assert self.required(made) == ["kind", "name", "mail"]

    def test_what_is_chosen_from_a_few_is_the_last_choice(self) -> None:
        made = bundle_of(self.draft("Kind", "Mail", "Phone"), **{"identity.unique": "mail"}).unwrap()

        assert [item.expected for item in made.identity] == [FromInput("kind"), FromInput("mail")]

    def test_where_the_page_asks_for_no_other_a_person_names_one(self) -> None:
        draft = self.draft("Title", "Mail", "Phone")
        question = next(each for each in draft.questions if each.id == "identity.second")
        made = bundle_of(draft, **{"identity.unique": "mail", "identity.second": "phone"}).unwrap()

        assert question.when is not None
        assert question.when.options == ("mail",)
        assert [item.expected for item in made.identity] == [FromInput("mail"), FromInput("phone")]
        assert self.required(made) == ["mail", "phone"]
        assert "identity.second" not in answered(draft, **{"identity.unique": "title"})

    def test_one_field_is_not_two(self) -> None:
        draft = self.draft("Title", "Mail", "Phone")
        problems = bundle_of(draft, **{"identity.unique": "mail", "identity.second": "mail"}).failure()

        assert [(each.id, each.code) for each in problems] == [("identity.second", AnswerCode.CONTRADICTS)]

    def test_the_only_other_field_is_not_asked_about(self) -> None:
        made = bundle_of(self.draft("Title", "Phone"), **{"identity.unique": "phone"}).unwrap()

        assert [item.expected for item in made.identity] == [FromInput("title"), FromInput("phone")]

    @pytest.mark.parametrize("texts", [TEXTS, ("Dr", "High", "Bo", "b@c.de", "5"), ("x", "Low", "y", "z", "12345678")])
    def test_the_fields_are_offered_in_the_order_of_the_page(self, texts: tuple[str, ...]) -> None:
        question = next(each for each in self.draft(texts=texts).questions if each.id == "identity.unique")

        assert question.options == ("title", "kind", "name", "mail", "phone")


class TestEffect:
    """Whether a save makes or changes a record is what the app showed of it; a default in a form says nothing."""

    @staticmethod
    def with_default(reading: str) -> Recording:
        dated = Play(in_form=lambda tape: tape.enter("Start", "2026-05-04", before=True))
        return played(dated, evolve(SHAPE, reading=reading))

    def test_it_is_that_of_the_best_source_also_where_a_database_is_read(self) -> None:
        wanted = {"field.start.read_back": "not_part_of_record", "read_back.source": "database"}
        draft = draft_of(self.with_default("pages"))

        assert "effect" not in [each.id for each in draft.questions]
        assert bundle_of(draft, **wanted).unwrap().read_back.effect == Effect.CREATE

    def test_where_nothing_was_seen_it_is_asked(self) -> None:
        draft = draft_of(self.with_default("nothing"))
        question = next(each for each in draft.questions if each.id == "effect")

        assert [(each.code, each.number) for each in question.evidence] == [(EvidenceCode.HELD_SOMETHING, 1)]
        assert bundle_of(draft, effect="new_record").unwrap().read_back.effect == Effect.CREATE
        assert "a change names its record by what it enters" in str(
            bundle_of(draft, effect="changed_record").failure()[0].rule
        )

    @pytest.mark.parametrize("reading", ["json", "record"])
    def test_a_list_below_a_record_may_get_another_one_each_time(self, reading: str) -> None:
        shape = evolve(ROW_SHAPE, reading=reading, changes=True)
        seen = Play(at_start=lambda tape: tape.open(evolve(place("/records/SYN-1042/summary", "Summary"))))
        draft = draft_of(played(seen, shape))
        question = next(each for each in draft.questions if each.id == "effect")

        assert draft.plan.effect is None
        assert EvidenceCode.SENT_BELOW is question.evidence[0].code
        assert bundle_of(draft, effect="changed_record").unwrap().read_back.effect == Effect.UPDATE
        problems = bundle_of(draft, effect="new_record").failure()
        assert [("effect", AnswerCode.CONTRADICTS)] == [(each.id, each.code) for each in problems]
        listed = bundle_of(draft, **{"effect": "new_record", "read_back.source": "database"}).unwrap()
        assert listed.read_back.effect == Effect.CREATE

    @pytest.mark.parametrize(
        ("method", "path", "page", "adds"),
        [
            ("POST", "/tasks/*/notes", "/tasks/*", True),
            ("POST", "/tasks/{task}/notes", "/list", True),
            ("PUT", "/tasks/*/notes", "/tasks/*", False),
            ("POST", "/tasks/*/change/", "/tasks/{task}/change", False),
            ("POST", "/tasks/*/change", "/tasks/*/edit", True),
            ("POST", "/tasks/*", "/tasks/*/edit", False),
            ("POST", "/tasks", "/tasks/new", False),
        ],
    )
    def test_what_may_add_is_posted_to_another_address_below_a_record(
        self, method: str, path: str, page: str, adds: bool
    ) -> None:
        assert adds == may_add(WriteRoute(method, path, "application/json"), page)

    def test_an_answer_without_an_earlier_one_says_nothing(self) -> None:
        recording = demonstrate(SHAPE, VALUES)

        def seen(*, compared: bool, was_absent: bool) -> Effect | None:
            answers = [evolve(each, compared=compared, was_absent=was_absent) for each in recording.answers]
            return compile_recordings((evolve(recording, answers=tuple(answers)),)).unwrap().plan.effect

        assert seen(compared=False, was_absent=False) is None
        assert seen(compared=True, was_absent=True) is Effect.CREATE


class TestConstants:
    """A text stands in a workflow only where a person said that it is always the same."""

    def test_every_place_of_the_text_is_the_constant(self) -> None:
        draft = draft_of(demonstrate(evolve(ROW_SHAPE, linked=True), VALUES))
        made = bundle_of(draft, **all_answers(draft, Option.CONSTANT)).unwrap()

        assert made.parameters == ()
        assert made.steps[1].target == Target(  # type: ignore[union-attr]  # the click on the record
            TargetKind.ROLE, "Ada Example", "link", row=Constant("SYN-1042")
        )
        assert {item.expected for item in made.read_back.written} == {Constant(text) for text in VALUES.texts}

    def test_a_date_is_a_constant_as_iso(self) -> None:
        shape = evolve(SHAPE, fields=(*FIELDS, Field(caption="Due")))
        draft = draft_of(demonstrate(shape, evolve(VALUES, texts=(*VALUES.texts, "31.05.2026"))))
        made = bundle_of(draft, **{"field.due.value": "constant", "field.due.type": "dd.mm.yyyy"}).unwrap()

        assert [item.expected for item in made.read_back.written][-1] == Constant("2026-05-31")

    def test_a_text_that_is_too_long_for_one_is_an_input(self) -> None:
        draft = draft_of(demonstrate(SHAPE, evolve(VALUES, texts=("word " * 101, "Nurse Two"))))

        assert [each.options for each in draft.questions if each.id == "field.note.value"] == []

    def test_a_shown_text_may_be_left_out(self) -> None:
        draft = draft_of(demonstrate(ROW_SHAPE, VALUES))
        made = bundle_of(draft, **{"shown.born.value": "leave_out"}).unwrap()

        assert [item.expected for item in made.identity] == [FromInput("number"), FromInput("patient")]
        assert "born" not in [parameter.name for parameter in made.parameters]

    def test_the_unique_field_is_the_one_that_a_person_names(self) -> None:
        draft = draft_of(demonstrate(ROW_SHAPE, VALUES))

        assert [item.unique for item in bundle_of(draft, **{"identity.unique": "patient"}).unwrap().identity] == [
            False,
            True,
            False,
        ]

    def test_a_type_that_the_app_does_not_show_so_contradicts(self) -> None:
        recording = demonstrate(SHAPE, evolve(VALUES, texts=("04.05.2026", "Nurse Two")))
        dated = tuple(
            evolve(
                each,
                members=tuple(
                    evolve(member, rule=Rule.DATE) if member.known == Known(event=3) else member
                    for member in each.members
                ),
            )
            for each in recording.answers
        )
        draft = draft_of(evolve(recording, answers=dated))

        assert [(each.id, each.code.value) for each in bundle_of(draft, **{"field.note.type": "text"}).failure()] == [
            ("field.note.type", "contradicts")
        ]
        assert isinstance(bundle_of(draft, **{"field.note.type": "dd.mm.yyyy"}), Success)


class TestWhatRepeats:
    """What differs between recordings is an input; what was there before belongs to a record that is changed."""

    def test_a_text_that_differs_is_not_asked_about(self) -> None:
        two = [demonstrate(SHAPE, evolve(VALUES, texts=(text, "Nurse Two"))) for text in ("Call back", "All is well")]

        assert "field.note.value" not in [each.id for each in draft_of(*two).questions]
        assert "field.reporter.value" in [each.id for each in draft_of(*two).questions]

    def test_a_box_is_a_choice_of_two(self) -> None:
        boxed = Play(in_form=lambda tape: tape.check("Signed", checked=False))
        made = bundle(played(boxed), **{"field.signed.read_back": "not_part_of_record"})

        assert [each.choices for each in made.parameters if each.name == "signed"] == [("true", "false")]
        assert made.steps[-1].id == "check_signed"

    def test_a_page_of_a_record_that_was_changed(self) -> None:
        def sees_it(tape: Tape) -> None:
            tape.open(evolve(place("/records/SYN-1042/summary", "Summary")))
            tape.open(place("/records", "Records"))

        recording = played(Play(at_start=sees_it), evolve(ROW_SHAPE, reading="record"))

        assert bundle(recording).read_back.effect == Effect.UPDATE
        assert bundle(demonstrate(evolve(ROW_SHAPE, reading="record"), VALUES)).read_back.effect == Effect.CREATE

    def test_a_field_without_an_exact_target_is_refused(self) -> None:
        twice = (Candidate(label("Extra"), 2),)
        play = Play(in_form=lambda tape: tape.enter("Extra", "more words", candidates=twice))

        assert codes(played(play)) == [RefusalCode.TARGET_NOT_UNIQUE]

    def test_a_save_without_an_exact_target_is_refused(self) -> None:
        def saves(tape: Tape) -> None:
            tape.click("Save note", candidates=(Candidate(by_role("button", "Save note"), 2),))
            tape.send("POST", "/notes")

        assert codes(played(Play(saves=saves))) == [RefusalCode.TARGET_NOT_UNIQUE]

    def test_a_field_whose_caption_holds_a_value_is_counted(self) -> None:
        found = once(by_test_id("extra"))
        mirrored = Play(in_form=lambda tape: tape.enter("Now: more words", "more words", candidates=found))

        assert "field.extra.value" in [each.id for each in draft_of(played(mirrored)).questions]


class TestWorkflows:
    """A workflow is named after the page that saves, and saves as it was shown."""

    def test_its_name_and_title(self) -> None:
        made = bundle(demonstrate(SHAPE, VALUES))

        assert (made.workflow, made.title, made.origins) == ("add_note", "Add note", (ORIGIN,))

    def test_a_heading_that_only_the_last_step_had_does_not_name_it(self) -> None:
        def acts(tape: Tape) -> None:
            tape.arrive(place("/editor", "Add post"))
            tape.click("Next")
            headings = once(by_role("heading", "Visibility: public"), by_role("heading", "Add post"))
            tape.here = evolve(tape.here, landmarks=headings)

        assert bundle(played(Play(in_form=acts))).title == "Add post"

    def test_without_a_heading_it_is_named_after_the_button(self) -> None:
        def arrives(tape: Tape) -> None:
            tape.arrive(evolve(place("/form"), landmarks=once(by_role("button", "Cancel"))))

        assert bundle(played(Play(in_form=arrives))).title == "Save note"

    def test_the_confirmed_draft_is_what_was_asked(self) -> None:
        draft = draft_of(demonstrate(SHAPE, VALUES))

        assert confirm(draft, answered(draft)) == bundle_of(draft)
