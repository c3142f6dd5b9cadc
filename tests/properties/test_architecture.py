"""What core may reach, checked against the import graph and the syntax trees.

Laws:

- Core imports an allow-list, not "anything that nobody thought of forbidding".
- Core calls no clock, no randomness, no environment, no file, no socket, no log.
- The face imports nothing heavy.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

import surehand

PACKAGE = Path(surehand.__file__).parent
CORE = sorted((PACKAGE / "core").rglob("*.py"))

#: The pure parts of the standard library and the four libraries that core stands on.
ALLOWED_IN_CORE = {
    "abc",
    "attrs",
    "base64",
    "cattrs",
    "collections",
    "cryptography",
    "datetime",
    "decimal",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "hmac",
    "ipaddress",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "returns",
    "string",
    "struct",
    "types",
    "typing",
    "unicodedata",
}

#: Builtins that reach outside, or run what is not written down.
BANNED_BUILTINS = {"__import__", "breakpoint", "compile", "eval", "exec", "input", "open", "print"}

#: Names whose call, by whatever module, would make an answer depend on something that is no argument.
BANNED_CALLS = {"getenv", "now", "today", "token_bytes", "token_hex", "urandom", "utcnow", "uuid1", "uuid4"}


def imported_by_core(package: str) -> set[str]:
    """The top-level names outside the package that its core imports directly."""
    graph = grimp.build_graph(package, include_external_packages=True, cache_dir=None)
    core = {module for module in graph.modules if module.startswith(f"{package}.core")}
    return {name.partition(".")[0] for module in core for name in graph.find_modules_directly_imported_by(module)} - {
        package
    }


def banned_calls(source: str) -> Iterator[str]:
    """The banned names that the source calls, by any spelling."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in BANNED_BUILTINS | BANNED_CALLS:
                    yield name
                case ast.Attribute(attr=name) if name in BANNED_CALLS:
                    yield name
                case _:
                    pass


class TestCoreImportsAnAllowList:
    """Core imports the pure parts of the standard library, attrs, cattrs, returns and cryptography, nothing else."""

    def test_every_import_of_core_is_on_the_list(self) -> None:
        assert set() == imported_by_core("surehand") - ALLOWED_IN_CORE

    def test_core_never_imports_the_shell(self) -> None:
        graph = grimp.build_graph("surehand", cache_dir=None)

        assert set() == {
            (importer, imported)
            for importer in graph.modules
            if importer.startswith("surehand.core")
            for imported in graph.find_modules_directly_imported_by(importer)
            if imported.startswith("surehand.shell")
        }

    def test_an_import_of_the_clock_would_be_seen(self) -> None:
        assert "time" not in ALLOWED_IN_CORE
        assert "os" not in ALLOWED_IN_CORE
        assert "random" not in ALLOWED_IN_CORE


class TestCoreCallsNothingImpure:
    """Time, nonces, keys and identities are arguments: core never asks for them."""

    @pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
    def test_no_banned_call(self, path: Path) -> None:
        assert [] == list(banned_calls(path.read_text(encoding="utf-8")))

    @pytest.mark.parametrize(
        "line", ["datetime.now()", "date.today()", "open('x')", "os.getenv('X')", "print(1)", "secrets.token_hex()"]
    )
    def test_a_banned_call_is_seen(self, line: str) -> None:
        assert [] != list(banned_calls(line))


class TestEachModuleOpensWithItsLaws:
    """A module says what belongs in it before it says anything else."""

    @pytest.mark.parametrize(
        "path",
        [path for path in sorted(PACKAGE.rglob("*.py")) if path.name not in {"__init__.py", "__main__.py"}],
        ids=lambda path: str(path.relative_to(PACKAGE)),
    )
    def test_the_docstring_names_laws(self, path: Path) -> None:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""

        assert "Laws of this module:" in docstring
