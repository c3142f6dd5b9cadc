"""The table of visits, and who may change it: ``first_records.py STATE PASSWORD``; all people are invented."""

import base64
import hashlib
import json
import sqlite3
import sys
from pathlib import Path

ITERATIONS = 480_000
PATIENTS = (
    "Ana Betz", "John Zenon", "Maria Quispe", "Peter Okafor", "Jane Okafor", "Ivo Horak",
    "Lena Park", "Omar Said", "Tuula Aalto", "Bruno Dias", "Mei Tan", "Nils Berg",
)  # fmt: skip
VISITS = [
    (name, ("adm", "fu", "dis")[place % 3], f"2026-01-{place + 2:02}", 60 + place, 36 + place / 10, "first")
    for place, name in enumerate(PATIENTS)
]

state, password = Path(sys.argv[1]), sys.argv[2]
with sqlite3.connect(state / "clinic.db") as database:
    database.execute(
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, patient TEXT NOT NULL, kind TEXT, visit_date TEXT, pulse INTEGER,"
        " temperature REAL, notes TEXT)"
    )
    database.executemany(
        "INSERT INTO visits (patient, kind, visit_date, pulse, temperature, notes) VALUES (?, ?, ?, ?, ?, ?)", VISITS
    )
database.close()
key = base64.b64encode(hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt", ITERATIONS)).decode()
who = {"id": "admin"}
settings = {
    "plugins": {
        "datasette-auth-passwords": {
            "admin_password_hash": f"pbkdf2_sha256${ITERATIONS}$salt${key}",
            "actors": {"admin": who},
        }
    },
    "permissions": {"insert-row": who, "update-row": who, "delete-row": who},
}
(state / "datasette.json").write_text(json.dumps(settings), encoding="utf-8")
