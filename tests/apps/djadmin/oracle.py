"""What the clinic site holds: notes, each with its medications."""

from collections.abc import Mapping
from pathlib import Path

from apps.store import rows, with_json

_NOTES = """
SELECT n.id, p.mrn AS patient, n.kind, n.written_at, n.systolic, CAST(n.temperature AS TEXT) AS temperature, n.text,
       n.signed,
       (SELECT json_group_array(json_object('drug', m.drug, 'dose_mg', CAST(m.dose_mg AS TEXT), 'route', m.route))
        FROM (SELECT * FROM clinic_medication WHERE note_id = n.id ORDER BY id) AS m) AS medications
FROM clinic_note AS n JOIN clinic_patient AS p ON p.id = n.patient_id ORDER BY n.id
"""


def records(state: Path) -> list[Mapping[str, object]]:
    """Every note, oldest first."""
    return [with_json(row, "medications") for row in rows(state / "db.sqlite3", _NOTES)]
