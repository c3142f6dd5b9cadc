"""Runs the mutants: each in a process of its own, in which the fast tests either see the fault or do not.

Laws of this module:

- Before any mutant the module without a fault passes the same tests; otherwise nothing counts.
- A mutant is killed when a test fails, when nothing can be imported, or when the tests do not end in time; the last
  are counted by themselves.
- A fault inside a function is first tried by exchanging the function's code, which is quick; whether a mutant survives
  is decided only by tests that imported everything with the fault in place.
- A survivor is named in ``survivors.toml`` with its reason, as equivalent or as known; any other is an error, and so is
  an entry there that names nothing which survives.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.util
import inspect
import math
import os
import resource
import select
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final, NoReturn

import pytest
from hypothesis import HealthCheck, Phase, settings

from mutation.operators import Enums, Mutant, enums_of, mutants, original
from mutation.scores import HEADING, PAGE, ROOT, STALE, Kept, Score, keep, line, mended, page, read, together
from mutation.targets import TARGETS, Target

#: The share of the mutants that are not equivalent which the tests have to kill.
REQUIRED: Final = 0.95

_SOURCE: Final = ROOT / "src"
_SURVIVORS: Final = Path(__file__).with_name("survivors.toml")
_PROFILE: Final = "mutation"
#: Nobody reads why a test failed, so that its assertions stay as they are written; that saves a third of the time.
#: The warning is about what is loaded before a session begins.
_OPTIONS: Final = (
    "-x",
    "-q",
    "-pno:cacheprovider",
    "-pno:xdist",
    "--assert=plain",
    "-Wignore::pytest.PytestAssertRewriteWarning",
    f"--hypothesis-profile={_PROFILE}",
)
_SURVIVED: Final = "survived"
_CANNOT: Final = "cannot be exchanged"
_LATE: Final = "not in time"
#: Tests that are remembered as killers.
_KILLERS: Final = 8
#: Bytes of the longest verdict.
_LONGEST: Final = 4000
_MEMORY_DISK: Final = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - folders are made by tempfile
#: A mutant may take so many times the processor's time of the module without a fault, and the seconds beside it at
#: least; how much other work the machine has plays no part in that.
_PATIENCE: Final = (3, 5)
#: Seconds by the clock for one that waits and does not work.
_LONG_WAIT: Final = 300.0


class _Changed(MetaPathFinder, Loader):
    """Gives one module its changed code; every other one comes from where it always does."""

    def __init__(self, module: str, path: Path, code: CodeType) -> None:
        self._module, self._path, self._code = module, path, code

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The changed module, when it is asked for."""
        del path, target
        if fullname != self._module:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed code."""
        exec(self._code, module.__dict__)  # noqa: S102 - it is our own source with one change


class _FirstFailure:
    """Remembers which test failed first."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the name of a test that failed."""
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take the name of a file that could not be imported."""
        if report.failed and not self.name:
            self.name = f"importing {report.nodeid}"


class _InOrder:
    """Puts the tests of a session in order."""

    def __init__(self, place: Callable[[pytest.Item], int]) -> None:
        self._place = place

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort what was collected."""
        items.sort(key=self._place)


