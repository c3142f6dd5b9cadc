"""The simulated engine: the five cases, the boundary, and what it does not do."""

import socket
from collections.abc import Callable

import pytest
from attrs import define, evolve

from support.folders import run_python
from surehand.core.outcome.decide import claims, decide
from surehand.core.outcome.evidence import CallRefused, Delivery, Evidence
from surehand.core.outcome.reasons import Outcome, Reason, RecordChanged
from surehand.core.outcome.result import CallFacts, CheckedHow, EngineName, Mode, Proof, project
from surehand.core.workflow.bundle import CheckStep, ChooseStep, ClickStep, FillStep, OpenStep
from surehand.core.workflow.card import default_card
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    CheckPage,
    Choose,
    Click,
    Fault,
    FaultKind,
    Fill,
    Open,
    ReadTexts,
    Save,
    SaveObserved,
)
from surehand.core.workflow.source import JsonRecords
from surehand.core.workflow.target import PageGate, Target, TargetKind
from surehand.shell.engines.base import Job
from surehand.shell.engines.simulated import NO_APP, SimulatedEngine
from surehand.shell.sandbox.cases import CASES, Case
from surehand.shell.sandbox.clinic import (
    MAX_NOTE_LENGTH,
    TARGET,
    URGENCIES,
    Clinic,
    Note,
    Referral,
    SaveAnswer,
    Visit,
)
from surehand.shell.sandbox.model import SandboxModel
from surehand.shell.sandbox.workflow import sandbox_bundle, sandbox_card

#: How each case of the sandbox has to end.
PROMISED = {
    "normal": (Outcome.DONE, Reason.SAVED_AND_CHECKED),
    "duplicate_record": (Outcome.NEEDS_REVIEW, Reason.RECORD_NOT_CONFIRMED),
    "false_saved_banner": (Outcome.NOT_SURE_IF_SAVED, Reason.SAVE_NOT_CONFIRMED),
    "timeout_after_save": (Outcome.NOT_SURE_IF_SAVED, Reason.SAVE_NOT_CONFIRMED),
    "app_offline": (Outcome.DID_NOT_RUN, Reason.APP_UNREACHABLE),
}


@define
class RecordingBoundary:
    """A boundary that writes down what it was asked, and answers as it is told."""

    allows: bool = True
    stops_after: int | None = None
    asked_to_stop: int = 0
    crossings: int = 0

    def cross(self) -> bool:
        """Pass the boundary if it is allowed."""
        self.crossings += 1
        return self.allows

    def stop_requested(self) -> bool:
        """Whether as many commands were performed as the caller wanted."""
        self.asked_to_stop += 1
        return self.stops_after is not None and self.asked_to_stop > self.stops_after


def _run(
    case: str, boundary: RecordingBoundary | None = None, note: str = "a note", limit_ms: int = 120_000
) -> Evidence:
    job = Job(
        run_id="run_" + "0" * 32,
        bundle=sandbox_bundle(),
        inputs={"note": note, "sandbox_case": case},
        target=NO_APP,
        time_limit_ms=limit_ms,
    )
    return SimulatedEngine().execute(job, boundary or RecordingBoundary())


