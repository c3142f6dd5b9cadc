"""Folders of bundles for tests that serve them: written as a user has them, certified and admitted on request."""

from pathlib import Path
from typing import Any

from attrs import evolve

from support.browser import NOTE_BUNDLE
from surehand.core.outcome.evidence import CheckLevel
from surehand.core.workflow.bundle import Bundle
from surehand.core.workflow.policy import POLICIES
from surehand.shell.admission import Proposal, Registry
from surehand.shell.bundles import BundleFolder, write_bundle
from surehand.shell.config import BundleArguments, Settings, settings


def note_bundle(origin: str = "http://127.0.0.1:9", workflow: str = "add_note") -> Bundle:
    """The workflow on the small site, as a bundle that says where its app is."""
    read_back = evolve(NOTE_BUNDLE.read_back, level=CheckLevel.SEPARATE_SESSION)
    return evolve(NOTE_BUNDLE, workflow=workflow, origins=(origin,), read_back=read_back)


def put(folder: Path, *bundles: Bundle) -> list[BundleFolder]:
    """Write bundles into a folder, each into one of its own."""
    return [write_bundle(folder / bundle.workflow, bundle) for bundle in bundles]


def admit(state_folder: Path, *folders: BundleFolder) -> None:
    """Certify and admit bundles under the policy that asks for nothing more than the profile."""
    registry, policy = Registry(state_folder), POLICIES["permissive"]
    for folder in folders:
        registry.certify(folder, policy)
        registry.admit(Proposal(folder=folder, policy=policy))


def served(runs_dir: Path, folder: Path, **said: Any) -> Settings:  # noqa: ANN401 - members of many types
    """The settings of a server of these bundles."""
    arguments = BundleArguments(folder=folder)
    return settings(runs_dir, "simulated", bundles=evolve(arguments, **said), environ={})
