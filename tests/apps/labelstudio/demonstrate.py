"""A letter is labelled as a complaint, with a day, an age and a remark; drafts are saved by themselves meanwhile.

The letter is opened by its address: the rows of the table of letters have no names.
"""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, tick, write, write_date

_ROWS = (
    ("4", "The food was late. (4)", "2026-03-05", "71", "Küche informiert – „erledigt“."),
    ("1", "The ward was cold. (1)", "2026-03-04", "34", "Heating is repaired."),
    ("5", "The ward was cold. (5)", "2024-02-29", "5", "Extra blanket 🙂"),
    ("8", "The food was late. (8)", "2026-12-31", "99", 'It\'s "late" & <cold>'),
    ("9", "The ward was cold. (9)", "2026-01-01", "18", "Niña de la habitación 4"),
    ("12", "The food was late. (12)", "2026-05-17", "45", "100% {sure} \\ twice"),
    ("13", "The ward was cold. (13)", "2026-06-30", "60", "Zażółć gęślą jaźń"),
    ("16", "The food was late. (16)", "2026-07-07", "27", "r" * 150),
    ("17", "The ward was cold. (17)", "2026-08-08", "83", "寒い部屋"),
    ("3", "When is my visit? (3)", "2026-10-25", "52", "O'Brien called."),
    ("2", "Great nurses. (2)", "2026-11-11", "40", "Thanked them."),
    ("6", "Great nurses. (6)", "2026-12-12", "66", "Přišel pozdě"),
)

INPUTS: tuple[Values, ...] = tuple(
    {"task": task, "letter": letter, "day": day, "age": age, "remark": remark}
    for task, letter, day, age, remark in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By email address and password."""
    await page.goto(f"{app.origin}/user/login/")
    await write(page.locator("#email"), app.credentials.user)
    await write(page.locator("#password"), app.credentials.password)
    await page.get_by_role("button", name="Log In").click()
    await page.get_by_text("Letters").first.click()
    await see(page.get_by_text("The ward was cold. (1)", exact=True).first)


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Label a letter, and open it once more."""
    await page.goto(f"{app.origin}/projects/1/data?tab=1&task={values['task']}")
    await see(page.get_by_text(values["letter"], exact=True).last)
    await tick(page.get_by_role("checkbox", name="Complaint[1]"), wanted=True)
    await write_date(page.locator("input[name=when-date]"), values["day"])
    await write(page.locator("input[name=age]"), values["age"])
    await write(page.locator("[name=note]"), values["remark"])
    async with page.expect_response(lambda answer: "/drafts" in answer.url):
        # A person reads once more what was filled in, and what the page does by itself meanwhile is seen.
        await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Submit current annotation").click()
    await see(page.get_by_text("Update", exact=True))
    await page.goto(f"{app.origin}/projects/1/data?tab=1&task={values['task']}")
    await see(page.get_by_text("Update", exact=True))


def expected(values: Values) -> Saved:
    """The annotation as it stands in the table."""
    return {
        "letter": values["letter"],
        "count": 4,
        "kind": ["Complaint"],
        "when": values["day"],
        "age": int(values["age"]),
        "note": [values["remark"]],
    }
