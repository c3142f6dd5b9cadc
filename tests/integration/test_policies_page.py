"""Policies from files, and the page of the documentation about them."""

from pathlib import Path

import pytest

from surehand.core.outcome.evidence import CheckLevel
from surehand.core.outcome.result import FailedCheck
from surehand.core.workflow.policy import POLICIES, Requirements
from surehand.shell.config import ConfigError
from surehand.shell.policies import ASKED_OF_BUNDLES, EXPLAINED, PAGE, load_policy, main, policies_page

ROOT = Path(__file__).parents[2]

OWN_POLICY = """\
schema = "surehand.policy/v1"
name = "our-clinic"
version = 3

[requires]
identity_fields = 3
read_back = "system_of_record"
duplicate_guard = true
"""


class TestThePage:
    """The page in the documentation is the one that the code makes."""

    def test_is_not_stale(self) -> None:
        assert policies_page() == (ROOT / PAGE).read_text(encoding="utf-8")

    def test_explains_every_failed_check(self) -> None:
        assert set(FailedCheck) == set(EXPLAINED)
        assert [] == [check.value for check in FailedCheck if f"| `{check.value}` |" not in policies_page()]

    def test_shows_a_policy_that_can_be_read(self, tmp_path: Path) -> None:
        example = policies_page().partition("```toml\n")[2].partition("```")[0]
        (tmp_path / "policy.toml").write_text(example)

        assert "our-clinic" == load_policy(str(tmp_path / "policy.toml")).name

    def test_names_what_is_asked_of_a_bundle(self) -> None:
        assert set(ASKED_OF_BUNDLES) < set(EXPLAINED)

    def test_is_written_by_its_own_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / PAGE).parent.mkdir(parents=True)
        monkeypatch.chdir(tmp_path)

        assert 0 == main(["--write"]) == main([])
        assert policies_page() == (tmp_path / PAGE).read_text(encoding="utf-8")
        assert policies_page() in capsys.readouterr().out


class TestPolicyFiles:
    """A policy is one of ours by its name, or a file that is understood to the last member."""

    @pytest.mark.parametrize("name", POLICIES)
    def test_by_name(self, name: str) -> None:
        assert POLICIES[name] == load_policy(name)

    def test_from_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "policy.toml").write_text(OWN_POLICY)
        found = load_policy(str(tmp_path / "policy.toml"))

        assert ("our-clinic", 3) == (found.name, found.version)
        assert found.requires == Requirements(
            identity_fields=3, read_back=CheckLevel.SYSTEM_OF_RECORD, duplicate_guard=True
        )

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            (OWN_POLICY.replace("duplicate_guard", "duplicate_gaurd"), "unknown_member"),
            (OWN_POLICY.replace("= true", '= "yes"'), "requires.duplicate_guard wrong_type"),
            (OWN_POLICY.replace("system_of_record", "very_strong"), "requires.read_back not_a_choice"),
            (OWN_POLICY.replace("= 3", "= -1"), "out_of_limits"),
            (OWN_POLICY.replace("our-clinic", "permissive"), "name of a policy of ours"),
            (OWN_POLICY.replace("/v1", "/v2"), "schema not_a_choice"),
            ("", "missing_member"),
            ("= broken", "neither"),
            ("\ud800", "neither"),
            (OWN_POLICY + "#" * (1 << 16), "too large"),
        ],
    )
    def test_refused(self, tmp_path: Path, text: str, word: str) -> None:
        (tmp_path / "policy.toml").write_bytes(text.encode("utf-8", "surrogatepass"))

        with pytest.raises(ConfigError, match=word):
            load_policy(str(tmp_path / "policy.toml"))

    @pytest.mark.parametrize("name", ["", "strict", "Permissive", "."])
    def test_neither(self, name: str) -> None:
        with pytest.raises(ConfigError, match="neither"):
            load_policy(name)
