"""Collections of visits and wards: ``first_records.py URL EMAIL PASSWORD DATABASE``; all people are invented."""

import json
import sqlite3
import sys
import urllib.request

url, email, password, database = sys.argv[1:5]


def post(path, body, token=None):
    """One call of the app's own interface."""
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    asked = urllib.request.Request(url + path, method="POST", data=json.dumps(body).encode(), headers=headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def column(name, kind, interface, options=None, schema=None, **meta):
    """The description of a column and of how it is entered."""
    return {
        "field": name,
        "type": kind,
        "meta": {"interface": interface, "options": options, **meta},
        "schema": schema or {},
    }


KINDS = [{"text": text, "value": text.lower()} for text in ("Admission", "Follow-up", "Discharge")]
KEY = {
    "field": "id",
    "type": "integer",
    "meta": {"hidden": True, "interface": "input", "readonly": True},
    "schema": {"is_primary_key": True, "has_auto_increment": True},
}
WARDS = {
    "collection": "wards",
    "meta": {"display_template": "{{name}}"},
    "schema": {},
    "fields": [KEY, column("name", "string", "input")],
}
VISITS = {
    "collection": "visits",
    "meta": {"display_template": "{{patient}}"},
    "schema": {},
    "fields": [
        KEY,
        column("patient", "string", "input", required=True),
        column("kind", "string", "select-dropdown", {"choices": KINDS}),
        column("visit_date", "date", "datetime"),
        column("pulse", "integer", "input"),
        column("urgent", "boolean", "boolean", schema={"default_value": False}),
        column("tags", "json", "tags", special=["cast-json"]),
        column("notes", "text", "input-rich-text-html", {"tinymceOverrides": {"entity_encoding": "raw"}}),
        column("ward", "integer", "select-dropdown-m2o", {"template": "{{name}}"}, special=["m2o"]),
    ],
}

token = post("/auth/login", {"email": email, "password": password})["data"]["access_token"]
post("/collections", WARDS, token)
post("/collections", VISITS, token)
relation = {"collection": "visits", "field": "ward", "related_collection": "wards", "schema": {"on_delete": "SET NULL"}}
post("/relations", relation, token)
for name in ("ICU", "Cardiology", "Paediatrics"):
    post("/items/wards", {"name": name}, token)
for place, name in enumerate(("Ana Betz", "John Zenon", "Maria Quispe")):
    post("/items/visits", {"patient": name, "kind": "admission", "pulse": 70 + place, "ward": place + 1}, token)

# What an operator lets workflows read: the visits as they are entered.
VIEW = """
CREATE VIEW visits_as_entered AS
SELECT id, patient, upper(substr(kind, 1, 1)) || substr(kind, 2) AS kind, pulse,
       CASE urgent WHEN 1 THEN 'true' ELSE 'false' END AS urgent,
       replace(replace(coalesce(notes, ''), '<p>', ''), '</p>', '') AS notes
FROM visits
"""
with sqlite3.connect(database, timeout=10) as connection:
    connection.execute(VIEW)
connection.close()
