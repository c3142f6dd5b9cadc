"""The text of a wiki page is replaced, in one large text area whose editor continues lists by itself."""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, write

_ROWS = (
    ("Twelve beds, two of them free.", "beds counted"),
    ("Zwölf Betten – „zwei“ frei, Fußboden naß.", "Ü wie Übergabe"),
    ("====== Ward icu ======\n\nFirst paragraph.\n\nSecond paragraph.", "headline"),
    ("Beds 🛏️ and nurses 👩‍⚕️", "emoji 🙂"),
    ('It\'s "quoted" & <bracketed>, 100% {sure} \\\\ here', 'it\'s & "quoted"'),
    ("  * Bed 1\n  * Bed 2\n  * Bed 3", "a list"),
    ("Łóżko 7, ć ž š đ ő ű, Niña", "zażółć"),
    ("w " * 250 + "end", "long"),
    ("病棟のメモ", "日本語"),
    ("^ Bed ^ Name ^\n| 1 | Ana Betz |\n| 2 | John Zenon |", "a table"),
    ("Eleven beds since Monday.", "one bed less"),
    ("Přišel pozdě, ale v pořádku", "čeština"),
)

INPUTS: tuple[Values, ...] = tuple({"text": text, "summary": summary} for text, summary in _ROWS)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/doku.php?id=ward:icu&do=login")
    await write(page.get_by_label("Username"), app.credentials.user)
    await write(page.get_by_label("Password"), app.credentials.password)
    await page.get_by_role("button", name="Log In").click()
    await see(page.get_by_role("link", name="Log Out"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Replace the text of the page, and open it once more in the editor to see that it stands there."""
    await page.goto(f"{app.origin}/doku.php?id=ward:icu")
    await page.get_by_role("link", name="Edit this page").click()
    await write_lines(page, values["text"])
    await write(page.get_by_label("Edit summary"), values["summary"])
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("link", name="Edit this page").click()
    await see(page.locator("#wiki__text"))
    await page.get_by_role("link", name="Show page").click()
    await see(page.get_by_role("link", name="Edit this page"))


async def write_lines(page: Page, text: str) -> None:
    """Write line by line; what the editor put at the start of a line is taken away."""
    first, *others = text.split("\n")
    await write(page.locator("#wiki__text"), first)
    for line in others:
        for key in ("Enter", "Shift+Home", "Delete"):
            await page.keyboard.press(key)
        await page.keyboard.type(line)


def expected(values: Values) -> Saved:
    """The page as it stands in its file."""
    return {"id": "ward:icu", "text": values["text"], "summary": values["summary"]}
