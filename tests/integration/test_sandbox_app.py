"""The clinic app as its own process, asked over HTTP."""

import json
from urllib.parse import urlencode

import pytest

from support.sandbox import FORM, IMPATIENT, PATIENT, Oracle, Person, ask, held_save, is_answered
from surehand.shell.engines.base import AppTarget
from surehand.shell.sandbox.cases import CASES, Case, Listing, OnSave
from surehand.shell.sandbox.clinic import MAX_NOTE_LENGTH, MAX_NOTES, TARGET, Clinic, SaveAnswer, Visit
from surehand.shell.sandbox.process import SandboxApp

RECORD_PATH = "/api/referrals/r-104/notes"


@pytest.fixture
def target(app: SandboxApp) -> AppTarget:
    """Where a normal run finds the app."""
    return app.target({"sandbox_case": "normal"})


@pytest.fixture
def person(target: AppTarget) -> Person:
    """Someone who is signed in to the normal scenario."""
    someone = Person(target.origin)
    assert someone.sign_in("normal").status == 200
    return someone


def _read(target: AppTarget, timeout: float = PATIENT) -> list[dict[str, str]]:
    answer = ask(target.record_origin, "GET", RECORD_PATH, headers=target.record_headers, timeout=timeout)
    notes: list[dict[str, str]] = json.loads(answer.body)["notes"]
    return notes


class TestNothingWithoutSigningIn:
    """A page of the clinic is shown to someone who signed in, and to nobody else."""

    @pytest.mark.parametrize("path", ["/", "/referrals", "/referrals/r-104", "/referrals/r-104/notes/new"])
    def test_a_stranger_is_sent_to_the_sign_in_page(self, target: AppTarget, path: str) -> None:
        stranger = Person(target.origin)

        stranger.open(path)

        assert stranger.path == "/sign-in"

    def test_a_stranger_saves_nothing(self, target: AppTarget) -> None:
        stranger = Person(target.origin)

        stranger.save("from a stranger")

        assert stranger.path == "/sign-in"
        assert Oracle(target).count("from a stranger") == 0

    def test_the_token_of_the_record_interface_opens_no_page(self, target: AppTarget) -> None:
        answer = ask(target.origin, "GET", "/referrals", headers=target.record_headers)

        assert answer.status == 303

    def test_signing_out_ends_the_session(self, person: Person) -> None:
        cookie = person.cookie
        person.send("/sign-out", {})
        person.cookie = cookie

        person.open("/referrals")

        assert person.path == "/sign-in"

    @pytest.mark.parametrize(
        "form", [{"user": "", "scenario": "normal"}, {"user": "x" * 41, "scenario": "normal"}, {"user": "x"}]
    )
    def test_an_incomplete_sign_in_is_refused(self, target: AppTarget, form: dict[str, str]) -> None:
        assert Person(target.origin).send("/sign-in", form).status == 422

    def test_the_scenario_without_an_app_has_nothing_to_sign_in_to(self, target: AppTarget) -> None:
        assert Person(target.origin).sign_in("app_offline").status == 503


class TestWhatIsSavedIsStored:
    """In the normal scenario a note is stored once, exactly as it was sent, and can be read at once."""

    @pytest.mark.parametrize(
        "note",
        [
            "plain",
            "  blanks around  ",
            "\nfirst line empty",
            "two\nlines",
            "<script>alert(1)</script> & \"quotes\" 'single' $note ${note}",
            "Jose\u0301 composed otherwise: Jos\u00e9",
            "\U0001f6b2 in the middle \U0001f469\u200d\u2695\ufe0f and at the end \U0001f6b2",
            "x" * MAX_NOTE_LENGTH,
            "\U0001f6b2" * MAX_NOTE_LENGTH,
        ],
    )
    def test_a_note_comes_back_as_it_was_sent(self, target: AppTarget, person: Person, note: str) -> None:
        before = Oracle(target).count(note)

        person.save(note.replace("\n", "\r\n"))

        assert Oracle(target).count(note) == before + 1
        assert note in [node.text for node in person.page.all("p")]

    def test_the_page_says_that_it_was_saved_and_the_record_has_every_member(
        self, target: AppTarget, person: Person
    ) -> None:
        known = {note["id"] for note in _read(target)}

        person.save("with every member", urgency="Soon")

        (new,) = [note for note in _read(target) if note["id"] not in known]
        expected = {
            "record_number": TARGET.record_number,
            "patient": TARGET.patient,
            "date_of_birth": TARGET.date_of_birth,
            "note": "with every member",
            "urgency": "Soon",
            "author": "Surehand Sandbox",
        }
        assert new == expected | {"id": new["id"], "created": new["created"]}
        assert _banners(person) == ["Note saved"]

    @pytest.mark.parametrize("note", ["", "x" * (MAX_NOTE_LENGTH + 1)])
    def test_a_note_of_the_wrong_length_is_refused_and_shown_again(
        self, target: AppTarget, person: Person, note: str
    ) -> None:
        answer = person.save(note)

        assert answer.status == 422
        assert [area.text for area in person.page.all("textarea")] == [note]
        assert Oracle(target).count(note) == 0

    def test_an_unknown_urgency_is_refused(self, target: AppTarget, person: Person) -> None:
        assert person.save("urgency unknown", urgency="Whenever").status == 422
        assert Oracle(target).count("urgency unknown") == 0

    def test_an_unknown_referral_is_not_found(self, person: Person) -> None:
        assert person.save("nowhere", referral="r-999").status == 404

    def test_a_second_note_is_a_second_record(self, target: AppTarget, person: Person) -> None:
        person.save("twice")
        person.save("twice")

        assert Oracle(target).count("twice") == 2

    def test_a_full_referral_refuses_and_loses_nothing(self) -> None:
        clinic, visit = Clinic(), Visit("user", CASES["normal"])
        answers = [
            clinic.save(visit, TARGET, note=f"{number}", urgency="Routine", created="2020-01-01T00:00:00Z")
            for number in range(MAX_NOTES)
        ]

        assert answers[-1] is SaveAnswer.REFUSED
        assert answers.count(SaveAnswer.SAVED) == MAX_NOTES - 1
        assert len(clinic.notes(visit.case, TARGET)) == MAX_NOTES


