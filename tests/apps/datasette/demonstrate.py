"""A visit is changed: found in the table, edited in a dialog that sends only what changed."""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, write

_ROWS = (
    ("4", "Peter Okafor", "88", "37.4", "Slept well."),
    ("7", "Lena Park", "61", "36.1", "Schläft – „gut“."),
    ("1", "Ana Betz", "120", "39.5", 'Fever; "no" rash, it\'s < yesterday & stable'),
    ("12", "Nils Berg", "59", "36.25", "🙂 goes home"),
    ("2", "John Zenon", "75", "36.9", "O'Brien called — twice"),
    ("9", "Tuula Aalto", "90", "38", "Äiti soitti; yö meni hyvin"),
    ("10", "Bruno Dias", "101", "37.05", "n" * 300),
    ("5", "Jane Okafor", "72", "36.75", "日本語のメモ"),
    ("8", "Omar Said", "66", "36.5", "100% {sure} \\n is no line end"),
    ("11", "Mei Tan", "83", "37.8", "Łóżko 7, ć ž š đ ő ű"),
    ("3", "Maria Quispe", "94", "37.2", "Walks again."),
    ("6", "Ivo Horak", "68", "36.6", "Přišel pozdě, ale v pořádku"),
)

INPUTS: tuple[Values, ...] = tuple(
    {"visit": visit, "patient": patient, "pulse": pulse, "temperature": temperature, "notes": notes}
    for visit, patient, pulse, temperature, notes in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/-/login")
    await write(page.get_by_label("Username"), app.credentials.user)
    await write(page.get_by_label("Password"), app.credentials.password)
    await page.get_by_role("button", name="Log in").click()
    await see(page.get_by_role("strong").filter(has_text=app.credentials.user))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Change a visit, and look at its page."""
    await page.goto(f"{app.origin}/clinic/visits")
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=values["patient"], exact=True))
    await row.get_by_role("button", name=f"Edit row {values['visit']}").click()
    dialog = page.get_by_role("dialog")
    await see(dialog.get_by_label("pulse"))
    await write(dialog.get_by_label("pulse"), values["pulse"])
    await write(dialog.get_by_label("temperature"), values["temperature"])
    await write(dialog.get_by_label("notes"), values["notes"])
    await dialog.get_by_role("button", name="Save").click()
    await dialog.wait_for(state="hidden")
    await see(row.get_by_role("cell", name=values["notes"], exact=True))
    await row.get_by_role("link", name=values["visit"], exact=True).click()
    await see(page.get_by_role("cell", name=values["notes"], exact=True))


def expected(values: Values) -> Saved:
    """What changes in the visit."""
    return {
        "patient": values["patient"],
        "pulse": int(values["pulse"]),
        "temperature": float(values["temperature"]),
        "notes": values["notes"],
    }
