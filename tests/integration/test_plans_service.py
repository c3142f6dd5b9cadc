"""Plans over the real service: each save through the request gate, and the ledger as the judge of doubt.

Laws:

- The request of a step is that of its visit: asked for again, it is answered, not done again.
- A step runs the version that it is pinned to, or none.
- What the ledger cannot say now leaves the run as it is.
"""

import shutil
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from attrs import evolve

from support import plans
from support.stores import DONE, result_of
from surehand.core.attention.decision import DecisionRequest, DecisionStatus, Door, Ended
from surehand.core.attention.evidence import SealedEvidence
from surehand.core.attention.pause import Action, DeliveryState
from surehand.core.modes import ROWS, Start
from surehand.core.orchestration.definition import SkillInvocationStep, WorkflowDefinition
from surehand.core.orchestration.events import At, Doubt, RunSkill
from surehand.core.orchestration.result import StepEnd, StepFailure, end_as_told
from surehand.core.orchestration.run import RunStatus, WorkflowRun, outcome_of
from surehand.core.orchestration.text import Binding, bound, by_name
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.outcome.reasons import Outcome, RecordChanged
from surehand.shell.assembly import build_service
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.attended.instants import instants_of
from surehand.shell.attended.keeping import Stop, keep_stop
from surehand.shell.attended.sealing import EvidenceFiles
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.config import BundleArguments, settings
from surehand.shell.identity import attention_key
from surehand.shell.locks import OwnerLock
from surehand.shell.orchestration.performing import Surroundings
from surehand.shell.orchestration.runner import WorkflowRunner
from surehand.shell.orchestration.workflows import ServedWorkflows
from surehand.shell.service import Service
from surehand.shell.store.attention import attention_of
from surehand.shell.store.base import StoreError
from surehand.shell.store.sqlite import SqliteStore


@contextmanager
def served(folder: Path) -> Generator[Service]:
    """The service of the sandbox, simulated."""
    chosen = settings(folder, "simulated", headed=False, bundles=BundleArguments(folder=None))
    service = build_service(chosen, ROWS[Start.SANDBOX])
    try:
        yield service
    finally:
        service.close()


def definition(*steps: SkillInvocationStep) -> WorkflowDefinition:
    """A plan of these steps."""
    return evolve(plans.definition(*steps), skills=())


def note(step_id: str, case: str = "normal", text: str = "Seen.") -> SkillInvocationStep:
    """A step that adds a note."""
    return SkillInvocationStep(
        step_id=step_id,
        skill_id="add_triage_note",
        args=bound({"note": text, "sandbox_case": case}),
        outputs=(Binding(f"{step_id}_run", "run_id"),),
    )


def gone_through(
    folder: Path, service: Service, plan: WorkflowDefinition, request_id: str | None = None
) -> WorkflowRun:
    """A run of a plan."""
    with WorkflowRunner(folder / "plans", Surroundings(workflows=ServedWorkflows(service))) as runner:
        run = runner.run(plan, request_id=request_id)
    assert isinstance(run, WorkflowRun), run
    return run