class TestScenariosAreApart:
    """Each sign-in has its own scenario, and a scenario has its own notes."""

    def test_two_people_see_their_own_scenario_at_the_same_time(self, target: AppTarget, person: Person) -> None:
        other = Person(target.origin)
        other.sign_in("duplicate_record")

        person.open("/referrals")
        other.open("/referrals")

        assert len(_rows_of(other)) == len(_rows_of(person)) + 1

    def test_a_note_is_not_in_another_scenario(self, app: SandboxApp, target: AppTarget, person: Person) -> None:
        person.save("only here")

        other = app.target({"sandbox_case": "false_saved_banner"})
        assert "only here" in [note["note"] for note in _read(target)]
        assert "only here" not in [note["note"] for note in _read(other)]


class TestEachCaseDoesWhatItsRowSays:
    """A case does in the real app what its row in the table says."""

    @pytest.mark.parametrize("case", [case for case in CASES.values() if case.reachable], ids=lambda case: case.name)
    def test_the_work_list_has_as_many_rows_of_the_record_as_the_case_says(self, target: AppTarget, case: Case) -> None:
        someone = Person(target.origin)
        someone.sign_in(case.name)

        rows = [row for row in _rows_of(someone) if TARGET.record_number in row]

        assert len(rows) == (2 if case.listing is Listing.TWO_ROWS else 1)
        assert len({row[0] for row in rows}) == 1
        assert len({row[1] for row in rows}) == len(rows)

    def test_a_false_banner_says_saved_and_nothing_is_stored(self, target: AppTarget) -> None:
        someone = Person(target.origin)
        someone.sign_in("false_saved_banner")

        someone.save("pretended")

        assert CASES["false_saved_banner"].on_save is OnSave.PRETEND
        assert _banners(someone) == ["Note saved"]
        assert Oracle(target).count("pretended") == 0

    def test_after_a_timeout_the_record_system_is_silent_about_the_scenario_only(
        self, app: SandboxApp, target: AppTarget, person: Person
    ) -> None:
        silent = app.target({"sandbox_case": "timeout_after_save"})
        someone = Person(target.origin)
        someone.sign_in("timeout_after_save")
        assert _read(silent), "before the save it answers"

        with held_save(someone, "stored and not answered", Oracle(target)) as connection:
            assert not is_answered(connection)

        with pytest.raises(TimeoutError):
            _read(silent, timeout=IMPATIENT)
        assert person.save("meanwhile").status == 200
        assert "meanwhile" in [note["note"] for note in _read(target)]
        assert Oracle(target).count("stored and not answered") == 1

    def test_the_next_sign_in_makes_the_record_system_answer_again(self, app: SandboxApp, target: AppTarget) -> None:
        silent = app.target({"sandbox_case": "timeout_after_save"})
        someone = Person(target.origin)
        someone.sign_in("timeout_after_save")
        with held_save(someone, "answers again later", Oracle(target)) as connection:
            assert not is_answered(connection)

        Person(target.origin).sign_in("timeout_after_save")

        assert "answers again later" in [note["note"] for note in _read(silent)]

    def test_many_hanging_requests_hold_up_nobody(self, target: AppTarget, person: Person) -> None:
        hanging = Person(target.origin)
        hanging.sign_in("timeout_after_save")
        with (
            held_save(hanging, "held 1", Oracle(target)),
            held_save(hanging, "held 2", Oracle(target)),
            held_save(hanging, "held 3", Oracle(target)),
            held_save(hanging, "held 4", Oracle(target)),
        ):
            assert person.open("/referrals").status == 200
            assert person.save("between the held").status == 200


