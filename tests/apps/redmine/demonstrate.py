"""An issue: a change of the tracker or of the category lets the server draw the form anew, dates are native fields."""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import choose, see, write, write_date

_ROWS = (
    ("Support", "Lamp on ward 3 hums", "It hums all night.", "High", "Hardware", "2026-03-04", "2026-03-06", "1.5", "10 %"),
    ("Feature", "Bettwäsche nachbestellen", "Für Station 4, bitte bis Montag.", "Normal", "Software", "2026-04-01", "2026-04-30", "0.25", "0 %"),
    ("Bug", "Printer 🖨️ jams", "It is stuck again 🙂", "Urgent", "Hardware", "2024-02-28", "2024-02-29", "12", "50 %"),
    ("Support", "O'Brien can't sign in", "She's locked out since 7 o'clock.", "Immediate", "Software", "2026-12-31", "2027-01-01", "2", "20 %"),
    ("Feature", "Łódź: drugi ekran", "Zażółć gęślą jaźń", "Low", "Hardware", "2026-01-01", "2026-01-01", "8.75", "0 %"),
    ("Bug", 'Query with <b> & "quotes"', "One < two & three", "Normal", "Software", "2026-05-17", "2026-06-17", "3", "30 %"),
    ("Support", "s" * 200, "d " * 200 + "end", "High", "Hardware", "2026-06-30", "2026-07-01", "100", "90 %"),
    ("Feature", "カレンダーが遅い", "朝の9時に止まる。", "Urgent", "Software", "2026-07-07", "2026-07-17", "5.5", "40 %"),
    ("Bug", "Two lines", "First line\nSecond line", "Low", "Hardware", "2026-08-08", "2026-09-09", "0.5", "60 %"),
    ("Support", "Key 100% {lost} \\ again", "Room 12, drawer 3.", "Immediate", "Software", "2026-10-25", "2026-10-26", "4", "80 %"),
    ("Feature", "Door opens slowly", "Ward 2, east wing.", "Normal", "Hardware", "2026-11-01", "2026-11-11", "6", "70 %"),
    ("Bug", "Şişli ekranı", "Kâğıt yok.", "High", "Software", "2026-02-02", "2026-02-28", "1.25", "10 %"),
)  # fmt: skip

INPUTS: tuple[Values, ...] = tuple(
    {
        "tracker": tracker,
        "subject": subject,
        "description": description,
        "priority": priority,
        "category": category,
        "start_date": start,
        "due_date": due,
        "estimated_time": estimated,
        "done": done,
    }
    for tracker, subject, description, priority, category, start, due, estimated, done in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/login")
    await write(page.get_by_label("Login"), app.credentials.user)
    await write(page.get_by_label("Password"), app.credentials.password)
    await page.get_by_role("button", name="Login").click()
    await see(page.get_by_role("link", name="My page"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Create an issue; its page is shown."""
    await page.goto(f"{app.origin}/projects/ward-it/issues")
    await page.get_by_role("link", name="New issue", exact=True).click()
    await choose_and_wait(page, "Tracker", values["tracker"])
    await choose_and_wait(page, "Category", values["category"])
    await write(page.get_by_label("Subject"), values["subject"])
    await write(page.get_by_label("Description"), values["description"])
    await choose(page.get_by_label("Priority"), values["priority"])
    await write_date(page.get_by_label("Start date"), values["start_date"])
    await write_date(page.get_by_label("Due date"), values["due_date"])
    await write(page.get_by_label("Estimated time"), values["estimated_time"])
    await choose(page.get_by_label("% Done"), values["done"])
    await page.get_by_role("button", name="Create", exact=True).click()
    await see(page.get_by_text("created."))
    await see(page.locator(".subject").get_by_text(values["subject"], exact=True))


async def choose_and_wait(page: Page, label: str, option: str) -> None:
    """Choose, and wait until the form was drawn anew: what is written before that may be lost."""
    field = page.get_by_label(label)
    if await field.locator("option:checked").inner_text() == option:
        return
    async with page.expect_response("**/issues/new.js") as answered:
        await choose(field, option)
    await (await answered.value).finished()


def expected(values: Values) -> Saved:
    """The issue as it stands in the table."""
    return {
        "tracker": values["tracker"],
        "subject": values["subject"],
        "description": values["description"].replace("\n", "\r\n"),
        "status": "New",
        "priority": values["priority"],
        "start_date": values["start_date"],
        "due_date": values["due_date"],
        "estimated_hours": float(values["estimated_time"]),
        "done_ratio": int(values["done"].removesuffix(" %")),
        "is_private": 0,
        "category": values["category"],
        "assignee": None,
    }
