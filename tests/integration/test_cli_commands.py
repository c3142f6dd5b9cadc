"""The command line, as its users run it.

Laws:

- The exit code is that of the outcome; JSON on standard output is the contract, and nothing else stands there.
- No value that was typed is printed or stored, by no command and in no failure.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from support.command_line import Told, surehand
from surehand.core.outcome.audit import AuditReport, Finding, ReasonRow
from surehand.core.outcome.reasons import Reason
from surehand.core.outcome.result import result_schema
from surehand.shell.cli.app import EXIT_CODES
from surehand.shell.cli.audit import command as audit_command

#: It has no types of its own.
jsonschema: Any = importlib.import_module("jsonschema")

CANARY = "CANARY7Q"
SIMULATED = ("--sandbox-engine", "simulated")


def entry(case: str = "normal", note: str = f"Seen today. {CANARY}") -> str:
    """Inputs as JSON."""
    return json.dumps({"note": note, "sandbox_case": case})


def run(home: Path, request_id: str, inputs: str, *more: str) -> Told:
    """Run the sandbox's workflow once."""
    options = ("--inputs", "-", "--request-id", request_id, *SIMULATED, *more)
    return surehand(home, "run", "add_triage_note", *options, stdin=inputs)


def contract(told: Told) -> dict[str, Any]:
    """The result on standard output, held to the one schema."""
    result: dict[str, Any] = json.loads(told.out)
    jsonschema.validate(result, result_schema())
    return result


class TestRunAnswersWithTheOutcome:
    """Each outcome has its exit code, and --json prints the contract."""

    @pytest.mark.parametrize(
        ("case", "code", "reason"),
        [
            ("normal", 0, "saved_and_checked"),
            ("duplicate_record", 3, "record_not_confirmed"),
            ("false_saved_banner", 4, "save_not_confirmed"),
            ("app_offline", 5, "app_unreachable"),
        ],
    )
    def test_the_code_of_each_outcome(self, tmp_path: Path, case: str, code: int, reason: str) -> None:
        told = run(tmp_path, "entry-1", entry(case), "--json")

        assert (code, reason, "") == (told.code, contract(told)["reason"], told.err)

    def test_every_outcome_has_a_code_of_its_own(self) -> None:
        assert len(EXIT_CODES) == len({*EXIT_CODES.values(), 1, 2} - {1, 2})

    def test_the_documented_codes_are_these(self) -> None:
        page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")

        assert all(f"| {code} | `{outcome.value}`" in page for outcome, code in EXIT_CODES.items())

    def test_inputs_from_a_file_and_text_for_people(self, tmp_path: Path) -> None:
        (tmp_path / "entry.json").write_text(entry())

        told = surehand(
            tmp_path, "run", "add_triage_note", "--inputs", "entry.json", "--request-id", "entry-1", *SIMULATED
        )

        assert (0, "") == (told.code, told.err)
        assert told.out.startswith("done  saved_and_checked\nSimulated sandbox result, no app was opened.")
        assert "\x1b" not in told.out

    def test_the_same_entry_again_is_a_replay(self, tmp_path: Path) -> None:
        first = contract(run(tmp_path, "entry-1", entry(), "--json"))
        again = contract(run(tmp_path, "entry-1", entry(), "--json"))

        assert (first["run_id"], False, True) == (again["run_id"], first["replayed"], again["replayed"])

    def test_a_workflow_that_is_not_known(self, tmp_path: Path) -> None:
        told = surehand(
            tmp_path, "run", CANARY, "--inputs", "-", "--request-id", "e", "--json", *SIMULATED, stdin=entry()
        )

        assert (5, "unknown_workflow") == (told.code, contract(told)["reason"])
        assert CANARY not in told.out + told.err


