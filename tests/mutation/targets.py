"""What is mutated, and the tests that have to see it: fast ones alone, so that a mutant costs about a second."""

from typing import Final

from attrs import field, frozen

_OUTCOME: Final = (
    "tests/integration/test_decision_table.py::TestTheDecisionTable::test_is_not_stale_apart_from_its_counts",
    "tests/properties/test_outcome_consistency.py",
    "tests/properties/test_outcome_contract.py",
    "tests/properties/test_outcome_audit.py::TestTheAuditCatches::test_the_true_judge_passes_the_smaller_audit",
)
_REQUEST: Final = (
    "tests/properties/test_request_gate.py",
    "tests/properties/test_request_answers.py",
    "tests/properties/test_request_keys.py",
)
_READ_BACK: Final = ("tests/properties/test_readback_judge.py", "tests/properties/test_replay_guards.py")
_RULES: Final = ("tests/properties/test_bundle_rules.py", "tests/properties/test_workflow_bundle.py")
#: The audit of the gate, without the false gates that it finds.
_GATE: Final = ("tests/properties/test_policy_gate.py", "-k", "not false_gate and not forgets_a_check")
#: Other kinds of stores, processes of their own (they would import the module without its fault), and slow damage.
_OTHERS: Final = (
    "-k",
    (
        "not claims and not fills_up and not command_line and not Command and not shown_to_a_person and not wakes_up "
        "and not flipped and not damaged_file and not forked and not OnePassage and not wrong_store "
        "and not without_a_guard and not Migrations"
    ),
)
_STORE: Final = (
    *_OTHERS,
    "tests/integration/test_store_conformance.py::TestErrors",
    "tests/integration/test_store_conformance.py::TestMisuse",
    "tests/integration/test_store_conformance.py::TestRetries",
    "tests/integration/test_store_conformance.py::TestHistory",
    "tests/integration/test_store_conformance.py::TestKeptResults",
    "tests/integration/test_store_restored.py",
    "tests/integration/test_retention.py",
    "tests/integration/test_store_conformance.py::TestSameAnswers",
    "tests/integration/test_store_conformance.py::TestThreads",
)
_SQLITE: Final = (
    "tests/integration/test_store_sqlite.py",
    "tests/integration/test_store_hiccups.py",
    "tests/integration/test_store_first_opening.py::TestALedgerThatIsSealedWhileItIsOpened",
    "tests/integration/test_store_files.py::TestDiskThatRefuses::test_a_ledger_that_was_removed_is_not_gone_on_with",
    "tests/integration/test_store_files.py::TestDiskThatRefuses::test_a_file_that_was_taken_away_is_not_written",
    "tests/integration/test_store_files.py::TestDiskThatRefuses::test_a_ledger_that_was_taken_away_is_not_read",
    *_STORE,
    "-k",
    f"{_OTHERS[1]} and not memory",
)
#: Answers after what people decided are read from rows as well.
_ROWS: Final = (
    *_SQLITE,
    "tests/integration/test_attended_store.py::TestAnswers",
    "tests/integration/test_attended_answers.py::TestARunThatGoesOn",
    "tests/integration/test_attended_answers.py::TestARestoredLedger",
)
_ATTENTION: Final = (
    "tests/integration/test_attended_store.py::TestAnswers",
    "tests/integration/test_attended_store.py::TestErrorOfCommit",
    "tests/integration/test_attended_store.py::TestWhoMayEnd",
    "tests/integration/test_attended_store.py::TestWhatIsListed",
    "tests/integration/test_attended_store.py::TestOldAuditLines",
    "tests/integration/test_attended_store.py::TestFlushes",
    "tests/integration/test_attended_store.py::TestOlderAndRestoredLedgers",
    "tests/integration/test_attended_store.py::TestVersion",
    "tests/integration/test_attended_store.py::TestGuards",
    "tests/integration/test_attended_store.py::TestSameAnswers",
    "-k",
    "not memory and not wrong_store",
)
#: The durable stores are measured by the one in memory, so that it is measured by them.
_MEMORY: Final = tuple(each for each in _STORE if "test_store_restored" not in each)
_CLAIMS: Final = (
    "-k",
    (
        "not sqlite and not memory and not Memory and not fills_up and not Command and not command_line "
        "and not shown_to_a_person and not wakes_up and not many_refusals and not runs_are_read and not another_path "
        "and not leaves_nothing and not file_system_that_sqlite and not wrong_store and not without_a_guard"
    ),
    "tests/integration/test_store_claims.py",
    "tests/integration/test_store_claims_refusals.py",
    "tests/integration/test_store_conformance.py::TestMisuse",
    "tests/integration/test_store_conformance.py::TestRetries",
    "tests/integration/test_store_conformance.py::TestThreads",
    "tests/integration/test_store_restored.py",
    "tests/integration/test_store_files.py::TestPrivacy",
    "tests/integration/test_store_files.py::TestDiskThatRefuses",
    "tests/integration/test_store_files.py::TestKinds",
    "tests/integration/test_retention.py",
    "tests/integration/test_store_conformance.py::TestSameAnswers",
)
_RESTORED: Final = (
    "tests/integration/test_store_seal.py",
    "tests/integration/test_store_restored.py",
    "-k",
    "not Command",
)
_RESULT: Final = (*_OUTCOME, "tests/properties/test_attention_overdue.py")
_PROOF: Final = (
    "tests/properties/test_outcome_proof.py",
    "tests/properties/test_outcome_audit.py::TestLessEvidence",
    "tests/properties/test_outcome_audit.py::TestTheDomain",
    "tests/properties/test_outcome_audit.py::TestTheAuditCatches::test_the_true_judge_passes_the_smaller_audit",
    "-k",
    "not under_exactly_one_reason",
)
#: Without the audit of the whole domain, which takes half a minute.
_AUDIT: Final = (
    "tests/integration/test_decision_table.py::TestTheAuditAsShown::test_without_a_terminal_the_same_report_comes_without_progress",
    *_PROOF[1:-2],
    "tests/properties/test_outcome_audit.py::TestClaims",
    "tests/properties/test_outcome_audit.py::TestTheAuditCatches",
    *_PROOF[-2:],
)
_FENCE: Final = (
    "tests/properties/test_fence_gate.py",
    "tests/properties/test_fence_journal.py",
    "-k",
    "not is_caught",
)
_OPERATION: Final = (
    "tests/properties/test_fence_operation.py",
    "tests/properties/test_fence_gate.py",
    "-k",
    "not is_caught",
)
_CAPABILITY: Final = ("tests/properties/test_attention_capability.py",)
_DECISION: Final = ("tests/properties/test_attention_decision.py",)
_REVIEW: Final = ("tests/properties/test_attention_review.py", "tests/properties/test_attention_overdue.py")
_ENDS: Final = ("tests/properties/test_orchestration_ends.py", "tests/properties/test_orchestration_told.py")
_MACHINE: Final = ("tests/properties/test_orchestration_machine.py", *_ENDS)


