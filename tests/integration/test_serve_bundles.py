"""A user's own workflows, served from their folder: which are there, which cannot be, what keeps one from running."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from support.serving import admit, note_bundle, put, served
from surehand.core.modes import ROWS, Start
from surehand.core.outcome.reasons import Reason, RecordChanged
from surehand.core.outcome.result import FailedCheck, Mode, RunResult
from surehand.core.overview import opaque_id
from surehand.shell.admission import Registry
from surehand.shell.assembly import build_service
from surehand.shell.config import ConfigError
from surehand.shell.service import Service

INPUTS = {"note": "Seen today."}


@pytest.fixture(autouse=True)
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration folder of the test's own: keys and settings of the user stay out."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def bundles(tmp_path: Path) -> Path:
    """A folder with two bundles."""
    put(tmp_path / "bundles", note_bundle(), note_bundle(workflow="add_other"))
    return tmp_path / "bundles"


def service_of(tmp_path: Path, start: Start = Start.PRODUCTION, **said: Any) -> Service:  # noqa: ANN401 - as there
    """The service that a server of this kind has."""
    return build_service(served(tmp_path / "runs", tmp_path / "bundles", **said), ROWS[start])


def refused(service: Service, workflow: str = "add_note", request_id: str = "r-1") -> RunResult:
    """The answer to a call that starts nothing."""
    ticket = service.run_workflow(workflow, INPUTS, request_id)
    assert not ticket.started_here
    return ticket.result


@pytest.mark.usefixtures("bundles")
class TestEachFolderIsABundleOrSaysWhyNot:
    """What can be served is served; what cannot is listed with a closed code, never hidden and never a crash."""

    def test_every_bundle_is_listed_by_its_card(self, tmp_path: Path) -> None:
        service = service_of(tmp_path)

        assert [card.name for card in service.list_workflows()] == ["add_note", "add_other"]
        assert service.unavailable() == ()

    def test_a_changed_byte_makes_one_unavailable_and_leaves_the_other(self, tmp_path: Path) -> None:
        file = tmp_path / "bundles" / "add_note" / "workflow.json"
        file.write_bytes(file.read_bytes().replace(b"Add a note", b"Add a nope"))
        service = service_of(tmp_path)
        (one,) = service.unavailable()
        result = refused(service)

        assert [card.name for card in service.list_workflows()] == ["add_other"]
        assert one.id == opaque_id("add_note")
        assert one.problem
        assert (result.reason, result.record_changed) == (Reason.WORKFLOW_UNAVAILABLE, RecordChanged.NO)
        assert result.failed_checks == (FailedCheck.BUNDLE_UNREADABLE,)
        assert refused(service, one.id, "r-2").reason is Reason.WORKFLOW_UNAVAILABLE
        assert refused(service, "add_third", "r-3").reason is Reason.UNKNOWN_WORKFLOW

    @pytest.mark.parametrize("mishap", ["empty folder", "no manifest", "link", "link to nowhere"])
    def test_whatever_else_lies_there(self, tmp_path: Path, mishap: str) -> None:
        place = tmp_path / "bundles" / "third"
        if mishap == "empty folder":
            place.mkdir()
        elif mishap == "no manifest":
            put(tmp_path / "bundles", note_bundle(workflow="third"))
            (place / "manifest.json").unlink()
        else:
            place.symlink_to(tmp_path / "bundles" / ("add_note" if mishap == "link" else "nowhere"))
        service = service_of(tmp_path)

        assert [each.id for each in service.unavailable()] == [opaque_id("third")]
        assert len(service.list_workflows()) == 2

    def test_a_file_beside_the_bundles_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "bundles" / "README.md").write_text("Our workflows.")

        assert service_of(tmp_path).unavailable() == ()

    def test_a_name_that_two_bear_is_nobodys(self, tmp_path: Path) -> None:
        (tmp_path / "bundles" / "add_note").rename(tmp_path / "bundles" / "one")
        put(tmp_path / "bundles", note_bundle("http://127.0.0.1:10"))
        service = service_of(tmp_path)

        assert [card.name for card in service.list_workflows()] == ["add_other"]
        assert {each.problem for each in service.unavailable()} == {"name_not_unique"}
        assert len(service.unavailable()) == 2

    def test_a_bundle_whose_app_nobody_names(self, tmp_path: Path) -> None:
        put(tmp_path / "bundles", evolve(note_bundle(workflow="third"), origins=()))
        (unavailable,) = service_of(tmp_path).unavailable()
        told = service_of(tmp_path, apps=("http://127.0.0.1:11",))

        assert (unavailable.id, unavailable.problem) == (opaque_id("third"), "app_not_named")
        assert told.unavailable() == ()

    def test_a_folder_that_is_not_there_is_an_error_of_the_operator(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError):
            build_service(served(tmp_path / "runs", tmp_path / "nowhere"), ROWS[Start.PRODUCTION])

    def test_no_path_and_no_name_of_a_folder_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "bundles" / "canary-4711").mkdir()
        service = service_of(tmp_path)
        overview = service.overview(opaque_id("canary-4711"))

        assert overview is not None
        assert "canary" not in repr((overview, service.unavailable()))
        assert str(tmp_path) not in repr((overview, service.unavailable()))


@pytest.mark.usefixtures("bundles")
class TestTheGateIsAskedBeforeEveryAttempt:
    """What is not in order refuses by name, keeps a record and starts nothing; what was answered stays answered."""

    def test_a_workflow_that_nobody_admitted(self, tmp_path: Path) -> None:
        service = service_of(tmp_path)
        result = refused(service)
        kept = service.current(result.run_id)

        assert (result.reason, result.record_changed) == (Reason.NOT_READY_TO_RUN, RecordChanged.NO)
        assert result.safe_to_retry
        assert {FailedCheck.NOT_CERTIFIED, FailedCheck.NOT_ADMITTED} <= set(result.failed_checks)
        assert result.mode is Mode.PRODUCTION
        assert kept == result
        assert list((tmp_path / "runs" / "surehand").glob("owners/*")) == []

    def test_the_overview_says_the_same(self, tmp_path: Path) -> None:
        service = service_of(tmp_path)
        overview = service.overview("add_note")

        assert overview is not None
        assert (overview.available, overview.ready) == (True, False)
        assert overview.failed_checks == refused(service).failed_checks

    def test_an_admission_opens_the_gate_at_once_and_its_end_closes_it(self, tmp_path: Path) -> None:
        service = service_of(tmp_path)
        (folder,) = put(tmp_path / "bundles", note_bundle())
        admit(tmp_path / "runs" / "surehand", folder)
        opened = service.overview("add_note")
        Registry(tmp_path / "runs" / "surehand").revoke(folder.digest)
        closed = service.overview("add_note")

        assert opened is not None
        assert closed is not None
        assert (opened.ready, opened.failed_checks) == (True, ())
        assert closed.failed_checks == (FailedCheck.ADMISSION_REVOKED,)

    def test_a_more_serious_profile_asks_for_more(self, tmp_path: Path) -> None:
        (folder,) = put(tmp_path / "bundles", note_bundle())
        admit(tmp_path / "runs" / "surehand", folder)
        standard, regulated = service_of(tmp_path), service_of(tmp_path, profile="regulated")

        assert regulated.overview("add_note") != standard.overview("add_note")
        assert refused(regulated).reason is Reason.NOT_READY_TO_RUN

    @pytest.mark.parametrize("start", [Start.READ_ONLY, Start.ATTENDED_READ_ONLY])
    def test_a_server_that_only_reads_runs_nothing(self, tmp_path: Path, start: Start) -> None:
        service = service_of(tmp_path, start)
        result = refused(service)

        assert (result.reason, result.safe_to_retry) == (Reason.RUNS_DISABLED, False)

    def test_a_call_that_says_where_the_app_is_is_judged_by_that(self, tmp_path: Path) -> None:
        (folder,) = put(tmp_path / "bundles", note_bundle())
        admit(tmp_path / "runs" / "surehand", folder)
        service = service_of(tmp_path, policy="clinical-write", url_override=True)
        near = service.run_workflow("add_note", INPUTS, "r-1", url="http://127.0.0.1:9").result
        far = service.run_workflow("add_note", INPUTS, "r-2", url="http://app.example").result

        assert FailedCheck.TRANSPORT_NOT_PROTECTED not in near.failed_checks
        assert FailedCheck.TRANSPORT_NOT_PROTECTED in far.failed_checks


@pytest.mark.usefixtures("bundles")
class TestAReportCountsAndNamesNothing:
    """A reader learns how a run stands under its request, and no name, value or path."""

    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[Service]:
        """A service that refuses its runs."""
        service = service_of(tmp_path)
        yield service
        service.close()

    def test_a_refused_call_is_its_own_only_attempt(self, service: Service) -> None:
        result = refused(service)
        report = service.report(result.run_id)

        assert report is not None
        assert report.workflow_id == opaque_id("add_note")
        assert [(each.run_id, each.attempt, each.reason) for each in report.attempts] == [
            (result.run_id, 0, Reason.NOT_READY_TO_RUN)
        ]
        assert report.failed_checks == len(result.failed_checks)
        assert (report.current_version, report.reported_late) == (False, False)

    def test_an_unknown_run_has_none(self, service: Service) -> None:
        assert service.report("run_" + "0" * 32) is None

    def test_a_call_of_no_workflow_names_none(self, service: Service) -> None:
        report = service.report(refused(service, "canary").run_id)

        assert report is not None
        assert report.workflow_id is None
        assert "canary" not in json.dumps(repr(report))