class TestEachCaseEndsAsPromised:
    """The five cases of the sandbox end in their honest outcomes."""

    @pytest.mark.parametrize("case", PROMISED)
    def test_the_case_ends_with_its_outcome_and_reason(self, case: str) -> None:
        evidence = _run(case)

        assert (claims(evidence).outcome, decide(evidence)) == PROMISED[case]

    def test_the_table_of_cases_promises_the_same(self) -> None:
        assert {name: (case.outcome, case.reason) for name, case in CASES.items()} == PROMISED

    def test_done_says_that_it_was_simulated_and_how_it_was_checked(self) -> None:
        facts = CallFacts(run_id="run_" + "0" * 32, mode=Mode.SANDBOX, engine=SimulatedEngine().name, attempt=1)

        result = project(_run("normal"), facts)

        assert result.engine is EngineName.SIMULATED
        assert result.proof is Proof.SIMULATED
        assert result.checked_how is CheckedHow.SYSTEM_OF_RECORD

    def test_an_app_that_is_off_was_sent_nothing(self) -> None:
        boundary = RecordingBoundary()

        evidence = _run("app_offline", boundary)

        assert isinstance(evidence, CallRefused)
        assert boundary.crossings == 0
        assert claims(evidence).safe_to_retry

    @pytest.mark.parametrize("note", ["two\nlines", "Jose\u0301 \U0001f6b2", "x" * MAX_NOTE_LENGTH, " ", "\n"])
    def test_any_accepted_note_can_be_done(self, note: str) -> None:
        assert decide(_run("normal", note=note)) is Reason.SAVED_AND_CHECKED

    @pytest.mark.parametrize("fault", ["drops", "shortens", "doubles", "changes_urgency", "wrong_person"])
    def test_a_clinic_that_stores_something_else_is_never_done(
        self, monkeypatch: pytest.MonkeyPatch, fault: str
    ) -> None:
        monkeypatch.setattr(Clinic, "save", _FAULTY_SAVES[fault])

        assert decide(_run("normal")) is Reason.SAVE_NOT_CONFIRMED

    def test_a_clinic_that_changes_another_note_is_never_done(self, monkeypatch: pytest.MonkeyPatch) -> None:
        honest_notes = Clinic.notes

        def changed(clinic: Clinic, case: Case, row: Referral) -> tuple[Note, ...]:
            first, *others = honest_notes(clinic, case, row)
            return (evolve(first, note="changed") if others else first, *others)

        monkeypatch.setattr(Clinic, "notes", changed)

        assert decide(_run("normal")) is Reason.SAVE_NOT_CONFIRMED


_honest_save = Clinic.save
_MEMBERS = {"urgency": "Routine", "created": "2020-01-02T09:00:00Z"}


def _drops(_clinic: Clinic, _visit: Visit, _row: Referral, **_members: str) -> SaveAnswer:
    return SaveAnswer.SAVED


def _shortens(clinic: Clinic, visit: Visit, row: Referral, **members: str) -> SaveAnswer:
    return _honest_save(clinic, visit, row, note=members["note"][:-1], **_MEMBERS)


def _doubles(clinic: Clinic, visit: Visit, row: Referral, **members: str) -> SaveAnswer:
    _honest_save(clinic, visit, row, note=members["note"], **_MEMBERS)
    return _honest_save(clinic, visit, row, note=members["note"], **_MEMBERS)


def _changes_urgency(clinic: Clinic, visit: Visit, row: Referral, **members: str) -> SaveAnswer:
    return _honest_save(clinic, visit, row, note=members["note"], **{**_MEMBERS, "urgency": URGENCIES[1]})


def _wrong_person(clinic: Clinic, visit: Visit, _row: Referral, **members: str) -> SaveAnswer:
    other = next(row for row in clinic.work_list(visit.case) if row != TARGET)
    return _honest_save(clinic, visit, other, note=members["note"], **_MEMBERS)


_FAULTY_SAVES: dict[str, Callable[..., SaveAnswer]] = {
    "drops": _drops,
    "shortens": _shortens,
    "doubles": _doubles,
    "changes_urgency": _changes_urgency,
    "wrong_person": _wrong_person,
}


