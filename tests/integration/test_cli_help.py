"""The help of every command, and the page of the documentation about all of them.

Laws:

- Every command has examples, and says in one whole line what it does.
- The options of a command stand before those that say which workflows run, each once.
- Every option of every command stands on the page of the reference, and nothing else does.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from surehand.core.workflow.manifest import MANIFEST_FILE
from surehand.shell.cli.app import COMMANDS, IN_EVERY_BUNDLE, SECTIONS, surehand
from surehand.shell.cli.help import ABOUT_WORKFLOWS, Command, Group, WorkflowOption

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

#: Options that mean the same wherever they stand, and are explained once.
EVERYWHERE = {"--help", "--version", "--runs-dir", "--json"}

#: Longer than a line has room for.
LONG = "Do what nobody can say in one line of a terminal, since it takes many more words than stand on one. More."


def commands(command: click.Command = surehand, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below this one, with its words."""
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                found = command.get_command(ctx, name)
                assert found is not None
                yield (*path, name), found
                yield from commands(found, *path, name)


COMMAND_AT: dict[tuple[str, ...], click.Command] = dict(commands())
GROUP_AT = {(): surehand, **{path: each for path, each in COMMAND_AT.items() if isinstance(each, click.Group)}}

every_command = pytest.mark.parametrize("path", COMMAND_AT, ids=" ".join)
every_group = pytest.mark.parametrize("path", GROUP_AT, ids=lambda path: " ".join(path) or "surehand")


def help_of(command: click.Command, *path: str) -> str:
    """The help of a command as it stands on a terminal of 80 columns."""
    told = CliRunner().invoke(command, [*path, "--help"], prog_name="surehand", terminal_width=80)
    assert (0, "") == (told.exit_code, told.stderr)
    return told.stdout


def names(option: click.Parameter) -> list[str]:
    """The long names of an option."""
    return [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]


def options(command: click.Command) -> list[click.Option]:
    """The options of a command."""
    with click.Context(command) as ctx:
        return [each for each in command.get_params(ctx) if isinstance(each, click.Option)]


def cut(group: click.Group, *path: str) -> list[str]:
    """The commands of a group whose summary is no whole sentence in one line of its help."""
    text = help_of(surehand if path else group, *path).partition("--help ")[2]
    return [
        name
        for name in group.list_commands(click.Context(group))
        if not re.search(rf"^  {name} +\S.*\.$", text, re.MULTILINE) or "..." in text
    ]


class TestEveryCommandExplainsItself:
    """Each help names its command, and has examples of it."""

    @every_command
    def test_with_examples(self, path: tuple[str, ...]) -> None:
        text, words = help_of(surehand, *path), " ".join(path)

        assert f"Usage: surehand {words} " in text
        assert f"surehand {words} " in f"{text.partition('Examples:')[2]} ".replace("\n", " ")

    def test_the_whole_has_examples_too(self) -> None:
        assert "Examples:\n    surehand demo" in help_of(surehand)


class TestNoSummaryIsCut:
    """A list of commands says of each, in one line, what it does."""

    @every_group
    def test_in_every_list(self, path: tuple[str, ...]) -> None:
        assert [] == cut(GROUP_AT[path], *path)

    @pytest.mark.parametrize("kind", [click.Group, Group], ids=["theirs", "ours"])
    def test_a_long_one_is_seen(self, kind: type[click.Group]) -> None:
        group = kind("group")
        group.add_command(click.Command("long", help=LONG))

        assert ["long"] == cut(group)

    def test_a_long_one_is_shown_whole_all_the_same(self) -> None:
        group = Group("group")
        group.add_command(click.Command("long", help=LONG))

        assert LONG.removesuffix(" More.") in " ".join(help_of(group).split())


class TestTheCommandsStandInSections:
    """Each command stands in one section, in the order in which they are needed."""

    def test_in_their_order(self) -> None:
        text = help_of(surehand)
        shown = re.findall(r"^(?:  ([a-z-]+) {2,}\S|([A-Z][a-z ]+):$)", text.partition("Begin here:")[2], re.MULTILINE)

        expected = [word for title, section in SECTIONS.items() for word in (title, *section)][1:]
        assert expected == [name or title for name, title in shown]
        assert sum(map(len, SECTIONS.values())) == len(COMMANDS)


class TestOwnOptionsStandFirst:
    """What says which workflows run follows what the command itself takes; every option is shown once."""

    @every_command
    def test_each_once(self, path: tuple[str, ...]) -> None:
        text = help_of(surehand, *path)
        shown = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)

        assert sorted(name for each in options(COMMAND_AT[path]) for name in names(each)) == sorted(shown)

    @pytest.mark.parametrize(
        "path", [("serve",), ("run",), ("install",), ("plan", "check"), ("plan", "run"), ("plan", "resume")]
    )
    def test_in_two_sections(self, path: tuple[str, ...]) -> None:
        own, title, shared = help_of(surehand, *path).partition(f"{ABOUT_WORKFLOWS}:")

        assert title
        assert ("--runs-dir" in own, "--bundles" in shared, "--bundles FOLDER" in own) == (True, True, False)

    def test_without_any_of_them_there_is_one(self) -> None:
        assert ABOUT_WORKFLOWS not in help_of(Command("alone", params=[click.Option(["--own"])]))


class TestAScriptReadsWhatWasDone:
    """Every command takes --json that prints a result, and the page names the two that print none."""

    def test_all_but_two(self) -> None:
        leaves = {path: each for path, each in COMMAND_AT.items() if not isinstance(each, click.Group)}
        without = [
            path
            for path, each in leaves.items()
            if "--json" not in [name for one in options(each) for name in names(one)]
        ]

        assert [("serve",), ("console",)] == without
        assert "Every command but `serve` and `console`" in (REFERENCE / "command-line.md").read_text(encoding="utf-8")


@cache
def table() -> set[tuple[str, str]]:
    """Command and option of each row of the page."""
    page = (
        (REFERENCE / "command-line.md").read_text(encoding="utf-8").partition("\n## Options\n")[2].partition("\n## ")[0]
    )
    rows = (line.split("|") for line in page.splitlines() if line.startswith("| `"))
    return {
        (command, option)
        for _, first, second, *_ in rows
        for command in re.findall(r"`([a-z -]+)`", first)
        for option in re.findall(r"--[a-z-]+", second)
    }


class TestEveryOptionIsExplained:
    """An option of one command stands in the table of the page, one of many in the sections about settings."""

    def test_those_of_one_command(self) -> None:
        own = {
            (" ".join(path), name)
            for path, command in COMMAND_AT.items()
            for each in options(command)
            if not isinstance(each, WorkflowOption)
            for name in names(each)
            if name not in EVERYWHERE and path != ("serve",)
        }

        assert own == table()

    def test_those_of_many(self) -> None:
        page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
        shared = {
            name
            for _, command in COMMAND_AT.items()
            for each in options(command)
            if isinstance(each, WorkflowOption)
            for name in names(each)
        }

        assert [] == [name for name in sorted(shared | EVERYWHERE) if name not in page]

    def test_those_of_the_server(self) -> None:
        pages = "".join((REFERENCE / name).read_text(encoding="utf-8") for name in ("serving.md", "command-line.md"))
        own = [name for each in options(COMMAND_AT["serve",]) for name in names(each)]

        assert [] == [name for name in own if not re.search(rf"{name}\b", pages)]


class TestWhatStandsInEveryBundle:
    """The file by which a folder is taken for a bundle is one that every bundle has."""

    def test_it_is_the_manifest(self) -> None:
        assert MANIFEST_FILE == IN_EVERY_BUNDLE