class TestACallThatIsNotUnderstoodIsUsage:
    """Bad usage ends with 2, says nothing of what was typed, and records nothing."""

    @pytest.mark.parametrize(
        "inputs", ["", f'["{CANARY}"]', f'{{"note": "{CANARY}"', f'{{"note": "{CANARY}", "note": "x"}}']
    )
    def test_what_is_no_object_of_inputs(self, tmp_path: Path, inputs: str) -> None:
        told = run(tmp_path, "entry-1", inputs)

        assert (2, "") == (told.code, told.out)
        assert CANARY not in told.err
        assert not (tmp_path / ".local").exists()

    def test_a_text_that_is_no_request_id(self, tmp_path: Path) -> None:
        told = run(tmp_path, f"{CANARY} {CANARY}", entry())

        assert (2, "") == (told.code, told.out)
        assert CANARY not in told.err

    def test_a_setting_that_is_not_understood(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "runs", "list", SUREHAND_SANDBOX_ENGINE=CANARY)

        assert (2, "") == (told.code, told.out)
        assert "sandbox_engine" in told.err
        assert CANARY not in told.err

    def test_values_in_arguments_are_not_taken(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "run", "add_triage_note", "--input", f"note={CANARY}", "--request-id", "e")

        assert 2 == told.code


class TestRunsTellsWhatRan:
    """Listing pages through records, the newest first; showing one run prints its contract."""

    def test_an_installation_without_runs(self, tmp_path: Path) -> None:
        assert (0, "No runs.\n") == ((told := surehand(tmp_path, "runs", "list")).code, told.out)
        assert {"runs": []} == json.loads(surehand(tmp_path, "runs", "list", "--json").out)
        assert [] == list(tmp_path.iterdir())

    def test_pages_lookup_and_one_run(self, tmp_path: Path) -> None:
        first = contract(run(tmp_path, "entry-1", entry(), "--json"))
        second = contract(run(tmp_path, "entry-2", entry("app_offline"), "--json"))

        page = json.loads(surehand(tmp_path, "runs", "list", "--limit", "1", "--json").out)
        rest = json.loads(surehand(tmp_path, "runs", "list", "--before", page["next_before"], "--json").out)
        found = json.loads(surehand(tmp_path, "runs", "list", "--request-id", "entry-1", "--json").out)
        shown = surehand(tmp_path, "runs", "show", second["run_id"], "--json")
        text = surehand(tmp_path, "runs", "list")

        assert [second["run_id"]] == [each["run_id"] for each in page["runs"]]
        assert [first["run_id"]] == [each["run_id"] for each in rest["runs"]]
        assert [first["run_id"]] == [each["run_id"] for each in found["runs"]]
        assert (5, second) == (shown.code, contract(shown))
        assert [second["run_id"], first["run_id"]] == [line.split()[0] for line in text.out.splitlines()]

    def test_a_run_that_is_not_known(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "runs", "show", "run_" + "0" * 32)

        assert (1, "") == (told.code, told.out)

    def test_a_store_that_is_corrupt_is_kept_and_told(self, tmp_path: Path) -> None:
        run(tmp_path, "entry-1", entry())
        ledger = next(tmp_path.rglob("ledger.db"))
        ledger.write_bytes(b"not a ledger")

        listed, again = surehand(tmp_path, "runs", "list"), run(tmp_path, "entry-1", entry(), "--json")

        assert (1, True) == (listed.code, "store_corrupt" in listed.err)
        assert (5, ["store_corrupt"], "unknown") == (
            again.code,
            contract(again)["failed_checks"],
            contract(again)["record_changed"],
        )
        assert b"not a ledger" == ledger.read_bytes()