class TestTheBoundary:
    """The boundary is crossed once and before the write; where it refuses, nothing is written."""

    @pytest.mark.parametrize("case", ["normal", "false_saved_banner", "timeout_after_save"])
    def test_it_is_crossed_once(self, case: str) -> None:
        boundary = RecordingBoundary()

        _run(case, boundary)

        assert boundary.crossings == 1

    def test_it_is_not_crossed_where_the_run_stops_before_saving(self) -> None:
        boundary = RecordingBoundary()

        _run("duplicate_record", boundary)

        assert boundary.crossings == 0

    def test_it_is_crossed_before_the_clinic_is_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        boundary = RecordingBoundary()
        crossed_when_asked: list[int] = []

        def watched(clinic: Clinic, visit: Visit, row: Referral, **members: str) -> SaveAnswer:
            crossed_when_asked.append(boundary.crossings)
            return _honest_save(clinic, visit, row, note=members["note"], **_MEMBERS)

        monkeypatch.setattr(Clinic, "save", watched)
        _run("normal", boundary)

        assert crossed_when_asked == [1]

    def test_nothing_is_written_where_it_refuses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []

        def watched(_clinic: Clinic, _visit: Visit, _row: Referral, **members: str) -> SaveAnswer:
            asked.append(members["note"])
            return SaveAnswer.SAVED

        monkeypatch.setattr(Clinic, "save", watched)
        evidence = _run("normal", RecordingBoundary(allows=False))

        assert asked == []
        assert decide(evidence) is Reason.PLATFORM_ERROR
        assert claims(evidence).record_changed is RecordChanged.NO


class TestStopping:
    """A wish to stop is heard before every command until the boundary is crossed, and never after it."""

    def test_a_run_that_is_stopped_at_any_point_before_the_save_wrote_nothing(self) -> None:
        undisturbed = RecordingBoundary()
        _run("normal", undisturbed)

        for commands in range(undisturbed.asked_to_stop):
            boundary = RecordingBoundary(stops_after=commands)
            assert decide(_run("normal", boundary)) is Reason.CANCELED
            assert boundary.crossings == 0

    @pytest.mark.parametrize("case", ["normal", "false_saved_banner"])
    def test_after_the_save_the_read_back_is_finished(self, case: str) -> None:
        undisturbed = RecordingBoundary()
        _run(case, undisturbed)

        boundary = RecordingBoundary(stops_after=undisturbed.asked_to_stop)

        assert decide(_run(case, boundary)) is PROMISED[case][1]
        assert boundary.asked_to_stop == undisturbed.asked_to_stop

    def test_time_passes_only_by_waiting_and_bounds_what_comes_before_the_save(self) -> None:
        assert decide(_run("false_saved_banner", limit_ms=0)) is Reason.SAVE_NOT_CONFIRMED
        assert decide(_run("normal", limit_ms=-1)) is Reason.PLATFORM_ERROR


#: Prints by how many bytes 60 runs with notes of this length grow a process in which nothing else happens.
_GROWTH = """
import gc, sys, tracemalloc
from surehand.shell.engines.base import Job
from surehand.shell.engines.simulated import NO_APP, SimulatedEngine
from surehand.shell.sandbox.workflow import sandbox_bundle

class Open:
    def cross(self): return True
    def stop_requested(self): return False

inputs = {"note": "n" * int(sys.argv[1]), "sandbox_case": "normal"}
def runs(number):
    for _ in range(number):
        job = Job(run_id="run_" + "0" * 32, bundle=sandbox_bundle(), inputs=inputs, target=NO_APP)
        SimulatedEngine().execute(job, Open())
    gc.collect()
    return tracemalloc.get_traced_memory()[0]

runs(20)
tracemalloc.start()
before = runs(1)
print(runs(60) - before)
"""


