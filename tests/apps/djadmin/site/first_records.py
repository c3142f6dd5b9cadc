"""The records that are there before anybody enters one; all people are invented."""

import datetime as dt

import django

django.setup()

from clinic.models import Allergy, Patient, Ward  # noqa: E402 - models exist after the setup

PEOPLE = (
    ("Ana", "Betz", "f"),
    ("John", "Zenon", "m"),
    ("Maria", "Quispe", "f"),
    ("Peter", "Okafor", "m"),
    ("Jane", "Okafor", "f"),
)

wards = [Ward.objects.create(name=name) for name in ("ICU", "Cardiology", "Paediatrics")]
for name in ("Penicillin", "Latex", "Peanuts", "Iodine"):
    Allergy.objects.create(name=name)
for place, (first, last, sex) in enumerate(PEOPLE):
    Patient.objects.create(
        first_name=first,
        last_name=last,
        mrn=f"M{1000 + place}",
        birth_date=dt.date(1960 + place * 7, 1 + place, 3 + place),
        sex=sex,
        ward=wards[place % len(wards)],
    )
