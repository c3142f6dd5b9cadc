"""What is typed and what is seen leaves the worker by no way but the app: a search for planted words."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from support.browser import Site, note_site

#: A word that only this test knows, typed into the page, and one that the page shows.
TYPED = "canary-typed-4711"
SHOWN = "canary-shown-0815"

#: A whole server's worth of debug switches, as a careless host could set them.
SWITCHES = {
    "DEBUG": "pw:*",
    "DEBUG_FILE": "pw.log",
    "PWDEBUG": "console",
    "NODE_DEBUG": "http,net",
    "PYTHONDEVMODE": "1",
    "PYTHONASYNCIODEBUG": "1",
}

#: Runs one note twice, once to its end and once into a page that it does not expect.
PROGRAM = """
    import sys
    from pathlib import Path

    from support.browser import NOTE_BUNDLE, reserved
    from surehand.core.outcome.result import Mode
    from surehand.shell.engines.base import AppTarget, Job
    from surehand.shell.engines.browser.executor import WorkerExecutor
    from surehand.shell.store import open_store

    folder = Path(sys.argv[1])
    store = open_store(folder)
    executor = WorkerExecutor(folder, Mode.SANDBOX)
    for origin in sys.argv[2:]:
        record = reserved(store, executor.owner_token)
        target = AppTarget(origin=origin, record_origin=origin)
        job = Job(run_id=record.run_id, bundle=NOTE_BUNDLE, inputs={"note": "canary-" + "typed-4711"}, target=target)
        print(executor.submit(record, job).result(60).reason.value)
    executor.close()
    store.close()
"""


class TestPlantedWords:
    """A typed or a shown value is in no output, no file and no argument, whatever debug switches the host sets."""

    def test_they_are_found_nowhere_but_in_the_app(self, tmp_path: Path) -> None:
        folder = tmp_path / "state"
        folder.mkdir(mode=0o700)
        with note_site() as good, note_site() as bad:
            covered = f'<div style="position:fixed;inset:0">{SHOWN}</div><title>{SHOWN}</title>'
            good.pages["/saved"] = f"<h1>{SHOWN}</h1>"
            bad.pages["/new"] += covered + f"<script>document.querySelector('textarea').value = '{SHOWN}'</script>"
            bad.pages["/new"] = bad.pages["/new"].replace("<textarea", f"<textarea onblur=\"this.value = '{SHOWN}'\"")

            said = subprocess.run(
                [sys.executable, "-c", textwrap.dedent(PROGRAM), str(folder), good.origin, bad.origin],
                capture_output=True,
                cwd=tmp_path,
                env={**os.environ, **SWITCHES, "PYTHONPATH": str(Path(__file__).parents[1])},
                check=True,
            )

        assert said.stdout.split() == [b"saved_and_checked", b"unexpected_screen"]
        assert typed(good) == [TYPED]
        assert (typed(bad), bad.posts) == ([], [])
        assert places(tmp_path, said.stdout, said.stderr) == []

    def test_the_search_finds_what_is_there(self, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "file").write_bytes(b"\0" + TYPED.encode() + b"\0")

        assert places(tmp_path, b"", SHOWN.encode()) == ["output", "deep/file"]


def typed(site: Site) -> list[object]:
    """The notes that reached the site."""
    return [record["note"] for record in site.records]


def places(folder: Path, *outputs: bytes) -> list[str]:
    """Where a planted word is found: in an output, or in a file below the folder."""
    words = (TYPED.encode(), SHOWN.encode())
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    found = ["output" for output in outputs if any(word in output for word in words)]
    return found + [str(path.relative_to(folder)) for path in files if any(word in path.read_bytes() for word in words)]