class TestDemoShowsTheFiveScenarios:
    """Five runs, each ending as an honest one ends there."""

    def test_without_an_app(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "demo", "--engine", "simulated", "--json")

        shown = json.loads(told.out)
        for each in shown["runs"]:
            jsonschema.validate(each["result"], result_schema())
        assert (0, True) == (told.code, shown["as_expected"])
        assert [
            ("normal", "saved_and_checked"),
            ("duplicate_record", "record_not_confirmed"),
            ("false_saved_banner", "save_not_confirmed"),
            ("timeout_after_save", "save_not_confirmed"),
            ("app_offline", "app_unreachable"),
        ] == [(each["case"], each["result"]["reason"]) for each in shown["runs"]]

    def test_in_a_browser_with_proof(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "demo", "--engine", "browser", "--json")

        results = [each["result"] for each in json.loads(told.out)["runs"]]
        assert (0, {"browser"}) == (told.code, {result["engine"] for result in results})
        assert [
            ("done", "local", "yes"),
            ("needs_review", "none", "no"),
            ("not_sure_if_saved", "none", "unknown"),
            ("not_sure_if_saved", "none", "unknown"),
            ("did_not_run", "none", "no"),
        ] == [(result["outcome"], result["proof"], result["record_changed"]) for result in results]

    def test_the_table_fits_a_narrow_terminal(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "demo", "--engine", "simulated", COLUMNS="80", LC_ALL="C")

        assert 0 == told.code
        assert "\u2026" not in told.out
        assert "As an honest run ends: 5 of 5." in told.out

    @pytest.mark.parametrize("asked", [("--engine", "browser"), ("--headed",)])
    def test_a_browser_that_is_missing_is_refused_by_name(self, tmp_path: Path, asked: tuple[str, ...]) -> None:
        told = surehand(tmp_path, "demo", *asked, "--json", SUREHAND_CHROMIUM="/nothing/here")

        assert 1 == told.code
        assert {("platform_error", ("browser_missing",))} == {
            (each["result"]["reason"], tuple(each["result"]["failed_checks"])) for each in json.loads(told.out)["runs"]
        }


class TestDoctorNamesWhatIsNotInOrder:
    """Exit code 0 when nothing failed, 1 with the failed check by name."""

    def findings(self, told: Told) -> dict[str, str]:
        """The state of each check."""
        return {each["check"]: each["state"] for each in json.loads(told.out)["findings"]}

    def test_in_order(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "doctor", *SIMULATED, "--json")

        assert (0, {"ok"}) == (told.code, set(self.findings(told).values()))
        assert [] == list(tmp_path.iterdir())

    def test_a_folder_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")

        told = surehand(tmp_path, "doctor", *SIMULATED, "--json", SUREHAND_RUNS_DIR="file")

        assert (1, "failed") == (told.code, self.findings(told)["folder"])

    def test_a_corrupt_store(self, tmp_path: Path) -> None:
        run(tmp_path, "entry-1", entry())
        next(tmp_path.rglob("ledger.db")).write_bytes(b"not a ledger")

        told = surehand(tmp_path, "doctor", *SIMULATED, "--json")

        assert (1, "failed") == (told.code, self.findings(told)["store"])

    def test_a_damaged_signing_key(self, tmp_path: Path) -> None:
        key = tmp_path / ".config" / "surehand" / "machine.key"
        key.parent.mkdir(parents=True)
        key.write_bytes(b"short")

        told = surehand(tmp_path, "doctor", *SIMULATED, "--json")

        assert (1, "failed") == (told.code, self.findings(told)["signing_key"])

    def test_a_missing_browser_is_a_failure_only_where_it_was_asked_for(self, tmp_path: Path) -> None:
        told = {
            engine: surehand(tmp_path, "doctor", "--sandbox-engine", engine, "--json", SUREHAND_CHROMIUM="/nothing")
            for engine in ("auto", "browser")
        }

        assert {"auto": (0, "warning"), "browser": (1, "failed")} == {
            engine: (each.code, self.findings(each)["browser"]) for engine, each in told.items()
        }

    def test_text_for_people(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "doctor", *SIMULATED)

        assert 0 == told.code
        assert told.out.startswith("ok       python")