class TestWhatItDoesNot:
    """It opens no socket and keeps nothing of a run."""

    def test_no_socket_is_opened(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a socket")

        monkeypatch.setattr(socket.socket, "__init__", refuse)

        assert {case: decide(_run(case)) for case in PROMISED} == {
            case: reason for case, (_, reason) in PROMISED.items()
        }
        with pytest.raises(AssertionError):
            socket.create_connection(("127.0.0.1", 1))

    def test_memory_does_not_grow_with_runs(self) -> None:
        told = run_python(_GROWTH, MAX_NOTE_LENGTH)

        assert ("", 0) == (told.stderr, told.returncode)
        assert int(told.stdout) < 5 * MAX_NOTE_LENGTH

    def test_runs_do_not_see_one_another(self) -> None:
        assert [decide(_run("normal", note="the same")) for _ in range(3)] == [Reason.SAVED_AND_CHECKED] * 3


class TestTheModelHonorsTheBundle:
    """What the workflow does not declare does not pass: neither a write, nor another channel to read."""

    def _run_with(self, **changes: object) -> Evidence:
        bundle = evolve(sandbox_bundle(), **changes)  # type: ignore[arg-type] # members by name
        inputs = {"note": "a note", "sandbox_case": "normal"}
        job = Job(run_id="run_" + "0" * 32, bundle=bundle, inputs=inputs, target=NO_APP)
        return SimulatedEngine().execute(job, RecordingBoundary())

    def test_a_sign_in_that_was_not_confirmed_as_harmless_is_stopped(self) -> None:
        assert decide(self._run_with(harmless_writes=())) is Reason.UNEXPECTED_SCREEN

    def test_a_save_of_another_route_is_stopped(self) -> None:
        bundle = sandbox_bundle()
        other = evolve(bundle.save, route=evolve(bundle.save.route, path="/referrals/*/other"))

        evidence = self._run_with(save=other)

        assert claims(evidence).record_changed is RecordChanged.NO

    def test_a_record_that_cannot_be_read_stops_the_run_before_the_save(self) -> None:
        elsewhere = evolve(sandbox_bundle().read_back, source=JsonRecords("/api/referrals/r-999/notes", "notes", "id"))

        assert decide(self._run_with(read_back=elsewhere)) is Reason.RECORD_CHECK_NOT_SET_UP

    def test_a_target_that_is_not_there_is_an_unexpected_screen(self) -> None:
        bundle = sandbox_bundle()
        steps = tuple(
            evolve(step, target=evolve(step.target, name="Renamed")) if isinstance(step, ClickStep) else step
            for step in bundle.steps
        )

        assert decide(self._run_with(steps=steps)) is Reason.UNEXPECTED_SCREEN


class TestTheModelIsFenced:
    """In the model, as behind the fence, only the armed route saves, and only through the boundary."""

    def _at(self, steps: int) -> SandboxModel:
        """A model after this many of the workflow's steps."""
        bundle = sandbox_bundle()
        model = SandboxModel(bundle, CASES["normal"])
        for step in bundle.steps[:steps]:
            text = "normal" if step.id == "choose_scenario" else "a text"
            match step:
                case OpenStep(path=path):
                    model.perform(Open(path))
                case FillStep(target=target):
                    model.perform(Fill(target, None, text))
                case ChooseStep(target=target):
                    model.perform(Choose(target, None, text))
                case ClickStep(target=target):
                    model.perform(Click(target, TARGET.record_number if target.row else None))
                case CheckStep():
                    raise AssertionError("the sandbox has no boxes")
        return model

    def _save(self, model: SandboxModel, target: Target, boundary: RecordingBoundary) -> SaveObserved:
        def cross() -> BoundaryAnswer:
            return BoundaryAnswer.GRANTED if boundary.cross() else BoundaryAnswer.REFUSED

        return model.save(Save(target, None, sandbox_bundle().save.route), cross)

    def test_the_armed_route_saves_through_the_boundary(self) -> None:
        model, boundary = self._at(7), RecordingBoundary()

        assert self._save(model, sandbox_bundle().save.target, boundary) == SaveObserved(
            Delivery.SENT_ONCE, 0, boundary=BoundaryAnswer.GRANTED
        )
        assert boundary.crossings == 1
        assert [note.note for note in model.clinic.notes(CASES["normal"], TARGET)][1:] == ["a text"]

    def test_a_click_with_the_fence_closed_saves_nothing(self) -> None:
        model = self._at(7)

        assert model.perform(Click(sandbox_bundle().save.target, None)) == Fault(FaultKind.EARLY_WRITE_STOPPED)
        assert len(model.clinic.notes(CASES["normal"], TARGET)) == 1

    @pytest.mark.parametrize(
        ("steps", "target"),
        [
            (3, Target(TargetKind.ROLE, "Sign in", "button")),
            (7, Target(TargetKind.ROLE, "Cancel", "link")),
            (7, Target(TargetKind.ROLE, "Not there", "button")),
            (7, Target(TargetKind.TEST_ID, "patient-name")),
        ],
    )
    def test_what_does_not_save_is_not_sent_and_crosses_nothing(self, steps: int, target: Target) -> None:
        boundary = RecordingBoundary()

        observed = self._save(self._at(steps), target, boundary)

        assert observed == SaveObserved(Delivery.NOT_SENT, 0, boundary=BoundaryAnswer.NOT_ASKED)
        assert boundary.crossings == 0

    @pytest.mark.parametrize(
        ("command", "fault"),
        [
            (Choose(Target(TargetKind.LABEL, "Urgency"), None, "Whenever"), FaultKind.OPTION_MISSING),
            (Click(Target(TargetKind.ROLE, "Not there", "link"), None), FaultKind.TARGET_MISSING),
            (ReadTexts((Target(TargetKind.TEST_ID, "not-there"),), (None,)), FaultKind.TARGET_MISSING),
            (
                CheckPage(PageGate("/referrals", Target(TargetKind.ROLE, "Referrals", "heading"))),
                FaultKind.PAGE_UNEXPECTED,
            ),
            (
                CheckPage(PageGate("/referrals/*/notes/new", Target(TargetKind.ROLE, "Other", "heading"))),
                FaultKind.PAGE_UNEXPECTED,
            ),
        ],
    )
    def test_what_cannot_be_done_is_a_fault(
        self, command: Choose | Click | ReadTexts | CheckPage, fault: FaultKind
    ) -> None:
        assert self._at(6).perform(command) == Fault(fault)

    def test_without_a_user_name_the_sign_in_page_stays(self) -> None:
        model = self._at(1)
        model.perform(Click(Target(TargetKind.ROLE, "Sign in", "button"), None))

        gate = sandbox_bundle().save.page
        assert model.perform(CheckPage(gate)) == Fault(FaultKind.SIGN_IN_SHOWN)

    def test_a_path_that_the_clinic_does_not_have_is_no_page_of_it(self) -> None:
        model = self._at(4)
        model.perform(Open("/referrals/r-999"))

        assert model.page.elements[0].text == "Not found"


class TestTheBundleFitsTheClinic:
    """The shipped bundle names what the clinic has, and its choices are the table of cases."""

    def test_the_inputs_are_the_note_and_the_case(self) -> None:
        note, case = sandbox_bundle().parameters

        assert (note.name, note.required, note.min_length, note.max_length) == ("note", True, 1, MAX_NOTE_LENGTH)
        assert (case.name, case.required, case.choices) == ("sandbox_case", True, tuple(CASES))

    def test_the_identity_is_that_of_the_synthetic_patient(self) -> None:
        read = sandbox_bundle().read_back
        model = SandboxModel(sandbox_bundle(), CASES["normal"])

        (shown,) = model.clinic.notes(CASES["normal"], TARGET)
        assert read.source == JsonRecords(f"/api/referrals/{TARGET.id}/notes", "notes", "id")
        assert {item.name: item.expected for item in read.identity}.keys() == {
            "record_number",
            "patient",
            "date_of_birth",
        }
        assert shown.record_number == TARGET.record_number

    def test_the_card_is_the_one_that_was_written(self) -> None:
        assert sandbox_card() != default_card(sandbox_bundle())
        assert sandbox_card().name == "add_triage_note"
        assert [shown.choices for shown in sandbox_card().inputs] == [None, tuple(CASES)]
