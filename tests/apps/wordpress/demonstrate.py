"""A post in the block editor: title and paragraph are edited where they stand, publishing takes two clicks.

The page that readers see has typographic dashes and quotes where plain ones were written.
"""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, write

_ROWS = (
    ("Visiting hours on ward 3", "From nine to noon, and again from two to six."),
    ("Besuchszeiten – Änderung", "Ab März nur noch „nachmittags“, außer sonntags."),
    ("New lamps 💡", "They are bright 🙂 and quiet."),
    ("Moved, again", "It is in room 4 & 5 now: 3 < 4 > 2."),
    ("Menú de la semana", "Niños: sopa, pan y piña. ¿Alergias?"),
    ("Łóżka i krzesła", "Zażółć gęślą jaźń, ć ž š đ ő ű"),
    ("t" * 150, "w " * 100 + "end"),
    ("週末のお知らせ", "土曜日は休みです。"),
    ("100% {sure} of it", "Backslash \\ and slash / and #hash and *star*"),
    ("One - two", "Phone 555-0100, ask for Mr. Example."),
    ("Lift out of order", "Use the stairs in the east wing until Friday."),
    ("Přišel pozdě", "Ale v pořádku."),
)

INPUTS: tuple[Values, ...] = tuple({"title": title, "text": text} for title, text in _ROWS)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password; the guide of the editor, which is shown once for each user, is read and closed."""
    await page.goto(f"{app.origin}/wp-login.php")
    await write(page.get_by_label("Username or Email Address"), app.credentials.user)
    await write(page.get_by_label("Password", exact=True), app.credentials.password)
    await page.get_by_role("button", name="Log In").click()
    await see(page.get_by_role("heading", name="Dashboard"))
    await page.goto(f"{app.origin}/wp-admin/post-new.php")
    guide = page.get_by_role("button", name="Close dialog")
    await see(guide.or_(page.get_by_role("textbox", name="Add title")))
    if await guide.is_visible():
        async with page.expect_response("**users%2Fme**"):
            await guide.click()


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Write and publish a post, and look at it."""
    await page.goto(f"{app.origin}/wp-admin/edit.php")
    await page.locator("#wpbody").get_by_role("link", name="Add New").click()
    await write(page.get_by_role("textbox", name="Add title"), values["title"])
    await page.get_by_role("button", name="Add default block").click()
    await page.keyboard.type(values["text"])
    await page.get_by_role("button", name="Publish", exact=True).click()
    panel = page.get_by_role("region", name="Editor publish")
    await panel.get_by_role("button", name="Publish", exact=True).click()
    await see(panel.get_by_text("is now live."))
    await panel.get_by_role("link", name="View Post").click()
    await see(page.get_by_role("main").get_by_role("heading", level=1))


def expected(values: Values) -> Saved:
    """The post as it stands in the table."""
    text = values["text"].replace("&", "&amp;").replace("<", "&lt;")
    return {
        "title": values["title"],
        "content": f"<!-- wp:paragraph -->\n<p>{text}</p>\n<!-- /wp:paragraph -->",
        "excerpt": "",
        "categories": "Uncategorized",
    }
