"""A ticket: the customer is searched for, tag and priority stand in lists, and a picker watches over the date.

The picker rewrites a date while it is typed, so a person pastes it, and at last, for the picker covers what is below
until something else is pressed. It writes the current time over whatever is entered
as the time at which a ticket was opened, so that field is left alone here.
"""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import paste, see, tick, write

_ROWS = (
    ("Blue Hospital", "network", "Lamp on ward 3 hums", "It hums all night.", "urgent", "2026-03-04", "true", "1.25"),
    ("Acme Clinic", "billing", "Rechnung für März fehlt", "Bitte prüfen – „eilt“.", "normal", "2026-04-01", "false", "0.50"),
    ("Cedar Labs", "printer", "Printer 🖨️ jams", "It's \"stuck\" & <beeps>.", "low", "2024-02-29", "false", "12.00"),
    ("Cedar Lane Dental", "network", "Wi-Fi in room 4", "First line\nSecond line", "urgent", "2026-12-31", "true", "3.75"),
    ("Blue Hospital", "printer", "Café menu prints twice", "À la carte, ça va", "normal", "2026-01-01", "true", "0.10"),
    ("Acme Clinic", "network", "O'Brien cannot sign in", "100% sure {it} \\worked\\ before", "low", "2026-05-17", "false", "2.00"),
    ("Cedar Labs", "billing", "Łódź: dwa rachunki", "Zażółć gęślą jaźń", "urgent", "2026-06-30", "true", "7.40"),
    ("Cedar Lane Dental", "printer", "x" * 120, "y" * 600, "normal", "2026-07-07", "false", "0.25"),
    ("Blue Hospital", "billing", "請求書が届かない", "ありがとう 👍🏽", "low", "2026-08-08", "true", "1.00"),
    ("Acme Clinic", "printer", "Toner, again", "Three - dashes --- and *stars*", "urgent", "2026-09-09", "false", "9.99"),
    ("Blue Hospital", "network", "Socket loose", "Room 9, left wall.", "low", "2026-10-10", "true", "0.75"),
    ("Cedar Labs", "printer", "Şişli'de yazıcı", "Kâğıt yok", "normal", "2026-11-11", "false", "5.05"),
)  # fmt: skip

INPUTS: tuple[Values, ...] = tuple(
    {
        "customer": customer,
        "tag": tag,
        "subject": subject,
        "body": body,
        "priority": priority,
        "due": due,
        "billable": billable,
        "hours": hours,
    }
    for customer, tag, subject, body, priority, due, billable, hours in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/login")
    await write(page.get_by_label("User"), app.credentials.user)
    await write(page.get_by_label("Password"), app.credentials.password)
    await page.get_by_role("button", name="Sign in").click()
    await see(page.get_by_role("link", name="Create"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Create a ticket, and look at it again in its form: the page of details shows two lines as one."""
    await page.goto(f"{app.origin}/admin/ticket/")
    await page.get_by_role("link", name="Create").click()
    await page.locator("#s2id_customer").click()
    await page.keyboard.type(values["customer"])
    await page.locator(".select2-drop-active .select2-result-label", has_text=values["customer"]).click()
    await page.locator("#s2id_tags").click()
    await page.locator(".select2-drop-active .select2-result-label", has_text=values["tag"]).click()
    await write(page.get_by_label("Subject"), values["subject"])
    await write(page.get_by_label("Body"), values["body"])
    await page.locator("#s2id_priority").click()
    await page.locator(".select2-drop-active .select2-result-label", has_text=values["priority"]).click()
    await tick(page.get_by_label("Billable"), values["billable"] == "true")
    await write(page.get_by_label("Hours"), values["hours"])
    await paste(page.get_by_label("Due"), values["due"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await see(page.get_by_text("Record was successfully created."))
    await page.get_by_role("row").filter(has_text=values["subject"]).get_by_title("Edit Record").click()
    await see(page.get_by_label("Subject"))


def expected(values: Values) -> Saved:
    """The ticket as it stands in the table."""
    return {
        "subject": values["subject"],
        "body": values["body"].replace("\n", "\r\n"),
        "priority": values["priority"],
        "due": values["due"],
        "opened": None,
        "billable": int(values["billable"] == "true"),
        "hours": float(values["hours"]),
        "customer": values["customer"],
        "tags": [values["tag"]],
    }