class TestThroughTheGate:
    """Each save is a request of its own, under an id that its visit alone has."""

    def test_every_save_stands_in_the_ledger(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            run = gone_through(tmp_path, service, definition(note("one"), note("two", text="See {one_run}.")))
            attempts = [service.attempts(f"{run.id}.{step}.1") for step in ("one", "two")]

        assert (RunStatus.COMPLETED, Outcome.DONE) == (run.status, outcome_of(run).outcome)
        assert [each.end.reference for each in run.step_results] == [found[0].run_id for found in attempts]
        assert run.step_results[0].end.reference == by_name(run.variables)["one_run"]

    def test_the_same_visit_is_answered_and_not_done_again(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            workflows = ServedWorkflows(service)
            (skill,) = workflows.skills()
            asked = RunSkill(at=At("one", 1), request_id="plan.one.1", skill_id=skill.skill_id, inputs=note("one").args)
            assert Doubt.NOT_DELIVERED is workflows.look_up(asked)
            ends = [workflows.run(asked, skill.digest) for _ in range(2)]
            found = workflows.look_up(asked)
            attempts = service.attempts(asked.request_id)

        assert ends[0] == ends[1] == found
        assert 1 == len(attempts)

    @pytest.mark.parametrize(
        ("case", "status", "outcome", "changed"),
        [
            ("duplicate_record", RunStatus.NEEDS_PERSON, Outcome.NEEDS_REVIEW, RecordChanged.NO),
            ("timeout_after_save", RunStatus.NEEDS_PERSON, Outcome.NOT_SURE_IF_SAVED, RecordChanged.UNKNOWN),
            ("app_offline", RunStatus.FAILED, Outcome.DID_NOT_RUN, RecordChanged.NO),
        ],
    )
    def test_the_weakest_step_decides(
        self, tmp_path: Path, case: str, status: RunStatus, outcome: Outcome, changed: RecordChanged
    ) -> None:
        with served(tmp_path) as service:
            run = gone_through(tmp_path, service, definition(note("one", case), note("two")))

        assert (status, outcome, changed) == (run.status, outcome_of(run).outcome, outcome_of(run).record_changed)

    def test_what_was_saved_before_is_not_told_as_nothing_written(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            run = gone_through(tmp_path, service, definition(note("one"), note("two", "app_offline")))

        assert (RunStatus.FAILED, "two") == (run.status, run.current_step_id)
        assert Outcome.NOT_SURE_IF_SAVED is outcome_of(run).outcome


class TestWhatPeopleLetHappenLater:
    """A plan that stopped for a person says no longer that nothing was written when its step was let go on."""

    def test_it_is_told_by_what_the_ledger_says_now(self, tmp_path: Path) -> None:
        plan = definition(note("one", "duplicate_record"), note("two"))
        with (
            served(tmp_path) as service,
            WorkflowRunner(tmp_path / "plans", Surroundings(workflows=ServedWorkflows(service))) as runner,
        ):
            before = runner.run(plan, request_id="entry-1")
            assert isinstance(before, WorkflowRun)
            let_go_on(tmp_path / "surehand", before.step_results[0].end.reference or "")
            told = (runner.get(before.id), runner.resume(before.id), runner.run(plan, request_id="entry-1"))

        assert Outcome.NEEDS_REVIEW is outcome_of(before).outcome
        for each in told:
            assert isinstance(each, WorkflowRun)
            whole = outcome_of(each)
            assert (RunStatus.NEEDS_PERSON, Outcome.NOT_SURE_IF_SAVED, RecordChanged.YES) == (
                each.status,
                whole.outcome,
                whole.record_changed,
            )

    def test_what_the_ledger_does_not_know_may_have_been_written(self, tmp_path: Path) -> None:
        unknown = "run_" + "0" * 32
        with served(tmp_path) as service:
            told = ServedWorkflows(service).told(frozenset({unknown, "plan.a.1"}))

        assert {unknown: end_as_told(None, unknown)} == told


def let_go_on(folder: Path, run_id: str) -> None:
    """A person lets a run that stopped before its save go on, and it saves."""
    lock = OwnerLock.acquire(folder)
    with closing(SqliteStore.open(folder)) as store:
        attention, record = attention_of(store), store.load(run_id)
        assert attention is not None
        assert record is not None
        files = EvidenceFiles(folder, attention_key(folder))
        stop = Stop(
            category=PauseCategory.DISAMBIGUATION,
            at=1,
            before_save=True,
            skippable=False,
            delivery=DeliveryState.NOT_DELIVERED,
            evidence=SealedEvidence(inputs=()),
            owner=lock.token,
        )
        keep_stop(attention, files, record, {"note": "Seen."}, stop, instants_of(SYSTEM_CLOCK))
        desk = AttendedDesk(attention, files)
        (item,) = desk.items().items
        assert item.capability_digest is not None
        request = DecisionRequest(item.id, item.capability_digest, "key-of-continue-16", confirm=True)
        desk.decide(request, Action.CONTINUE, Door.TERMINAL)
        (decision,) = attention.unended()
        claimed = attention.claim(decision.key, lock.token)
        assert claimed is not None
        attention.begin_continuation_delivery(run_id, claimed.number, lock.token)
        ended = Ended(lock.token, DecisionStatus.COMPLETED, SYSTEM_CLOCK.now())
        attention.end(decision.key, ended, result_of(record, DONE))
    lock.release()


class TestALostFileOfPlans:
    """The steps of a request keep their names, so that the ledger answers them even when no plan is remembered."""

    def test_nothing_is_saved_again(self, tmp_path: Path) -> None:
        plan = definition(note("one"), note("two"))
        with served(tmp_path) as service:
            first = gone_through(tmp_path, service, plan, "entry-1")
            shutil.rmtree(tmp_path / "plans")
            again = gone_through(tmp_path, service, plan, "entry-1")
            attempts = [service.attempts(f"{first.id}.{step}.1") for step in ("one", "two")]

        assert first.step_results == again.step_results
        assert [1, 1] == [len(found) for found in attempts]

    def test_a_run_without_a_request_has_a_name_of_its_own(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            plan = definition(note("one"))
            assert gone_through(tmp_path, service, plan).id != gone_through(tmp_path, service, plan).id


class TestVersions:
    """Another version of a workflow than the pinned one is not run."""

    def test_it_changed_meanwhile(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            workflows = ServedWorkflows(service)
            (skill,) = workflows.skills()
            asked = RunSkill(at=At("a", 1), request_id="plan.a.1", skill_id=skill.skill_id, inputs=note("a").args)
            end = workflows.run(asked, "f" * 64)

            assert (StepFailure.SKILL_CHANGED, RecordChanged.NO, ()) == (
                end.failure,
                end.record_changed,
                service.attempts("plan.a.1"),
            )
            other = workflows.run(evolve(asked, skill_id="other"), skill.digest)
            assert StepFailure.SKILL_CHANGED is other.failure


class TestAClosedLedger:
    """A ledger that cannot answer now says nothing about what was done."""

    def test_it_raises(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            workflows = ServedWorkflows(service)
            asked = RunSkill(at=At("a", 1), request_id="plan.a.1", skill_id="add_triage_note", inputs=())
        with pytest.raises(StoreError):
            workflows.look_up(asked)

    def test_a_wish_for_what_does_not_run_is_none(self, tmp_path: Path) -> None:
        with served(tmp_path) as service:
            ServedWorkflows(service).cancel("plan.a.1")
            assert isinstance(gone_through(tmp_path, service, definition(note("a"))).step_results[0].end, StepEnd)
