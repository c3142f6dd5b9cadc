"""A customer of a shop: every read and every write is a request to one address."""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import see, write

_ROWS = (
    ("Ms", "Ada", "Example", "ada.example@example.com", "+44 20 7946 0001"),
    ("Herr", "Jürgen", "Müßig", "juergen.muessig@example.com", "+49 30 5550 0102"),
    ("", "María José", "Núñez-Díaz", "mj.nunez@example.org", "555-0103"),
    ("Dr.", "Siân", "O'Brien", "sian.obrien@example.net", "(555) 0104"),
    ("Pani", "Łucja", "Żółć", "lucja.zolc@example.com", "+48 22 555 01 05"),
    ("Mr", "田中", "太郎", "tanaka@example.com", "03-5550-0106"),
    ("Mx", "Sam 🙂", "Smile", "sam.smile+shop@example.com", "555 0107"),
    ("Prof.", "A" * 60, "B" * 60, "long.name@example.com", "0" * 20),
    ("Mrs", '"Bo" & Co', "<Last>", "bo.co@example.com", "555.0109"),
    ("Fru", "Åsa", "Öberg", "asa.oberg@example.com", "+46 8 555 0110"),
    ("Pan", "Přemysl", "Dvořák", "premysl.dvorak@example.com", "+420 555 011 101"),
    ("Bay", "Işıl", "Şahin", "isil.sahin@example.com", "+90 555 011 12 13"),
)

INPUTS: tuple[Values, ...] = tuple(
    {"title": title, "first_name": first, "last_name": last, "email": email, "phone": phone}
    for title, first, last, email, phone in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/admin/")
    await write(page.get_by_role("textbox", name="Username"), app.credentials.user)
    await write(page.get_by_role("textbox", name="Password"), app.credentials.password)
    await page.get_by_role("button", name="Log in").click()
    await see(page.get_by_role("link", name="Customers Customers"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Create a customer; their page is shown. A list of ten at a time would not show the eleventh."""
    await page.goto(f"{app.origin}/admin/customer/customers")
    await page.get_by_role("link", name="Create new customer").click()
    await see(page.get_by_role("heading", name="Create new customer"))
    await write(page.get_by_label("Title"), values["title"])
    await write(page.get_by_label("First name"), values["first_name"])
    await write(page.get_by_label("Last name"), values["last_name"])
    await write(page.get_by_label("Email address"), values["email"])
    await write(page.get_by_label("Phone number"), values["phone"])
    await page.get_by_role("button", name="Create", exact=True).click()
    await see(page.get_by_role("button", name="Update", exact=True))
    await page.goto(f"{app.origin}/admin/customer/customers?perPage=100")
    await page.get_by_role("link", name=f"{values['first_name']} {values['last_name']}").click()
    await see(page.get_by_label("First name"))


def expected(values: Values) -> Saved:
    """The customer as they stand in the table."""
    return {
        "title": values["title"],
        "firstName": values["first_name"],
        "lastName": values["last_name"],
        "emailAddress": values["email"],
        "phoneNumber": values["phone"],
    }