class _Campaign:
    """The mutants of one module, tried inside a test session that has collected everything once."""

    def __init__(self, target: Target, wanted: Callable[[str], bool], *, verbose: bool) -> None:
        self._target, self._wanted, self._verbose = target, wanted, verbose
        self._path = _SOURCE / Path(*target.module.split(".")).with_suffix(".py")
        self._first = _FirstFailure()
        self._killers: list[str] = []
        self.score: Score | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running the tests once, run them for each mutant."""
        session.config.pluginmanager.register(self._first)
        began = time.monotonic()
        source = self._path.read_text(encoding="utf-8")
        patience = self._require_survival(original(source, str(self._path)), session)
        equivalent, known = (
            self._chosen(named_survivors(kind).get(self._target.module, {})) for kind in ("equivalent", "known")
        )
        survived: set[str] = set()
        killed = late = 0
        gc.collect()
        gc.freeze()  # no child looks through what all of them share
        for mutant in mutants(source, str(self._path), _enums(), only=self._target.only, texts=self._target.texts):
            if mutant.name not in self._chosen([mutant.name]):
                continue
            verdict = self._verdict(mutant, session, patience)
            self._killers = [verdict, *(each for each in self._killers if each != verdict)][:_KILLERS]
            killed += verdict != _SURVIVED
            late += verdict == _LATE
            if verdict == _SURVIVED:
                survived.add(mutant.name)
            if self._verbose or (verdict == _SURVIVED and mutant.name not in equivalent | known):
                module = self._target.module.rpartition(".")[2]
                print(f"{module}:{mutant.line} {mutant.name}\n    {verdict}", file=sys.stderr, flush=True)  # noqa: T201 - a command's output
        surprises = sorted(survived - equivalent - known)
        surprises += [STALE + name for name in sorted((equivalent | known) - survived)]
        counts = killed, late, len(survived & equivalent), len(survived & known), tuple(surprises)
        digest = sha256(source.encode()).hexdigest()[:12]
        self.score = Score(self._target.module, *counts, time.monotonic() - began, digest)
        return True

    def _chosen(self, names: Sequence[str] | dict[str, str]) -> set[str]:
        return {name for name in names if self._wanted(name)}

    def _require_survival(self, code: CodeType, session: pytest.Session) -> int:
        """How many seconds of the processor a mutant may take, when the module without a fault survives."""
        for judge in (lambda: self._here(session), lambda: self._again(code)):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            verdict = _elsewhere(judge, _PATIENCE[1] * 60)
            if verdict != _SURVIVED:
                raise pytest.UsageError(f"{self._target.module} fails without a fault: {verdict}")
        return max(
            math.ceil(_PATIENCE[0] * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)), _PATIENCE[1]
        )

    def _verdict(self, mutant: Mutant, session: pytest.Session, patience: int) -> str:
        """What the tests say about a mutant: that it survived, or which of them killed it."""

        def quick() -> str:
            return self._here(session) if _exchanged(self._target.module, mutant) else _CANNOT

        quickly = _elsewhere(quick, patience)
        return _elsewhere(lambda: self._again(mutant.code), patience) if quickly in {_SURVIVED, _CANNOT} else quickly

    def _place(self, item: pytest.Item) -> int:
        """Tests that killed one of the last mutants come first: they are likely to kill its neighbours too."""
        return self._killers.index(item.nodeid) if item.nodeid in self._killers else _KILLERS

    def _here(self, session: pytest.Session) -> str:
        """Run the tests that this session collected, up to the first that fails."""
        items = sorted(session.items, key=self._place)
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._first.name:
                return self._first.name
        return _SURVIVED

    def _again(self, code: CodeType) -> str:
        """Import everything anew with the changed module, and run the tests."""
        _forget_ours()
        sys.meta_path.insert(0, _Changed(self._target.module, self._path, code))
        first = _FirstFailure()
        status = pytest.main([*_OPTIONS, *self._target.tests], plugins=[first, _InOrder(self._place)])
        return _SURVIVED if status == pytest.ExitCode.OK else first.name or f"status {int(status)}"


def _forget_ours() -> None:
    """Forget what was imported of the project and its tests."""
    for name, module in tuple(sys.modules.items()):
        if _is_ours(module):
            del sys.modules[name]


def _is_ours(module: ModuleType) -> bool:
    path = Path(getattr(module, "__file__", None) or "/")
    return path.is_relative_to(_SOURCE) or (
        path.is_relative_to(ROOT / "tests") and path.parent != Path(__file__).parent
    )


def _exchanged(module: str, mutant: Mutant) -> bool:
    """Give the function in which the fault is its changed code; ``False`` when that is not all there is to change."""
    found: object = sys.modules.get(module)
    for part in mutant.where.split("."):
        found = inspect.getattr_static(found, part, None)
    function: object = inspect.unwrap(getattr(found, "__func__", found))  # type: ignore[arg-type]  # whatever it is
    codes = [code for code in _codes(mutant.code) if code.co_qualname == mutant.where]
    if not isinstance(function, FunctionType) or not codes or codes[0].co_freevars != function.__code__.co_freevars:
        return False
    function.__code__ = codes[0]
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _elsewhere(judge: Callable[[], str], patience: int) -> str:
    """What a judge says in a process group of its own, with a folder of its own; neither is left behind."""
    with tempfile.TemporaryDirectory(prefix="surehand-mutant-", dir=_MEMORY_DISK) as folder:
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            _tell(judge, folder, writes, patience)
        os.close(writes)
        with open(reads, "rb") as pipe:  # noqa: PTH123 - a descriptor
            ended, _, _ = select.select([pipe], [], [], _LONG_WAIT)
            said = os.read(pipe.fileno(), _LONGEST).decode() if ended else ""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    late = not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
    return said or (_LATE if late else "the process ended")


def _tell(judge: Callable[[], str], folder: str, writes: int, patience: int) -> NoReturn:
    """Judge in silence, tell the verdict, and end."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (patience, patience + 1))
    tempfile.tempdir = os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    try:
        said = judge()
    except BaseException as error:  # noqa: BLE001 - whatever a fault does, the verdict is told
        said = type(error).__name__
    os.write(writes, said.encode()[:_LONGEST])
    os._exit(0)