@frozen
class Target:
    """One module: what pytest runs, and which functions are changed; all of them when none is named."""

    module: str
    tests: tuple[str, ...]
    only: tuple[str, ...] = field(default=())
    texts: bool = True


TARGETS: Final = (
    Target("surehand.core.outcome.evidence", _OUTCOME),
    Target("surehand.core.outcome.decide", _OUTCOME),
    Target("surehand.core.outcome.reasons", _OUTCOME),
    Target("surehand.core.outcome.result", _RESULT),
    Target("surehand.core.outcome.wording", _RESULT),
    Target("surehand.core.outcome.proof", _PROOF),
    Target("surehand.core.outcome.domain", _PROOF),
    Target("surehand.core.outcome.audit", _AUDIT, texts=False),
    Target("surehand.core.request.gate", _REQUEST),
    Target("surehand.core.request.keys", _REQUEST),
    Target("surehand.core.request.record", _REQUEST),
    Target("surehand.core.request.answers", _REQUEST),
    Target("surehand.core.attention.capability", _CAPABILITY),
    Target("surehand.core.attention.decision", _DECISION, texts=False),
    Target("surehand.core.attention.continuation", _DECISION),
    Target("surehand.core.attention.review", _REVIEW),
    Target("surehand.core.orchestration.step", _MACHINE),
    Target("surehand.core.orchestration.doubt", _ENDS),
    Target("surehand.core.orchestration.result", _MACHINE),
    Target("surehand.core.workflow.addresses", ("tests/properties/test_workflow_addresses.py", *_RULES)),
    Target("surehand.core.workflow.compare", ("tests/properties/test_workflow_compare.py",)),
    Target("surehand.core.workflow.readback", _READ_BACK),
    Target(
        "surehand.core.workflow.bundle",
        _RULES,
        only=(
            "entered_on_save_page",
            "addresses",
            "_rules",
            "_step_rules",
            "_address_rules",
            "_proof_rules",
            "_member_rules",
            "_effect_rules",
            "_names_one",
            "_is_named_apart",
            "_saved_to",
            "_highest",
            "_clicks_save",
            "_control_fits",
            "_breaks",
            "_is_box",
            "_naming",
            "_rule_fits",
            "_given",
        ),
        texts=False,
    ),
    Target("surehand.core.signature", ("tests/properties/test_admission_record.py",)),
    Target("surehand.core.admission.record", ("tests/properties/test_admission_record.py",)),
    Target("surehand.core.admission.form", ("tests/properties/test_admission_record.py",), texts=False),
    Target("surehand.core.workflow.policy", _GATE),
    Target("surehand.core.workflow.manifest", ("tests/properties/test_bundle_manifest.py",)),
    Target("surehand.core.workflow.envelope", ("tests/properties/test_bundle_manifest.py", "-k", "Envelopes")),
    Target("surehand.core.workflow.fence", _FENCE, texts=False),
    Target("surehand.core.workflow.operation", _OPERATION),
    Target("surehand.core.modes", ("tests/properties/test_modes.py",), texts=False),
    Target("surehand.shell.store.base", _SQLITE),
    Target("surehand.shell.store.memory", _MEMORY),
    Target(
        "surehand.shell.store.sqlite",
        _SQLITE,
        only=(
            "SqliteStore.reserve",
            "SqliteStore.record_refusal",
            "SqliteStore.mark_started",
            "SqliteStore.begin_delivery",
            "SqliteStore.finish",
            "SqliteStore.settle_owner_gone",
            "SqliteStore.note_late",
            "SqliteStore.forget_refusals",
            "SqliteStore._forget",
            "SqliteStore._move",
            "SqliteStore._change",
        ),
        texts=False,
    ),
    Target(
        "surehand.shell.store.sqlite_file",
        _SQLITE,
        only=(
            "SqliteFile.change",
            "SqliteFile.read",
            "SqliteFile._require_seal",
            "SqliteFile._compare_with_seal",
            "SqliteFile._require_nothing_lost",
            "SqliteFile._sealed",
            "SqliteFile._counted",
            "SqliteFile._committed",
            "SqliteFile._settle_doubt",
            "SqliteFile._turn",
            "SqliteFile._writer",
            "_Links.roll_back",
            "_Links.drop_writers",
            "_commit",
        ),
        texts=False,
    ),
    Target("surehand.shell.store.sqlite_rows", _ROWS, texts=False),
    Target("surehand.shell.store.sqlite_attention", _ATTENTION, texts=False),
    Target("surehand.shell.store.sqlite_schema", (*_ATTENTION, *_SQLITE), texts=False),
    Target("surehand.shell.store.claims", _CLAIMS, texts=False),
    Target("surehand.shell.store.seal", _RESTORED, texts=False),
    Target("surehand.shell.store.restored", _RESTORED, texts=False),
)
