"""The model of the simulated engine beside the real app, command by command."""

import pytest
from attrs import evolve

from support.sandbox import PlainPerformer
from surehand.core.outcome.decide import decide
from surehand.core.outcome.evidence import Approval, ProcessFact, RunObserved
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.commands import (
    BoundaryAnswer,
    Command,
    Done,
    Finish,
    Observation,
    Record,
    Records,
    Save,
    Wait,
)
from surehand.core.workflow.replay import start, step
from surehand.shell.sandbox.cases import CASES, Case, OnSave
from surehand.shell.sandbox.clinic import Clinic, Referral
from surehand.shell.sandbox.model import SandboxModel
from surehand.shell.sandbox.process import SandboxApp
from surehand.shell.sandbox.workflow import sandbox_bundle

#: The cases in which there is an app to compare with.
REACHABLE = [case for case in CASES.values() if case.reachable]

#: What differs between two clinics and means nothing.
_OWN_TO_A_CLINIC = {"id", "created"}


@pytest.fixture
def bundle() -> Bundle:
    """The sandbox's workflow with a read-back that gives up after three polls."""
    shipped = sandbox_bundle()
    return evolve(shipped, read_back=evolve(shipped.read_back, deadline_ms=200))


def _run_beside(
    app: SandboxApp, bundle: Bundle, case: Case, note: str
) -> tuple[list[tuple[Command, Observation, Observation]], Finish]:
    """Run the machine on the real app, ask the model the same, and return both answers to every command."""
    inputs = {"note": note, "sandbox_case": case.name}
    real = PlainPerformer(bundle, app.target(inputs), answers=case.on_save is not OnSave.STORE_AND_HANG)
    model = SandboxModel(bundle, case)
    answers: list[tuple[Command, Observation, Observation]] = []
    state, command = start(bundle, inputs)
    while not isinstance(command, Finish):
        seen = real.perform(command)
        answers.append((command, _plain(seen), _plain(_ask(model, command))))
        state, command = step(state, seen)
    return answers, command


def _ask(model: SandboxModel, command: Command) -> Observation:
    if isinstance(command, Save):
        return model.save(command, lambda: BoundaryAnswer.GRANTED)
    assert not isinstance(command, Finish)
    return Done() if isinstance(command, Wait) else model.perform(command)


def _plain(observation: Observation) -> Observation:
    """The observation without what is a clinic's own."""
    if not isinstance(observation, Records):
        return observation
    return Records(
        tuple(
            Record("", {name: text for name, text in (record.members or {}).items() if name not in _OWN_TO_A_CLINIC})
            for record in observation.records
        )
    )


class TestTheModelAgreesWithTheApp:
    """Whatever the machine asks in a run of any case, the model answers as the real app does."""

    @pytest.mark.parametrize("case", REACHABLE, ids=lambda case: case.name)
    def test_every_answer_is_the_same(self, app: SandboxApp, bundle: Bundle, case: Case) -> None:
        answers, finish = _run_beside(app, bundle, case, "first line\nJose\u0301 <b>&amp;</b> \U0001f6b2")

        assert [real for _, real, _ in answers] == [modelled for _, _, modelled in answers]
        observed = RunObserved(ProcessFact.EXITED_CLEANLY, finish.report, finish.pause, Approval.NOT_ASKED)
        assert decide(observed) is case.reason

    def test_a_model_of_another_clinic_is_noticed(
        self, app: SandboxApp, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        honest = Clinic.referral

        def another(clinic: Clinic, case: Case, referral_id: str) -> Referral | None:
            row = honest(clinic, case, referral_id)
            return row and evolve(row, date_of_birth="1901-03-15")

        monkeypatch.setattr(Clinic, "referral", another)
        answers, _ = _run_beside(app, bundle, CASES["duplicate_record"], "not seen")
        assert [real for _, real, _ in answers] == [modelled for _, _, modelled in answers], "no form is reached"

        answers, _ = _run_beside(app, bundle, CASES["false_saved_banner"], "seen")
        assert [real for _, real, _ in answers] != [modelled for _, _, modelled in answers]
