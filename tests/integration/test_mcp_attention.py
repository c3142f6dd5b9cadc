"""The tools about stopped runs, over a real ledger and a person who answers by a script.

``PROMISES`` maps everything that is promised about stopped runs to the test that holds it.
"""

import ast
import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest
from attrs import evolve, frozen

from support.mcp_fake_service import FakeService
from support.stopped import CANARIES, Stopped, StoppedRuns
from support.stores import HALTED
from surehand.core.attention.capability import CODE_TRIES, DecisionRefusal
from surehand.core.attention.decision import DecisionStatus
from surehand.core.attention.form import Confirmed
from surehand.core.attention.pause import Action, AttentionItem, DeliveryState
from surehand.core.modes import DECISIONS, ROWS, Flags, Row, Start, choose
from surehand.core.outcome.evidence import PauseCategory
from surehand.core.outcome.result import Mode
from surehand.shell.attended.desk import AttendedDesk
from surehand.shell.clock import SYSTEM_CLOCK
from surehand.shell.mcp.answers import MAX_ANSWER_BYTES, wire_size
from surehand.shell.mcp.asking import Action as Did
from surehand.shell.mcp.asking import Form, FormAnswer, FormPendingError
from surehand.shell.mcp.attention import Attention, AttentionTools, ConfirmBy, attention_in
from surehand.shell.mcp.desk import Desk
from surehand.shell.mcp.form_state import FormStates
from surehand.shell.mcp.table import ToolTable
from surehand.shell.store.memory import MemoryStore

#: Everything that is promised about stopped runs, in words of its own, and where it is held: a file, a class in it.
PROMISES: Final[dict[str, tuple[str, str]]] = {
    "a decision takes four members, nothing else, and says what it may do": (__name__, "TestADecisionIsFourMembers"),
    "the digest and the allowed actions leave, nothing typed or seen does": (__name__, "TestNothingTypedOrSeenLeaves"),
    "the queue comes in bounded pages": (__name__, "TestTheQueueIsPaged"),
    "the agent's own confirmation is no person's": (__name__, "TestAPersonIsAskedByTheActionsOwnForm"),
    "only an accepted and confirmed form decides": (__name__, "TestOnlyAConfirmedFormDecides"),
    "a client without forms decides nothing and is told where a person can": (__name__, "TestAClientWithoutForms"),
    "what acts in the app needs the code of this computer": (__name__, "TestTheCodeOfThisComputer"),
    "a capability that is not the newest of this pause is refused": (__name__, "TestACapabilityThatDoesNotCount"),
    "a key is one decision, and a final decision is the last": (__name__, "TestAKeyIsOneDecision"),
    "Reject ends the run; Teach and Escalate leave it; Reconcile reads": (__name__, "TestWhatADecisionMakesOfTheRun"),
    "Continue is carried out once, by who holds the window": (__name__, "TestWhatADecisionMakesOfTheRun"),
    "the server answers others meanwhile": (__name__, "TestTheServerStaysResponsive"),
    "and over the wire, in the middle of a continuation": (
        "tests/integration/test_mcp_attention_held.py",
        "TestTheServerAnswersWhileARunGoesOn",
    ),
    "an answer by a second call is bound, sealed and used once": (__name__, "TestTheEraWithoutAWayBack"),
    "a ledger of another kind refuses by name": (__name__, "TestALedgerThatKeepsNoDecisions"),
    "a capability binds all that its pause says": ("tests/properties/test_attention_capability.py", "TestBinding"),
    "one function verifies it, by both clocks": ("tests/properties/test_attention_capability.py", "TestVerification"),
    "it is over in the second in which it ends": ("tests/properties/test_attention_capability.py", "TestExpiry"),
    "what is done is what was decided about": ("tests/properties/test_attention_capability.py", "TestSameWork"),
    "what may be decided follows from the pause": ("tests/properties/test_attention_pause.py", "TestAllowedActions"),
    "a person is asked in one of six ways": ("tests/properties/test_attention_pause.py", "TestSixViews"),
    "after a review nothing is retryable": ("tests/properties/test_attention_review.py", "TestAnswerAfterReview"),
    "a receipt credits nobody for what did not happen": ("tests/properties/test_attention_decision.py", "TestReceipts"),
    "one continuation passes the boundary": ("tests/properties/test_attention_decision.py", "TestContinuations"),
    "a decision is on disk before it is carried out": ("tests/integration/test_attended_store.py", "TestFlushes"),
    "without an account nobody decides": ("tests/integration/test_attended_desk.py", "TestBadInput"),
    "a step that a person did is never done again": ("tests/integration/test_attended_engine.py", "TestContinue"),
    "the whole way, with every process and a window on a screen": (
        "tests/integration/test_whole_way.py",
        "TestAPersonLetsAStoppedRunGoOn",
    ),
    "a doubt whose process died is read again": (
        "tests/integration/test_attended_worker.py",
        "TestAfterADeathBehindTheBoundary",
    ),
    "a decision or a wish starts a worker that is gone": (
        "tests/integration/test_attended_worker.py",
        "TestAWorkerThatIsGone",
    ),
    "what was refused is kept as long as its pause can be decided about": (
        "tests/integration/test_attended_store.py",
        "TestOldAuditLines",
    ),
    "the whole way in a browser": ("tests/integration/test_attended_engine.py", "TestTheRoundTrip"),
    "who continues without the step is told so": (
        "tests/integration/test_mcp_attention_worker.py",
        "TestAFormDecidesAndTheWorkerCarriesOut",
    ),
    "a step is left out only where that is declared, and the rest of the run is compared as ever": (
        "tests/integration/test_attended_engine.py",
        "TestSkip",
    ),
    "before a run goes on, what was decided about is compared with what would be done": (
        "tests/integration/test_attended_engine.py",
        "TestWhatWasDecidedAbout",
    ),
    "one thread owns the windows, and one decision of a run is carried out at a time": (
        "tests/integration/test_attended_worker.py",
        "TestInterleaving",
    ),
    "a run that was reviewed is run again by nobody": (
        "tests/integration/test_attended_worker.py",
        "TestAfterAReview",
    ),
    "a window is opened anew behind the fence": ("tests/integration/test_attended_engine.py", "TestTheWindow"),
    "a reading writes nothing": ("tests/integration/test_attended_engine.py", "TestReconcile"),
    "the agent learns that nobody decided": (
        "tests/integration/test_attended_answers.py",
        "TestAnAgentIsNotToldToWaitForNothing",
    ),
    "a person at a terminal decides, and no program": (
        "tests/integration/test_cli_attend.py",
        "TestDecidingIsAPersonsAct",
    ),
}