def _enums() -> Enums:
    return {
        name: members
        for path in sorted((_SOURCE / "surehand" / "core").rglob("*.py"))
        for name, members in enums_of(path.read_text(encoding="utf-8")).items()
    }


def named_survivors(kind: str) -> dict[str, dict[str, str]]:
    """The survivors that are ``equivalent`` or ``known``: for each module their names, each with its reason."""
    named: dict[str, dict[str, dict[str, str]]] = tomllib.loads(_SURVIVORS.read_text(encoding="utf-8"))
    return named.get(kind, {})


def page_of(kept: Sequence[Kept]) -> str:
    """The page of these scores, as it has to stand in the documentation."""
    return page(kept, [target.module for target in TARGETS], named_survivors("known"))


def prepare() -> None:
    os.chdir(ROOT)
    sys.path.insert(0, str(_SOURCE))
    settings.register_profile(
        _PROFILE,
        max_examples=20,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


def run(target: Target, verbose: bool, wanted: Callable[[str], bool] = lambda _: True) -> Score:
    """The score of one module, or of those of its mutants that are wanted."""
    _forget_ours()
    campaign = _Campaign(target, wanted, verbose=verbose)
    pytest.main([*_OPTIONS, "-q", "--capture=no", "--no-header", "--no-summary", *target.tests], plugins=[campaign])
    if campaign.score is None:
        raise SystemExit(f"{target.module} was not tried")
    return campaign.score


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants of all modules, or of those that are named, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--module", action="append", help="the end of a module's name, such as outcome.decide")
    parser.add_argument("--mutant", action="append", help="a part of a mutant's name; only such mutants are run")
    parser.add_argument("--verbose", action="store_true", help="tell of each mutant which test killed it")
    parser.add_argument("--keep", action="store_true", help="keep the scores, and write the page of the documentation")
    parser.add_argument("--survivors", action="store_true", help="try again what survived in the kept scores alone")
    chosen = parser.parse_args(arguments)
    if (chosen.keep or chosen.survivors) and chosen.mutant:
        parser.error("a score of some mutants is no score to keep")
    targets = [each for each in TARGETS if not chosen.module or each.module.endswith(tuple(chosen.module))]
    if not targets:
        parser.error("no such module")
    prepare()
    print(HEADING, flush=True)  # noqa: T201 - a command's output
    scores: list[Score] = []
    for target in targets:
        if chosen.survivors:
            scores.append(_run_survivors(target, chosen.verbose))
        else:
            parts: list[str] = chosen.mutant or [""]
            scores.append(run(target, chosen.verbose, lambda name: any(part in name for part in parts)))  # noqa: B023 - called at once
        print(line(scores[-1]), flush=True)  # noqa: T201 - as above
        if chosen.keep:
            keep(scores[-1], part=bool(target.only) or not target.texts)
            PAGE.write_text(page_of(read()), encoding="utf-8")
    total = together("all", scores)
    print("\n".join([line(total), *(f"not accounted for: {name}" for name in total.surprises)]))  # noqa: T201 - as above
    return int(any(score.surprises or score.share < REQUIRED for score in scores))


def _run_survivors(target: Target, verbose: bool) -> Score:
    """The kept score of a module, after what survived there without a reason was tried again with the tests of now."""
    kept = next((each.score for each in read() if each.score.module == target.module), None)
    if kept is None:
        raise SystemExit(f"{target.module} has no kept score")
    return mended(kept, run(target, verbose, kept.surprises.__contains__) if kept.surprises else None)