class TestInstallWritesTheClientsFile:
    """The entry is put in; --print writes nothing."""

    def test_written_kept_and_not_written_twice(self, tmp_path: Path) -> None:
        (tmp_path / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "x"}}}')

        first, second = surehand(tmp_path, "install", "claude"), surehand(tmp_path, "install", "claude")

        written = json.loads((tmp_path / ".mcp.json").read_text())
        assert (0, 0) == (first.code, second.code)
        assert {"other", "surehand"} == set(written["mcpServers"])
        assert "Already there" in second.out
        assert 2 == len([each for each in tmp_path.iterdir() if each.name.startswith(".mcp.json")])

    def test_printed_only(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "install", "vscode", "--print", "--runs-dir", "here", *SIMULATED)

        server = json.loads(told.out)["servers"]["surehand"]
        assert ["serve", *SIMULATED, "--runs-dir", str(tmp_path / "here")] == server["args"][-5:]
        assert [] == list(tmp_path.iterdir())

    def test_a_file_that_is_not_understood_is_not_touched(self, tmp_path: Path) -> None:
        (tmp_path / ".mcp.json").write_text("{ // a comment\n}")

        told = surehand(tmp_path, "install", "claude")

        assert (1, "") == (told.code, told.out)
        assert "{ // a comment\n}" == (tmp_path / ".mcp.json").read_text()


class TestAuditEndsWithWhatItFound:
    """Exit code 0 without a violation, 1 with one; text and JSON say the same."""

    @pytest.mark.parametrize("violations", [0, 3])
    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_each_end(self, monkeypatch: pytest.MonkeyPatch, violations: int, options: tuple[str, ...]) -> None:
        finding = Finding(1, "done only from verified evidence", 10, violations, ())
        report = AuditReport(10, 1, 3, 3, 2, (finding,), (ReasonRow(Reason.SAVED_AND_CHECKED, 10),))
        monkeypatch.setattr("surehand.shell.audit.audit", lambda: report)

        told = CliRunner().invoke(audit_command, options)

        assert (1 if violations else 0) == told.exit_code
        if options:
            assert violations == json.loads(told.stdout)["violations"]
        else:
            assert told.stdout.endswith(f"{violations} violations\n")


class TestServeSpeaksOnlyTheProtocol:
    """Every line on standard output is JSON, and the server ends with its input."""

    def test_the_first_answer(self, tmp_path: Path) -> None:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})

        told = surehand(tmp_path, "serve", *SIMULATED, stdin=hello + "\n")

        assert (0, [1]) == (told.code, [json.loads(line)["id"] for line in told.out.splitlines()])

    def test_a_bad_option_leaves_standard_output_clean(self, tmp_path: Path) -> None:
        told = surehand(tmp_path, "serve", "--no-such-option")

        assert (2, "") == (told.code, told.out)


class TestItSaysItsVersion:
    """There is one."""

    def test_version(self, tmp_path: Path) -> None:
        assert surehand(tmp_path, "--version").out.startswith("surehand, version 0")


class TestATypedValueIsNowhere:
    """What was typed as an input stands in no output and no file, however the run ended."""

    def test_over_outcomes_refusals_and_listings(self, tmp_path: Path) -> None:
        told = [
            run(tmp_path, "entry-1", entry()),
            run(tmp_path, "entry-1", entry(note=f"Other {CANARY}")),
            run(tmp_path, "entry-2", entry("false_saved_banner"), "--json"),
            run(tmp_path, "entry-3", json.dumps({"note": [CANARY], CANARY: CANARY}), "--json"),
            surehand(tmp_path, "runs", "list"),
            surehand(tmp_path, "runs", "list", "--json"),
        ]

        assert [0, 5, 4, 5, 0, 0] == [each.code for each in told]
        assert not [each for each in told if CANARY in each.out + each.err]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert [] == [path for path in files if CANARY.encode() in path.read_bytes()]

    def test_a_value_that_is_written_would_be_found(self, tmp_path: Path) -> None:
        (tmp_path / "leak").write_text(entry())

        assert CANARY.encode() in (tmp_path / "leak").read_bytes()
