"""The pages of the clinic app as text: templates filled with escaped values.

Laws of this module:

- A page is a function of its arguments. Nothing here knows a session or a request.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from surehand.shell.markup import NOTHING, Html, Templates, join, static_files
from surehand.shell.sandbox.cases import CASES, Case
from surehand.shell.sandbox.clinic import MAX_NOTE_LENGTH, URGENCIES, Note, Referral, Visit

#: Notes shown on a referral's page; the others are counted.
SHOWN_NOTES: Final = 20

_PACKAGE: Final = "surehand.shell.sandbox"
_FILL: Final = Templates(_PACKAGE).fill

#: The files that the pages load, by name, with their media types.
STATIC_FILES: Final = static_files(_PACKAGE, {"clinic.css": "text/css", "clinic.js": "text/javascript"})


def sign_in(problem: str = "") -> str:
    """The sign-in page."""
    cases = CASES.values()
    content = _FILL(
        "sign_in",
        problem=_banner("bad", problem),
        options=join(_FILL("option", name=case.name, summary=case.summary) for case in cases),
        scenarios=join(_FILL("scenario", name=case.name, behavior=case.behavior) for case in cases),
    )
    return _page("Sign in", None, content)


def referrals(visit: Visit, rows: Sequence[Referral]) -> str:
    """The work list."""
    shown = join(_FILL("referral_row", **_identity(row), id=row.id, reason=row.reason) for row in rows)
    return _page("Referrals", visit, _FILL("referrals", count=str(len(rows)), rows=shown))


def referral(visit: Visit, row: Referral, notes: Sequence[Note], *, saved: bool) -> str:
    """One referral with its newest notes; ``saved`` shows the banner."""
    newest = notes[::-1][:SHOWN_NOTES]
    older = len(notes) - len(newest)
    content = _FILL(
        "referral",
        id=row.id,
        record_number=row.record_number,
        banner=_banner("good", "Note saved" if saved else ""),
        patient=_patient(row),
        notes=join(_note(note) for note in newest) if newest else Html('<p class="muted">No notes yet.</p>'),
        older=Html(f'<p class="muted">and {older} older</p>') if older else NOTHING,
    )
    return _page("Referral", visit, content)


def note_form(visit: Visit, row: Referral, *, note: str = "", urgency: str = "", problem: str = "") -> str:
    """The form for a new note; with ``problem`` it shows what was entered again."""
    content = _FILL(
        "note_form",
        id=row.id,
        record_number=row.record_number,
        patient=_patient(row),
        problem=_banner("bad", problem),
        note=note,
        limit=str(MAX_NOTE_LENGTH),
        urgencies=join(_urgency(name, chosen=name == urgency) for name in URGENCIES),
    )
    return _page("Add triage note", visit, content)


def message(title: str, text: str, *, link: str, link_text: str) -> str:
    """A page that only says something."""
    return _page(title, None, _FILL("message", title=title, text=text, link=link, link_text=link_text))


def offline(case: Case) -> str:
    """What a person sees who signs in to a scenario in which there is no app."""
    return sign_in(f"In this scenario there is nothing to sign in to. {case.summary}")


def _page(title: str, visit: Visit | None, content: Html) -> str:
    account = _FILL("account", user=visit.user, scenario=visit.case.name) if visit else NOTHING
    return _FILL("layout", title=title, account=account, content=content).text


def _identity(row: Referral) -> dict[str, str]:
    return {"patient": row.patient, "date_of_birth": row.date_of_birth, "record_number": row.record_number}


def _patient(row: Referral) -> Html:
    return _FILL("patient", **_identity(row), reason=row.reason)


def _note(note: Note) -> Html:
    when = note.created.replace("T", " ").removesuffix("Z") + " UTC"
    return _FILL("note", author=note.author, urgency=note.urgency, created=note.created, when=when, note=note.note)


def _urgency(name: str, *, chosen: bool) -> Html:
    return Html(f"<option{' selected' if chosen else ''}>{escape(name)}</option>")


def _banner(kind: str, text: str) -> Html:
    role = "status" if kind == "good" else "alert"
    return Html(f'<p class="banner {kind}" role="{role}">{escape(text)}</p>') if text else NOTHING
