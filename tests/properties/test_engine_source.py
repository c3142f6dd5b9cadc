"""What no engine's source may do, checked against its syntax tree.

Laws:

- After the boundary there is no reload, no way back, and no second click: the calls for it do not exist in an engine.
- Nothing is clicked by force, at a place, or as one of several.
- Keys are pressed where texts are entered, which is behind a closed fence, and nowhere else.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import surehand

PACKAGE = Path(surehand.__file__).parent
ENGINES = sorted((PACKAGE / "shell" / "engines").rglob("*.py"))
SCRIPTS = sorted((PACKAGE / "shell" / "engines").rglob("*.js"))

#: Calls that could send a request again, or act on something that no exact name found.
BANNED = {
    "dblclick",
    "dispatch_event",
    "go_back",
    "go_forward",
    "nth",
    "reload",
    "route",
    "route_web_socket",
    "submit",
    "tap",
    "unroute",
}

#: Properties that pick one of several.
BANNED_PROPERTIES = {"first", "last"}

#: Ways of calling that would do the same.
BANNED_KEYWORDS = {"click_count", "force", "no_wait_after", "position"}

#: Calls that press keys.
KEYS = {"insert_text", "press", "press_sequentially", "type"}

#: Scripts that would.
BANNED_WORDS = ("location.reload", "history.", ".submit(", ".click(", "requestSubmit")


def second_tries(source: str) -> Iterator[str]:
    """What in the source could try something a second time, or without an exact name."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in BANNED:
                yield name
            case ast.Attribute(attr=name) if name in BANNED_PROPERTIES:
                yield name
            case ast.keyword(arg=str(name)) if name in BANNED_KEYWORDS:
                yield name
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from (word for word in BANNED_WORDS if word in text)
            case _:
                pass


def clicks(source: str) -> int:
    """How many places in the source click."""
    return sum(isinstance(node, ast.Attribute) and node.attr == "click" for node in ast.walk(ast.parse(source)))


def keys(source: str) -> Iterator[str]:
    """The calls in the source that press keys."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in KEYS:
                yield name
            case _:
                pass


class TestNoSecondTry:
    """``page.reload``, back and re-clicks do not exist: an engine could not do them if it were asked to."""

    @pytest.mark.parametrize("path", ENGINES, ids=lambda path: str(path.relative_to(PACKAGE)))
    def test_no_engine_can(self, path: Path) -> None:
        assert [] == list(second_tries(path.read_text(encoding="utf-8")))

    @pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(PACKAGE)))
    def test_no_script_of_an_engine_can(self, path: Path) -> None:
        script = path.read_text(encoding="utf-8")

        assert [] == [word for word in BANNED_WORDS if word in script]

    def test_keys_are_pressed_where_texts_are_entered_alone(self) -> None:
        pressing = {path.name for path in ENGINES if list(keys(path.read_text(encoding="utf-8")))}

        assert {"acting.py"} == pressing

    def test_an_engine_clicks_in_two_places_only(self) -> None:
        # One for the steps before the save, behind a closed fence, and one for the save.
        assert 2 == sum(clicks(path.read_text(encoding="utf-8")) for path in ENGINES)

    @pytest.mark.parametrize(
        "line",
        [
            "page.reload()",
            "await page.go_back()",
            "page.go_forward(timeout=1)",
            "element.dblclick()",
            "element.click(force=True)",
            "element.click(click_count=2)",
            "element.click(position={'x': 1, 'y': 1})",
            "locator.first.click()",
            "locator.nth(1)",
            "page.evaluate('() => location.reload()')",
            "page.evaluate('() => history.back()')",
            "page.evaluate('document.forms[0].submit()')",
            "context.route('**/*', handler)",
        ],
    )
    def test_a_second_try_is_seen(self, line: str) -> None:
        assert [] != list(second_tries(line if "await" not in line else f"async def f():\n    {line}"))