Json = dict[str, Any]
Answering = Callable[[Form], FormAnswer]

ATTENDED = choose(Flags(bundles=True, mode=Mode.ATTENDED, qualified_config=True))


def accept(**content: object) -> Answering:
    """A person who accepts with this content."""
    return lambda _form: FormAnswer(Did.ACCEPT, content)


YES = accept(confirm=True)

#: What a person, a client or a hook may answer that is no confirmation.
UNCONFIRMED: list[FormAnswer] = [
    FormAnswer(Did.DECLINE),
    FormAnswer(Did.DECLINE, {"confirm": True}),
    FormAnswer(Did.CANCEL),
    FormAnswer(Did.ACCEPT),
    FormAnswer(Did.ACCEPT, {}),
    FormAnswer(Did.ACCEPT, {"confirm": False}),
    FormAnswer(Did.ACCEPT, {"confirm": "true"}),
    FormAnswer(Did.ACCEPT, {"confirm": True, "note": "x"}),
]


async def nothing(_waited: float, _total: float) -> None:
    """Progress that nobody asked for."""


class Bench:
    """A server's tools over a ledger in memory, with everything that was asked and said."""

    def __init__(self, folder: Path, confirm_by: ConfirmBy = ConfirmBy.FORM, row: object = ATTENDED) -> None:
        assert isinstance(row, Row)
        self.runs = StoppedRuns(store := MemoryStore(), folder)
        self.desk = AttendedDesk.over(store, folder, code_required=confirm_by is ConfirmBy.CODE)
        self.forms: list[Form] = []
        self.said: list[Json] = []
        self.row = row
        self.table = self.server(confirm_by)

    def server(self, confirm_by: ConfirmBy = ConfirmBy.FORM, wait: float = 0.0) -> ToolTable:
        """A server over the same ledger, as after a restart; its calls wait so many seconds for an end."""
        states = FormStates(self.desk.key_for("form-state"), SYSTEM_CLOCK.now, self.desk.spend_form)
        tools = AttentionTools(self.row, lambda: Attention(self.desk, states), confirm_by, wait_seconds=wait)
        return ToolTable(self.row, Desk(FakeService), tools.tools())

    def call(self, name: str, arguments: Json, answer: Answering = YES, *, forms: bool = True) -> Json:
        """What a client receives."""
        return asyncio.run(self.called(name, arguments, answer, forms=forms))

    async def called(self, name: str, arguments: Json, answer: Answering = YES, *, forms: bool = True) -> Json:
        """The same, in a loop that goes on."""

        async def ask(form: Form) -> FormAnswer:
            self.forms.append(form)
            return answer(form)

        result = await self.table.call(name, arguments, nothing, ask, shows_forms=forms)
        assert result is not None
        self.said.append(result)
        return result

    def arguments(self, stopped: Stopped, key: str = "key-0123456789-abcdef", **changes: object) -> Json:
        """The four members of a decision about a run as it is shown now."""
        item = self.desk.item(stopped.attention_id)
        assert item is not None
        return {
            "attention_id": stopped.attention_id,
            "capability_digest": item.capability_digest or "0" * 64,
            "idempotency_key": key,
            "confirm": True,
            **changes,
        }

    def decide(self, action: Action, stopped: Stopped, answer: Answering = YES, **changes: Any) -> Json:  # noqa: ANN401 - members
        """The receipt of a decision."""
        receipt: Json = self.call(f"{action.value}_attention", self.arguments(stopped, **changes), answer)[
            "structuredContent"
        ]
        return receipt

    def standing(self, stopped: Stopped) -> tuple[object, ...]:
        """Everything that a decision could change."""
        record = self.runs.store.load(stopped.run_id)
        return self.desk.item(stopped.attention_id), record, self.runs.attention.decisions(stopped.run_id)

    def audit(self) -> list[DecisionRefusal]:
        """Why decisions were refused, the newest first."""
        return [line.refusal for line in self.desk.refused()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Tools without the code, for everything that is not about it."""
    made = Bench(tmp_path)
    yield made
    made.runs.close()


@pytest.fixture
def coded(tmp_path: Path) -> Iterator[Bench]:
    """Tools as they are served unless the operator says otherwise."""
    made = Bench(tmp_path, ConfirmBy.CODE)
    yield made
    made.runs.close()


def tools_of(table: ToolTable, *, forms: bool = True) -> dict[str, Json]:
    """The tools that a client is shown."""
    listed: Any = asyncio.run(table.listing(shows_forms=forms))
    return {tool["name"]: tool for tool in listed["tools"]}


class TestEveryPromiseHasATest:
    """No promise names a test that is not there."""

    @pytest.mark.parametrize("promise", PROMISES)
    def test_it_is_there(self, promise: str) -> None:
        file, name = PROMISES[promise]
        here = Path(__file__).resolve()
        module = here if file == __name__ else here.parents[2] / file
        classes = [each for each in ast.parse(module.read_text()).body if isinstance(each, ast.ClassDef)]

        assert name in {each.name for each in classes}


class TestADecisionIsFourMembers:
    """One tool for each action, closed, with the four members, and with hints of what it may do."""

    #: Destructive, open world; every one changes something and may be repeated.
    HINTS: Final = {
        "reject_attention": (True, False),
        "teach_attention": (False, False),
        "escalate_attention": (False, False),
        "reconcile_attention": (False, True),
        "continue_attention": (True, True),
        "skip_attention": (True, True),
    }

    def test_the_schemas_and_the_hints(self, bench: Bench) -> None:
        tools = {name: tool for name, tool in tools_of(bench.table).items() if name in self.HINTS}

        assert {*tools} == {*self.HINTS} == {each.value for each in DECISIONS}
        for name, tool in tools.items():
            schema, hints = tool["inputSchema"], tool["annotations"]
            assert list(schema["properties"]) == ["attention_id", "capability_digest", "idempotency_key", "confirm"]
            assert schema["required"] == list(schema["properties"])
            assert schema["additionalProperties"] is False
            assert (hints["destructiveHint"], hints["openWorldHint"]) == self.HINTS[name]
            assert (hints["readOnlyHint"], hints["idempotentHint"]) == (False, True)

    @pytest.mark.parametrize(
        "changes",
        [
            {"note": "x"},
            {"confirm": "true"},
            {"idempotency_key": "short"},
            {"attention_id": "att_../../etc/passwd"},
            {"attention_id": "run_0123456789abcdef0123456789abcdef"},
            {"capability_digest": 7},
        ],
    )
    def test_anything_else_is_refused_and_changes_nothing(self, bench: Bench, changes: Json) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)

        refused = bench.call("reject_attention", bench.arguments(stopped, **changes))

        assert refused["isError"] is True
        assert (bench.forms, bench.standing(stopped)) == ([], before)


class TestNothingTypedOrSeenLeaves:
    """No answer holds a value, a label, an address, a name of the operator's, or a picture; the evidence holds them."""

    def test_over_every_tool_and_every_end(self, bench: Bench) -> None:
        first, second, third = bench.runs.stop(), bench.runs.stop(), bench.runs.stop(delivery=DeliveryState.UNKNOWN)
        for stopped, action in ((first, Action.CONTINUE), (second, Action.REJECT), (third, Action.ESCALATE)):
            bench.decide(action, stopped, key=f"key-of-{stopped.attention_id}")
            bench.decide(action, stopped, key="another-key-of-sixteen")
            bench.call("get_attention_item", {"attention_id": stopped.attention_id})
        bench.runs.perform()
        bench.call("get_attention_item", {"attention_id": first.attention_id})
        bench.call("list_needs_attention", {})
        told = json.dumps([bench.said, [(form.message, form.schema) for form in bench.forms]])

        assert [canary for canary in CANARIES if canary in told] == []

    def test_what_is_kept_for_the_operator_would_be_found(self, bench: Bench) -> None:
        evidence = bench.desk.evidence(bench.runs.stop().attention_id)

        assert evidence is not None
        assert [word for word in CANARIES[:2] if word in f"{evidence.address} {evidence.control}"] == [*CANARIES[:2]]


class TestTheQueueIsPaged:
    """Each page is at most 24 KB on the wire, and none that waits is lost or told twice."""

    def test_60_stopped_runs(self, bench: Bench) -> None:
        waiting = [bench.runs.stop().attention_id for _ in range(60)]
        seen: list[str] = []
        cursor: Json = {}
        for _ in range(60):
            page = bench.call("list_needs_attention", cursor)["structuredContent"]
            assert wire_size(page) <= MAX_ANSWER_BYTES
            seen += [item["id"] for item in page["items"]]
            if "next" not in page:
                break
            cursor = {"cursor": page["next"]}

        assert sorted(seen) == sorted(waiting)

    def test_nothing_waits(self, bench: Bench) -> None:
        assert bench.call("list_needs_attention", {})["structuredContent"] == {"items": []}

    def test_an_item_that_is_not_known(self, bench: Bench) -> None:
        told = bench.call("get_attention_item", {"attention_id": "att_" + "0" * 24})

        assert told["isError"] is True


class TestAPersonIsAskedByTheActionsOwnForm:
    """The agent's confirmation asks the person; the form is the action's own, and says which run it is about."""

    @pytest.mark.parametrize("action", [Action.CONTINUE, Action.REJECT, Action.TEACH, Action.ESCALATE])
    def test_one_form_before_anything_is_decided(self, bench: Bench, action: Action) -> None:
        stopped = bench.runs.stop()
        undecided: list[object] = []

        def look(form: Form) -> FormAnswer:
            undecided.append(bench.runs.attention.decisions(stopped.run_id))
            return YES(form)

        bench.decide(action, stopped, look)
        (form,) = bench.forms

        assert undecided == [()]
        assert stopped.attention_id in form.message
        assert form.schema["required"] == ["confirm"]

    def test_a_confirmation_that_is_false_asks_nobody(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)

        receipt = bench.decide(Action.REJECT, stopped, confirm=False)

        assert (receipt["status"], receipt["reason"]) == ("refused", "not_confirmed")
        assert (bench.forms, bench.standing(stopped)) == ([], before)


class TestOnlyAConfirmedFormDecides:
    """Decline, cancel, an empty acceptance and anything beside the box leave the pause as it was; the audit has it."""

    @pytest.mark.parametrize("answer", UNCONFIRMED, ids=lambda answer: f"{answer.action.value} {answer.content}")
    def test_nothing_else_does(self, bench: Bench, answer: FormAnswer) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)

        receipt = bench.decide(Action.REJECT, stopped, lambda _form: answer)

        assert (receipt["status"], receipt["reason"], receipt["final"]) == ("refused", "not_confirmed", True)
        assert (bench.standing(stopped), bench.audit()) == (before, [DecisionRefusal.NOT_CONFIRMED])

    def test_a_person_who_says_nothing_decides_nothing(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)

        async def silence() -> None:
            asked = asyncio.Event()

            async def ask(_form: Form) -> FormAnswer:
                asked.set()
                silent: asyncio.Future[FormAnswer] = asyncio.get_running_loop().create_future()
                return await silent

            call = bench.table.call("reject_attention", bench.arguments(stopped), nothing, ask)
            waiting = asyncio.ensure_future(call)
            await asked.wait()
            waiting.cancel()
            await asyncio.wait({waiting})

        asyncio.run(silence())

        assert bench.standing(stopped) == before

    def test_a_judge_that_takes_any_answer_would_be_caught(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("surehand.shell.mcp.attention.judge_answer", mock.Mock(return_value=Confirmed()))
        stopped = bench.runs.stop()
        before = bench.standing(stopped)
        bench.decide(Action.REJECT, stopped, lambda _form: FormAnswer(Did.DECLINE))

        assert bench.standing(stopped) != before

    def test_a_confirmed_one_does(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)

        assert bench.decide(Action.REJECT, stopped)["status"] == "rejected"
        assert bench.standing(stopped) != before


class TestAClientWithoutForms:
    """It is not shown the decisions, cannot take one by their names, and is told where a person can."""

    def test_the_tools(self, bench: Bench) -> None:
        shown, hidden = tools_of(bench.table), tools_of(bench.table, forms=False)

        assert {*shown} - {*hidden} == {each.value for each in DECISIONS}

    def test_the_sentence(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        before = bench.standing(stopped)
        told = [
            bench.call("list_needs_attention", {}, forms=False)["structuredContent"]["how_to_decide"],
            bench.call("get_attention_item", {"attention_id": stopped.attention_id}, forms=False)["structuredContent"][
                "how_to_decide"
            ],
            bench.call("reject_attention", bench.arguments(stopped), forms=False)["content"][0]["text"],
        ]

        assert all("surehand console --attend --allow-actions" in each for each in told)
        assert all("surehand attend" in each for each in told)
        assert (bench.forms, bench.standing(stopped)) == ([], before)

    def test_a_server_without_the_decisions_that_act_says_where_those_are_taken(self, tmp_path: Path) -> None:
        told = Bench(tmp_path, row=ROWS[Start.ATTENDED]).call("list_needs_attention", {})["structuredContent"]

        assert told["how_to_decide"].startswith("Continue and Skip are no tools of this server.")

    def test_a_server_that_takes_no_decisions_says_so_to_every_client(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, row=ROWS[Start.READ_ONLY])
        bench.runs.stop()

        assert "how_to_decide" in bench.call("list_needs_attention", {})["structuredContent"]


class TestTheCodeOfThisComputer:
    """Continue and Skip need it beside the form, unless the operator waived it; no other decision asks for it."""

    def test_the_right_one(self, coded: Bench) -> None:
        stopped = coded.runs.stop()
        code = coded.desk.code(stopped.attention_id, Action.CONTINUE)

        receipt = coded.decide(Action.CONTINUE, stopped, accept(confirm=True, code=f" {(code or '').lower()} "))

        assert code is not None
        assert coded.forms[0].schema["required"] == ["confirm", "code"]
        assert f"surehand attend show {stopped.attention_id}" in coded.forms[0].message
        assert code not in json.dumps([coded.said, coded.forms[0].message])
        assert receipt["status"] == "prepared"

    def test_none_a_wrong_one_and_that_of_another_action(self, coded: Bench) -> None:
        stopped = coded.runs.stop(PauseCategory.RESOLUTION, skippable=True)
        before = coded.standing(stopped)
        other = coded.desk.code(stopped.attention_id, Action.SKIP)
        reasons = [
            coded.decide(Action.CONTINUE, stopped, accept(**content))["reason"]
            for content in ({"confirm": True}, {"confirm": True, "code": "ZZZZZZ"}, {"confirm": True, "code": other})
        ]

        assert reasons == ["not_confirmed", "code_wrong", "code_wrong"]
        assert coded.standing(stopped) == before

    def test_after_5_wrong_ones_the_right_one_does_not_count_here_any_more(self, coded: Bench) -> None:
        stopped = coded.runs.stop()
        code = coded.desk.code(stopped.attention_id, Action.CONTINUE)
        wrong = [coded.decide(Action.CONTINUE, stopped, accept(confirm=True, code="ZZZZZZ")) for _ in range(CODE_TRIES)]
        asked = len(coded.forms)

        last = coded.decide(Action.CONTINUE, stopped, accept(confirm=True, code=code))

        assert {each["reason"] for each in wrong} == {"code_wrong"}
        assert (last["reason"], len(coded.forms)) == ("code_door_closed", asked)

    @pytest.mark.parametrize("action", [Action.REJECT, Action.TEACH, Action.ESCALATE])
    def test_no_other_decision_asks_for_it(self, coded: Bench, action: Action) -> None:
        receipt = coded.decide(action, coded.runs.stop())

        assert (receipt["final"], receipt["status"] != "refused") == (True, True)

    def test_a_form_alone_where_the_operator_says_so(self, bench: Bench) -> None:
        assert bench.decide(Action.CONTINUE, bench.runs.stop())["status"] == "prepared"


class TestACapabilityThatDoesNotCount:
    """Each is refused with its closed code before anybody is asked, changes nothing, and leaves an audit line."""

    def refused(self, bench: Bench, stopped: Stopped, action: Action = Action.REJECT, **changes: Any) -> str:  # noqa: ANN401 - members
        """The code of the refusal; nothing was changed, nobody asked, and the audit says the same."""
        before, asked = bench.standing(stopped), len(bench.forms)
        receipt = bench.decide(action, stopped, **changes)

        assert (receipt["status"], receipt["final"]) == ("refused", True)
        assert (bench.standing(stopped), len(bench.forms)) == (before, asked)
        assert bench.audit()[0].value == receipt["reason"]
        return str(receipt["reason"])

    def test_forged_truncated_and_of_another_pause(self, bench: Bench) -> None:
        stopped, other = bench.runs.stop(), bench.runs.stop()
        of_other = bench.arguments(other)["capability_digest"]
        mine = bench.arguments(stopped)["capability_digest"]

        assert self.refused(bench, stopped, capability_digest="f" * 64) == "capability_not_of_item"
        assert self.refused(bench, stopped, capability_digest=mine[:63]) == "capability_malformed"
        assert self.refused(bench, stopped, capability_digest=of_other) == "capability_not_of_item"

    def test_older_and_expired(self, bench: Bench) -> None:
        stopped, other = bench.runs.stop(), bench.runs.stop()
        older = bench.arguments(stopped)["capability_digest"]
        bench.runs.issue_again(stopped)
        bench.runs.let_expire(other)

        assert self.refused(bench, stopped, capability_digest=older) == "capability_outdated"
        assert self.refused(bench, other, capability_digest="f" * 64) == "capability_not_of_item"

    def test_an_action_that_is_not_allowed(self, bench: Bench) -> None:
        without_window, sent = bench.runs.stop(window=False), bench.runs.stop(delivery=DeliveryState.UNKNOWN)

        assert self.refused(bench, without_window, Action.CONTINUE) == "action_not_allowed"
        assert self.refused(bench, sent, Action.REJECT) == "action_not_allowed"
        assert self.refused(bench, sent, Action.SKIP) == "action_not_allowed"

    def test_a_window_whose_process_is_gone(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        arguments = bench.arguments(stopped)
        bench.runs.window.release()

        receipt = bench.call("continue_attention", arguments)["structuredContent"]

        assert (receipt["status"], receipt["reason"], bench.forms) == ("refused", "window_gone", [])

    def test_an_unknown_pause(self, bench: Bench) -> None:
        arguments = bench.arguments(bench.runs.stop(), attention_id="att_" + "0" * 24)
        receipt = bench.call("reject_attention", arguments)["structuredContent"]

        assert (receipt["reason"], bench.audit()) == ("unknown_item", [DecisionRefusal.UNKNOWN_ITEM])


class TestAKeyIsOneDecision:
    """A repeat gives the same receipt and asks nobody; other content is refused; so is another key after the end."""

    def test_a_repeat(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        arguments = bench.arguments(stopped)
        first, again = (bench.call("reject_attention", arguments)["structuredContent"] for _ in range(2))

        assert (first["status"], first) == ("rejected", again)
        assert (len(bench.forms), len(bench.runs.attention.decisions(stopped.run_id))) == (1, 1)

    def test_a_repeat_at_another_server(self, bench: Bench) -> None:
        arguments = bench.arguments(bench.runs.stop())
        first = bench.call("reject_attention", arguments)
        bench.table = bench.server()

        assert bench.call("reject_attention", arguments) == first
        assert len(bench.forms) == 1

    def test_another_action_or_pause_under_it(self, bench: Bench) -> None:
        stopped, other = bench.runs.stop(), bench.runs.stop()
        bench.decide(Action.TEACH, stopped)
        before = bench.standing(stopped), bench.standing(other)

        assert bench.decide(Action.REJECT, stopped)["reason"] == "key_reused"
        assert bench.decide(Action.TEACH, other)["reason"] == "key_reused"
        assert (bench.standing(stopped), bench.standing(other)) == before

    def test_another_key_after_a_final_decision(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        late = bench.arguments(stopped, "another-key-of-sixteen")
        bench.decide(Action.REJECT, stopped)

        assert bench.call("reject_attention", late)["structuredContent"]["reason"] == "already_decided"

    def test_another_key_while_one_is_carried_out(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        late = bench.arguments(stopped, "another-key-of-sixteen")
        bench.decide(Action.CONTINUE, stopped)

        assert bench.call("continue_attention", late)["structuredContent"]["reason"] == "in_progress"


def taught(item: AttentionItem) -> AttentionItem:
    """The item with the note that a demonstration was asked for, and otherwise as it was."""
    return evolve(item, teaching_requested=True)


def escalated(item: AttentionItem) -> AttentionItem:
    """The item with the note that help was asked for, and otherwise as it was."""
    return evolve(item, escalated=True)


class TestWhatADecisionMakesOfTheRun:
    """Reject ends it, Teach and Escalate leave it, Reconcile reads, and Continue is carried out once."""

    def answer(self, bench: Bench, stopped: Stopped) -> str:
        """What an agent is told of the run."""
        record = bench.runs.store.load(stopped.run_id)
        assert record is not None
        assert record.result is not None
        return record.result.reason.value

    def test_reject(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        receipt = bench.decide(Action.REJECT, stopped)

        assert (receipt["status"], receipt["final"]) == ("rejected", True)
        assert (self.answer(bench, stopped), bench.runs.perform()) == ("stopped_by_person", [])

    @pytest.mark.parametrize(
        ("action", "status", "noted"),
        [
            (Action.TEACH, "needs_demonstration", taught),
            (Action.ESCALATE, "escalated", escalated),
        ],
    )
    def test_teach_and_escalate(
        self, bench: Bench, action: Action, status: str, noted: Callable[[AttentionItem], AttentionItem]
    ) -> None:
        stopped = bench.runs.stop()
        before = bench.desk.item(stopped.attention_id)
        receipt = bench.decide(action, stopped)
        after = bench.desk.item(stopped.attention_id)

        assert before is not None
        assert (receipt["status"], after) == (status, noted(before))
        assert self.answer(bench, stopped) == "stopped_for_review"

    def test_continue(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        arguments = bench.arguments(stopped)
        first = bench.call("continue_attention", arguments)["structuredContent"]
        performed = bench.runs.perform(), bench.runs.perform()
        last = bench.call("continue_attention", arguments)["structuredContent"]

        assert (first["status"], first["final"], last["status"], last["final"]) == (
            "prepared",
            False,
            "completed",
            True,
        )
        assert performed == ([DecisionStatus.COMPLETED], [])
        assert (self.answer(bench, stopped), len(bench.forms)) == ("saved_and_checked", 1)

    def test_a_continuation_that_stops_again(self, bench: Bench) -> None:
        stopped = bench.runs.stop()
        arguments = bench.arguments(stopped)
        bench.call("continue_attention", arguments)
        bench.runs.perform(HALTED)

        assert bench.call("continue_attention", arguments)["structuredContent"]["status"] == "halted"
        assert self.answer(bench, stopped) == "stopped_for_review"

    def test_reconcile(self, bench: Bench) -> None:
        stopped = bench.runs.stop(delivery=DeliveryState.UNKNOWN)
        arguments = bench.arguments(stopped)
        bench.call("reconcile_attention", arguments)
        bench.runs.perform()
        receipt = bench.call("reconcile_attention", arguments)["structuredContent"]

        assert (receipt["status"], receipt["finding"]) == ("reconciled", "differs")
        assert self.answer(bench, stopped) == "timed_out"


class TestTheServerStaysResponsive:
    """While a decision waits to be carried out, and while a person reads a form, others are answered."""

    def test_both(self, bench: Bench) -> None:
        stopped, other = bench.runs.stop(), bench.runs.stop()
        arguments, confirmed = bench.arguments(stopped), threading.Event()
        waiting_server = bench.server(wait=60.0)

        async def interleaved() -> tuple[Json, Json, Json]:
            loop, shown = asyncio.get_running_loop(), asyncio.Event()
            answered, carried_out = asyncio.Event(), asyncio.Event()

            async def ask(form: Form) -> FormAnswer:
                shown.set()
                await answered.wait()
                confirmed.set()
                return YES(form)

            async def progress(_waited: float, _total: float) -> None:
                carried_out.set()

            call = asyncio.ensure_future(waiting_server.call("continue_attention", arguments, progress, ask))
            await shown.wait()
            reading = await bench.called("get_attention_item", {"attention_id": other.attention_id})
            answered.set()
            await carried_out.wait()
            waiting = await bench.called("get_attention_item", {"attention_id": stopped.attention_id})
            assert not call.done()
            await loop.run_in_executor(None, bench.runs.perform)
            return reading, waiting, await call or {}

        reading, waiting, receipt = asyncio.run(interleaved())

        assert confirmed.is_set()
        assert reading["structuredContent"]["status"] == "open"
        assert waiting["structuredContent"]["status"] == "in_progress"
        assert receipt["structuredContent"]["status"] == "completed"


@frozen
class SecondCall:
    """A client of the era in which the answer to a form comes by a second call."""

    bench: Bench

    def ask(self, name: str, arguments: Json) -> str:
        """The first call: the state of its form."""
        with pytest.raises(FormPendingError) as pending:
            self.bench.call(name, arguments, self.pending)
        return str(pending.value.form.state)

    def answer(self, name: str, arguments: Json, state: str | None, answer: Answering = YES) -> Json | None:
        """The second call; ``None`` when the form is shown again."""

        def second(form: Form) -> FormAnswer:
            return evolve(answer(form), second_call=True, state=state)

        try:
            receipt: Json = self.bench.call(name, arguments, second)["structuredContent"]
        except FormPendingError:
            return None
        return receipt

    @staticmethod
    def pending(form: Form) -> FormAnswer:
        """There is nobody to ask while the call waits."""
        raise FormPendingError(form)


def always(_desk: AttendedDesk, _digest: str, _ends: int) -> bool:
    """A store that forgets what was used."""
    return True


class TestTheEraWithoutAWayBack:
    """The second call decides if it brings back the unused state of a form of this call; else the person is asked."""

    def test_the_two_calls(self, bench: Bench) -> None:
        stopped, client = bench.runs.stop(), SecondCall(bench)
        arguments = bench.arguments(stopped)
        before = bench.standing(stopped)
        state = client.ask("reject_attention", arguments)
        between = bench.standing(stopped)

        receipt = client.answer("reject_attention", arguments, state)

        assert receipt is not None
        assert (between, receipt["status"]) == (before, "rejected")

    def test_a_lost_reply_is_repeated_without_asking(self, bench: Bench) -> None:
        client, arguments = SecondCall(bench), bench.arguments(bench.runs.stop())
        state = client.ask("reject_attention", arguments)
        first = client.answer("reject_attention", arguments, state)

        assert first is not None
        assert client.answer("reject_attention", arguments, state) == first

    def test_after_a_restart_between_the_calls(self, bench: Bench) -> None:
        client, arguments = SecondCall(bench), bench.arguments(bench.runs.stop())
        state = client.ask("reject_attention", arguments)
        bench.table = bench.server()
        receipt = client.answer("reject_attention", arguments, state)

        assert receipt is not None
        assert receipt["status"] == "rejected"

    @pytest.mark.parametrize("state", [None, "", "A" * 64])
    def test_an_answer_without_the_form(self, bench: Bench, state: str | None) -> None:
        stopped, client = bench.runs.stop(), SecondCall(bench)
        before = bench.standing(stopped)

        assert client.answer("reject_attention", bench.arguments(stopped), state) is None
        assert bench.standing(stopped) == before

    def test_the_form_of_another_call(self, bench: Bench) -> None:
        stopped, client = bench.runs.stop(), SecondCall(bench)
        before = bench.standing(stopped)
        teach, mine = bench.arguments(stopped), bench.arguments(stopped, "another-key-of-sixteen")
        states = [client.ask("teach_attention", teach), client.ask("reject_attention", mine)]

        assert [client.answer("reject_attention", teach, state) for state in states] == [None, None]
        assert bench.standing(stopped) == before

    def test_a_form_that_was_declined_is_used_up(self, bench: Bench) -> None:
        stopped, client = bench.runs.stop(), SecondCall(bench)
        arguments, before = bench.arguments(stopped), bench.standing(stopped)
        state = client.ask("reject_attention", arguments)
        declined = client.answer("reject_attention", arguments, state, lambda _form: FormAnswer(Did.DECLINE))

        assert declined is not None
        assert declined["reason"] == "not_confirmed"
        assert client.answer("reject_attention", arguments, state) is None
        assert bench.standing(stopped) == before

    def test_a_state_that_counts_again_would_be_caught(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(AttendedDesk, "spend_form", always)
        bench.table = bench.server()
        client, arguments = SecondCall(bench), bench.arguments(bench.runs.stop())
        state = client.ask("reject_attention", arguments)
        client.answer("reject_attention", arguments, state, lambda _form: FormAnswer(Did.DECLINE))

        assert client.answer("reject_attention", arguments, state) is not None


class TestALedgerThatKeepsNoDecisions:
    """The tools of such a folder refuse by name."""

    def test_claim_files(self, tmp_path: Path) -> None:
        from surehand.shell.store.claims import ClaimStore  # noqa: PLC0415 - here only

        ClaimStore.open(tmp_path, read_only=False, restored=False).close()
        tools = AttentionTools(ROWS[Start.ATTENDED], lambda: attention_in(tmp_path, ConfirmBy.CODE), ConfirmBy.CODE)
        table = ToolTable(ROWS[Start.ATTENDED], Desk(FakeService), tools.tools())

        async def never(_form: Form) -> FormAnswer:
            raise AssertionError("nobody is asked")

        ask: Callable[[Form], Awaitable[FormAnswer]] = never
        told: Any = asyncio.run(table.call("list_needs_attention", {}, nothing, ask))

        assert told["isError"] is True
        assert "store_without_attention" in told["content"][0]["text"]