class TestTheRecordInterface:
    """The record interface answers whoever shows its token, and counts every request that could write."""

    @pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer no"}, {"Authorization": "Bearer \u00e9"}])
    @pytest.mark.parametrize("path", [RECORD_PATH, "/api/log"])
    def test_nobody_reads_without_the_token(self, target: AppTarget, path: str, headers: dict[str, str]) -> None:
        assert ask(target.record_origin, "GET", path, headers=headers).status == 401

    def test_a_cookie_opens_no_record(self, target: AppTarget, person: Person) -> None:
        assert ask(target.record_origin, "GET", RECORD_PATH, headers={"Cookie": person.cookie}).status == 401

    def test_health_needs_no_token(self, target: AppTarget) -> None:
        assert ask(target.record_origin, "GET", "/api/health").json == {"status": "ok"}

    def test_an_unknown_scenario_or_referral_is_not_found(self, target: AppTarget) -> None:
        unknown = {**target.record_headers, "Training-Scenario": "nothing"}

        assert ask(target.record_origin, "GET", RECORD_PATH, headers=unknown).status == 404
        elsewhere = ask(target.record_origin, "GET", "/api/referrals/r-999/notes", headers=target.record_headers)
        assert elsewhere.status == 404

    def test_every_write_is_counted_also_one_that_is_refused(self, target: AppTarget, person: Person) -> None:
        before = Oracle(target).writes()

        person.save("counted")
        person.save("")
        ask(target.origin, "DELETE", "/referrals/r-104/notes")

        after = Oracle(target).writes()
        name = "POST /referrals/r-104/notes"
        assert after[name] == before.get(name, 0) + 2
        name = "DELETE /referrals/r-104/notes"
        assert after[name] == before.get(name, 0) + 1


class TestWhatIsNotOursIsRefused:
    """A request of another site, for another host, or of another form is refused and stores nothing."""

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Origin": "http://elsewhere.invalid"}, 403),
            ({"Origin": "null"}, 403),
            ({"Host": "elsewhere.invalid"}, 403),
            ({"Content-Type": "text/plain"}, 415),
            ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ],
    )
    def test_a_foreign_save_is_refused(
        self, target: AppTarget, person: Person, headers: dict[str, str], status: int
    ) -> None:
        body = urlencode({"note": "foreign", "urgency": "Routine"}).encode()

        answer = ask(
            target.origin,
            "POST",
            "/referrals/r-104/notes",
            body=body,
            headers={"Cookie": person.cookie, **FORM, **headers},
        )

        assert answer.status == status
        assert Oracle(target).count("foreign") == 0

    def test_the_same_save_from_our_own_page_is_stored(self, target: AppTarget, person: Person) -> None:
        body = urlencode({"note": "our own", "urgency": "Routine"}).encode()
        headers = {"Cookie": person.cookie, "Origin": target.origin, **FORM}

        ask(target.origin, "POST", "/referrals/r-104/notes", body=body, headers=headers)

        assert Oracle(target).count("our own") == 1

    @pytest.mark.parametrize(
        ("body", "status"),
        [(b"note=" + b"x" * 70_000, 413), (b"note=%ff&urgency=Routine", 400), (b"note=\xff&urgency=Routine", 400)],
    )
    def test_a_form_that_cannot_be_read_is_refused(
        self, target: AppTarget, person: Person, body: bytes, status: int
    ) -> None:
        headers = {"Cookie": person.cookie, **FORM}

        answer = ask(target.origin, "POST", "/referrals/r-104/notes", body=body, headers=headers)

        assert answer.status == status

    def test_pages_load_nothing_from_elsewhere(self, person: Person) -> None:
        policy = person.open("/referrals").headers["content-security-policy"]

        assert policy.startswith("default-src 'none';")
        loaded = [node.attributes.get("href", "") for node in person.page.all("link")]
        loaded += [node.attributes.get("src", "") for node in person.page.all("script", "img")]
        assert all(address.startswith(("/static/", "data:")) for address in loaded)
        assert loaded


def _rows_of(person: Person) -> list[list[str]]:
    return [[cell.name for cell in row.all("td")] for row in person.page.all("tr") if row.all("td")]


def _banners(person: Person) -> list[str]:
    return [node.name for node in person.page.all("p") if node.attributes.get("role") == "status"]
