"""What became of the mutants: the scores, kept beside the targets, and the page and the lines that show them.

Laws of this module:

- A kept score says of which text of the module it was measured, when, and where; a later one takes its place.
- The page is made of the kept scores and of the named survivors alone, so that nobody writes a number by hand.
- It never knows how a mutant is run.
"""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Final

import cattrs
from attrs import evolve, frozen

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "mutation.md"
_KEPT: Final = Path(__file__).with_name("scores.json")

#: What a reason is called that nothing survives for; the mutant's name follows.
STALE: Final = "named and not surviving: "

#: The names of the columns, for a terminal.
HEADING: Final = (
    "module                                mutants  killed  timed out  equivalent  surviving   score      s"
)

#: What stands on the page above the table.
_HEAD: Final = """\
# Mutation testing: faults that the tests have to see

One place of a module is changed at a time:

- a condition is turned, a comparison moved by one, a part of it left out;
- a statement, a guard, an argument or the `with` around a block is removed;
- an entry of a table is dropped, or exchanged with its neighbour;
- a member of an enum, a number or a text is replaced by another.

Each such *mutant* runs against the tests of its module in a process of its own.
A test that fails kills it; a mutant that survives shows what no test holds.
An *equivalent* mutant does what the module does, so that nothing can kill it.
One that takes three times the processor's time of the true module, five seconds at least, is killed as *timed out*;
so is one that takes five minutes by the clock.

```console
$ .venv/bin/python -m tests.mutation                        # every module, and the table
$ .venv/bin/python -m tests.mutation --module request.gate  # one module
$ .venv/bin/python -m tests.mutation --keep                 # every module, and this page anew
$ .venv/bin/python -m tests.mutation --keep --survivors     # what survived without a reason, tried again
```

The command fails when less than 95 % of a module's mutants that are not equivalent are killed.
It also fails when a mutant survives that `tests/mutation/survivors.toml` does not name with a reason,
and when that file names one that is killed.
Which tests hold which module stands in `tests/mutation/targets.py`.
Of a module marked * only the functions that are named there are changed, or no texts.

This page is written by the command.

## The last run
"""


@frozen
class Score:
    """What became of the mutants of one module.

    Args:
        module: Its name.
        killed: Mutants that a test killed, or the time limit.
        late: Those of the killed that did not end in time.
        equivalent: Survivors that do what the module does.
        known: Survivors that are let live, each for a reason.
        surprises: Survivors without a reason, and reasons without a survivor.
        seconds: How long it took.
        digest: The beginning of the SHA-256 of the module's text.
    """

    module: str
    killed: int
    late: int
    equivalent: int
    known: int
    surprises: tuple[str, ...]
    seconds: float
    digest: str = ""

    @property
    def total(self) -> int:
        """All mutants."""
        return self.killed + self.equivalent + self.known + len(self.surprises)

    @property
    def share(self) -> float:
        """How many of those that are not equivalent were killed."""
        return self.killed / max(self.total - self.equivalent, 1)


@frozen
class Kept:
    """One kept score: whether of a part of the module, when, and where."""

    score: Score
    part: bool
    day: str
    machine: str


def together(name: str, scores: Sequence[Score]) -> Score:
    """The sum of scores."""
    return Score(
        module=name,
        killed=sum(score.killed for score in scores),
        late=sum(score.late for score in scores),
        equivalent=sum(score.equivalent for score in scores),
        known=sum(score.known for score in scores),
        surprises=tuple(name for score in scores for name in score.surprises),
        seconds=sum(score.seconds for score in scores),
    )


def mended(kept: Score, again: Score | None) -> Score:
    """A kept score, after those that survived in it without a reason were tried again.

    Raises:
        ValueError: The module is another one by now, so that all have to be tried.
    """
    if again is None:
        return kept
    if again.digest != kept.digest:
        raise ValueError(f"{kept.module} changed since its score was kept")
    both = together(kept.module, [evolve(kept, surprises=()), again])
    return evolve(both, digest=kept.digest)


def line(score: Score) -> str:
    """A score for a terminal, under ``HEADING``."""
    surviving = score.known + len(score.surprises)
    return (
        f"{score.module:<36} {score.total:>8,} {score.killed:>7,} {score.late:>10} {score.equivalent:>11} "
        f"{surviving:>10} {score.share:>7.1%} {score.seconds:>6.0f}"
    )


def keep(score: Score, *, part: bool) -> None:
    """Put a score in the place of an earlier one of the same module."""
    kept = {each.score.module: each for each in read()}
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    day = datetime.now(UTC).date().isoformat()
    kept[score.module] = Kept(score, part, day, machine)
    wire: object = cattrs.unstructure(sorted(kept.values(), key=lambda each: each.score.module))
    _KEPT.write_text(json.dumps(wire, indent=1) + "\n", encoding="utf-8")


def read() -> tuple[Kept, ...]:
    """The kept scores, by module."""
    return cattrs.structure(json.loads(_KEPT.read_text(encoding="utf-8")), tuple[Kept, ...]) if _KEPT.exists() else ()


def page(kept: Sequence[Kept], modules: Sequence[str], known: Mapping[str, Mapping[str, str]]) -> str:
    """The page, of the kept scores of these modules and of the survivors that are no equivalents."""
    targeted = [each for each in kept if each.score.module in modules]
    shown = sorted(targeted, key=lambda each: each.score.module.rpartition("."))
    missing = [module for module in modules if module not in {each.score.module for each in kept}]
    return "\n".join([_HEAD, *_numbers(shown), *_without_score(missing), "", *_survivors(shown, known)]) + "\n"


def _numbers(kept: Sequence[Kept]) -> Iterator[str]:
    yield "| module | mutants | killed | timed out | equivalent | surviving | score | minutes | day | SHA-256 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---|---|"
    for package, found in groupby(kept, key=lambda each: each.score.module.rpartition(".")[0]):
        rows = tuple(found)
        for each in rows:
            yield _row(f"`{each.score.module}`{' *' * each.part}", each.score, each.day, f"`{each.score.digest}`")
        yield _row(f"**{package}**", together(package, [each.score for each in rows]), "", "")
    yield _row("**all**", together("all", [each.score for each in kept]), "", "")
    yield ""
    yield f"Machine: {'; '.join(sorted({each.machine for each in kept}))}, on which other work ran as well."
    yield "The digest names the text of the module that was measured."


def _without_score(modules: Sequence[str]) -> Iterator[str]:
    if modules:
        yield ""
        yield "Of these targets no run has been kept yet:"
        yield ""
        yield from (f"- `{module}`" for module in modules)


def _row(name: str, score: Score, day: str, digest: str) -> str:
    counts = (score.total, score.killed, score.late, score.equivalent, score.known + len(score.surprises))
    told = (name, *(f"{count:,}" for count in counts), f"{score.share:.1%}", f"{score.seconds / 60:.0f}", day, digest)
    return f"| {' | '.join(told)} |"


def _survivors(kept: Sequence[Kept], known: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "## Survivors that are no equivalents"
    yield ""
    found = [(each.score.module, name, why) for each in kept for name, why in _reasons(each.score, known).items()]
    if not found:
        yield "None."
        return
    yield "| module | change | why it lives |"
    yield "|---|---|---|"
    for module, name, why in found:
        change = name.replace("|", "\\|")
        yield f"| `{module}` | `{change}` | {why} |"


def _reasons(score: Score, known: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {**known.get(score.module, {}), **dict.fromkeys(score.surprises, "nobody has looked at it yet")}
