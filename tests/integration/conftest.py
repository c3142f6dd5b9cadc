"""A browser, a site, a page and the clinic app for the tests that need them; a module that needs others has its own."""

from collections.abc import Iterator

import pytest

from support.browser import PATIENT, Lab, Site, Visit, laboratory
from surehand.shell.sandbox.process import SandboxApp


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One browser for all pages."""
    with laboratory(tmp_path_factory.mktemp("lab") / "fence") as opened:
        yield opened


@pytest.fixture
def site() -> Iterator[Site]:
    """A site without pages."""
    with Site() as opened:
        yield opened


@pytest.fixture
def visit(lab: Lab, site: Site) -> Iterator[Visit]:
    """A fresh page at the site."""
    with lab.visit(site) as opened:
        yield opened


@pytest.fixture
def patient(lab: Lab, site: Site) -> Iterator[Visit]:
    """The same, with the patience for what does come."""
    with lab.visit(site, limits=PATIENT) as opened:
        yield opened


@pytest.fixture(scope="module")
def app() -> Iterator[SandboxApp]:
    """One clinic app for all tests of a module."""
    started = SandboxApp.start()
    yield started
    started.close()
