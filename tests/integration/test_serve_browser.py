"""A workflow of the user's own runs in a real browser: from Python, from the shell, from a client, in turns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from support.browser import Site, note_site
from support.mcp_clients import RawClient, environment, structured
from support.serving import admit, note_bundle, put
from surehand import BundleArguments, Surehand
from surehand.core.outcome.reasons import Outcome
from surehand.core.outcome.result import CheckedHow, EngineName, Mode, Proof, as_replayed
from surehand.core.workflow.bundle import Bundle, FillStep, OpenStep
from surehand.core.workflow.target import PageGate


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own: keys and settings of the user stay out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def admitted(tmp_path: Path, site: Site, *workflows: str) -> None:
    """Bundles for the site, certified and admitted."""
    folders = put(tmp_path / "bundles", *(note_bundle(site.origin, each) for each in workflows or ("add_note",)))
    admit(tmp_path / "runs" / "surehand", *folders)


def hand(tmp_path: Path, parallel_per_app: int = 1) -> Surehand:
    """An embedding program over the bundles."""
    said = BundleArguments(folder=tmp_path / "bundles", parallel_per_app=parallel_per_app)
    return Surehand.open(tmp_path / "runs", bundles=said)


class TestARunOfOnesOwnWorkflow:
    """It is entered once, read back, and told as any other; a repeat is a replay."""

    def test_from_python(self, tmp_path: Path) -> None:
        with note_site() as site:
            admitted(tmp_path, site)
            with hand(tmp_path) as opened:
                result = opened.run_workflow("add_note", {"note": "Seen today."}, "r-1", 120)
                again = opened.run_workflow("add_note", {"note": "Seen today."}, "r-1", 120)
                report = opened.get_run_report(result.run_id)
            records = site.records

        assert (result.outcome, result.proof, result.engine) == (Outcome.DONE, Proof.LOCAL, EngineName.BROWSER)
        assert (result.mode, result.checked_how) == (Mode.PRODUCTION, CheckedHow.SEPARATE_SESSION)
        assert again.replayed
        assert [record["note"] for record in records] == ["Seen today."]
        assert report.current_version
        assert [each.outcome for each in report.attempts] == [Outcome.DONE]

    def test_from_the_shell_with_the_app_elsewhere(self, tmp_path: Path) -> None:
        with note_site() as site:
            folders = put(tmp_path / "bundles", note_bundle("http://127.0.0.1:9"))
            admit(tmp_path / "runs" / "surehand", *folders)
            where = ["--bundles", str(tmp_path / "bundles"), "--runs-dir", str(tmp_path / "runs")]
            moved = ["--url", f"http://127.0.0.1:9={site.origin}"]
            command = [sys.executable, "-m", "surehand", "run", "add_note", "--inputs", "-", "--request-id", "r-1"]
            ended = subprocess.run(
                [*command, *where, *moved, "--wait", "300", "--json"],
                input=json.dumps({"note": "From the shell."}),
                env=dict(os.environ),
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            records = site.records

        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert json.loads(ended.stdout)["outcome"] == "done"
        assert [record["note"] for record in records] == ["From the shell."]

    def test_another_version_is_told_what_ended_already(self, tmp_path: Path) -> None:
        with note_site() as site:
            admitted(tmp_path, site)
            with hand(tmp_path) as opened:
                saved = opened.run_workflow("add_note", {"note": "One."}, "r-1", 120)
            folders = put(tmp_path / "bundles", evolve(note_bundle(site.origin), title="Add one note"))
            admit(tmp_path / "runs" / "surehand", *folders)
            with hand(tmp_path) as opened:
                again = opened.run_workflow("add_note", {"note": "One."}, "r-1", 120)
                report = opened.get_run_report(saved.run_id)
            records = site.records

        assert (saved.outcome, again) == (Outcome.DONE, as_replayed(saved))
        assert report.current_version is False
        assert len(records) == 1


class TestRunsAgainstOneAppTakeTurns:
    """Two servers on one state folder never work in one app at the same time; they do where the operator says so."""

    @pytest.mark.parametrize("places", [1, 2])
    def test_two_servers(self, tmp_path: Path, places: int) -> None:
        with note_site() as site:
            site.pages["/other"] = site.pages["/new"]
            folders = put(tmp_path / "bundles", note_bundle(site.origin), other_page(site.origin))
            admit(tmp_path / "runs" / "surehand", *folders)
            with hand(tmp_path, places) as first, hand(tmp_path, places) as second:
                first.run_workflow("add_note", {"note": "Warm."}, "r-0", 120)
                second.run_workflow("add_other", {"note": "Warm too."}, "r-1", 120)
                held, elsewhere = site.hold("/new"), site.hold("/other")
                one = first.run_workflow("add_note", {"note": "First."}, "r-2", 0)
                assert held.reached.wait(60)
                other = second.run_workflow("add_other", {"note": "Second."}, "r-3", 0)
                both = elsewhere.reached.wait(1.5 if places == 1 else 60)
                held.go.set()
                assert elsewhere.reached.wait(60)
                saved = [record["note"] for record in site.records[2:]]
                elsewhere.go.set()
                ends = first.get_run(one.run_id, 120), second.get_run(other.run_id, 120)

        assert both is (places == 2)
        if places == 1:
            assert saved == ["First."]
            assert [end.outcome for end in ends] == [Outcome.DONE, Outcome.DONE]


def other_page(origin: str) -> Bundle:
    """The same task on another page of the app."""
    bundle = note_bundle(origin, "add_other")
    gate = PageGate("/other", bundle.save.page.landmark)
    opening, filling = bundle.steps
    assert isinstance(opening, OpenStep)
    assert isinstance(filling, FillStep)
    return evolve(
        bundle, steps=(evolve(opening, path="/other"), evolve(filling, page=gate)), save=evolve(bundle.save, page=gate)
    )


class TestAClientOfAServerOverBundles:
    """Over stdio: not ready, admitted while the server runs, done; the place of the app is part of the request."""

    def test_a_session(self, tmp_path: Path) -> None:
        with note_site() as site:
            folders = put(tmp_path / "bundles", note_bundle("http://127.0.0.1:9"))
            where = ["--bundles", str(tmp_path / "bundles"), "--runs-dir", str(tmp_path / "runs")]
            flags = ["--mode", "production", "--allow-url-override"]
            asked = {
                "workflow": "add_note",
                "inputs": {"note": "Over stdio."},
                "request_id": "r-1",
                "wait_seconds": 300,
                "url": site.origin,
            }
            with RawClient([sys.executable, "-m", "surehand", "serve", *where, *flags], environment()) as client:
                client.handshake()
                before = structured(client.call("run_workflow", asked))
                admit(tmp_path / "runs" / "surehand", *folders)
                after = structured(client.call("run_workflow", asked, 300))
                replayed = structured(client.call("run_workflow", asked))
                moved = structured(client.call("run_workflow", {**asked, "url": "http://127.0.0.1:9"}))
            records = site.records

        assert (before["reason"], before["safe_to_retry"]) == ("not_ready_to_run", True)
        assert (after["outcome"], after["mode"]) == ("done", "production")
        assert replayed["replayed"] is True
        assert moved["reason"] == "request_id_conflict"
        assert [record["note"] for record in records] == ["Over stdio."]
