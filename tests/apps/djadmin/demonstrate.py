"""A note about a patient: searched for, kind by radio button, date and time apart, one medication in a row of its own."""

from playwright.async_api import Page

from apps.apps import App, Saved
from apps.demonstration import Values
from apps.person import choose, see, tick, write

PATIENTS = (
    "Betz, Ana (M1000)",
    "Zenon, John (M1001)",
    "Quispe, Maria (M1002)",
    "Okafor, Peter (M1003)",
    "Okafor, Jane (M1004)",
)
KINDS = {"Admission": "adm", "Progress": "prog", "Discharge": "dis"}
ROUTES = {"Oral": "po", "IV": "iv", "IM": "im"}

_ROWS = (
    (3, "Admission", "2026-03-04", "08:15:00", "128", "37.2", "Admitted for observation.", "true", "Paracetamol", "500.00", "Oral"),
    (4, "Progress", "2026-03-05", "09:00:30", "117", "36.6", "Schläft besser, Übelkeit weg – „gut“.", "false", "Ibuprofen", "400.50", "Oral"),
    (0, "Discharge", "2024-02-29", "23:59:59", "122", "36.5", "Goes home 🙂 with her sister.", "true", "Amoxicillin", "1000.00", "IV"),
    (1, "Progress", "2026-12-31", "00:00:00", "140", "38.9", "Fever; \"no\" rash, it's stable & < yesterday.", "false", "Ceftriaxon", "2000.00", "IV"),
    (2, "Admission", "2026-01-01", "12:30:00", "99", "35.9", "Niña llegó cansada; ¿alergia?", "false", "Cetirizin", "10.00", "Oral"),
    (3, "Progress", "2026-03-29", "02:30:00", "131", "37.0", "1st line\n2nd line\n\n4th line", "true", "Heparin", "0.75", "IM"),
    (4, "Discharge", "2026-10-25", "02:30:00", "115", "36.8", "Łóżko 7, ć ž š đ ő ű", "false", "Vitamin D₃", "20.25", "Oral"),
    (0, "Progress", "2025-07-15", "17:45:00", "108", "37.4", "a" * 400, "true", "Insulin", "1.00", "IM"),
    (1, "Admission", "2026-05-05", "06:05:04", "150", "39.1", "O'Brien — \\backslash\\ and {braces} 100%", "false", "Adrenalin", "0.30", "IM"),
    (2, "Discharge", "2026-06-30", "20:20:20", "120", "36.0", "日本語のメモ 👩‍⚕️", "true", "Metformin", "850.00", "Oral"),
    (3, "Discharge", "2026-11-11", "11:11:11", "133", "37.6", "Ward round at eleven.", "true", "Zolpidem", "5.00", "Oral"),
    (4, "Admission", "2026-07-20", "19:05:00", "101", "36.4", "Şişli; ağrı yok", "false", "Morphin", "2.50", "IV"),
)  # fmt: skip

INPUTS: tuple[Values, ...] = tuple(
    {
        "patient": PATIENTS[patient],
        "kind": kind,
        "date": date,
        "time": time,
        "systolic": systolic,
        "temperature": temperature,
        "text": text,
        "signed": signed,
        "drug": drug,
        "dose": dose,
        "route": route,
    }
    for patient, kind, date, time, systolic, temperature, text, signed, drug, dose, route in _ROWS
)


async def sign_in(page: Page, app: App) -> None:
    """By user name and password."""
    await page.goto(f"{app.origin}/admin/")
    await write(page.get_by_label("Username"), app.credentials.user)
    await write(page.get_by_label("Password"), app.credentials.password)
    await page.get_by_role("button", name="Log in").click()
    await see(page.get_by_role("heading", name="Site administration"))


async def demonstrate(page: Page, app: App, values: Values) -> None:
    """Add a note, and look at it again."""
    await page.goto(f"{app.origin}/admin/")
    await page.locator("#content-main").get_by_role("link", name="Notes", exact=True).click()
    await page.get_by_role("link", name="Add note").click()
    await choose_patient(page, values["patient"])
    await page.get_by_role("radio", name=values["kind"]).click()
    await write(page.locator("#id_written_at_0"), values["date"])
    await write(page.locator("#id_written_at_1"), values["time"])
    await write(page.get_by_label("Systolic:"), values["systolic"])
    await write(page.get_by_label("Temperature:"), values["temperature"])
    await write(page.get_by_label("Text:"), values["text"])
    await tick(page.get_by_label("Signed"), values["signed"] == "true")
    await write(page.locator("#id_medication_set-0-drug"), values["drug"])
    await write(page.locator("#id_medication_set-0-dose_mg"), values["dose"])
    await choose(page.locator("#id_medication_set-0-route"), values["route"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("link", name=f"{values['kind']} note").click()
    await see(page.get_by_role("heading", name="Change note"))


async def choose_patient(page: Page, patient: str) -> None:
    """Open the list, look for the record number, take the patient who is found."""
    await page.locator(".field-patient .select2-selection").click()
    await page.keyboard.type(patient.partition("(")[2].rstrip(")"))
    await page.get_by_role("option", name=patient).click()


def expected(values: Values) -> Saved:
    """The note as it stands in the table."""
    return {
        "patient": values["patient"].partition("(")[2].rstrip(")"),
        "kind": KINDS[values["kind"]],
        "written_at": f"{values['date']} {values['time']}",
        "systolic": int(values["systolic"]),
        "temperature": values["temperature"].removesuffix(".0"),
        "text": values["text"].replace("\n", "\r\n"),
        "signed": int(values["signed"] == "true"),
        "medications": [
            {
                "drug": values["drug"],
                "dose_mg": values["dose"].rstrip("0").rstrip("."),
                "route": ROUTES[values["route"]],
            }
        ],
    }
