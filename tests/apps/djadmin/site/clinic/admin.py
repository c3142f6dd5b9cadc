"""How the admin shows patients and notes."""

from django.contrib import admin

from clinic.models import Allergy, Medication, Note, Patient, Ward


class MedicationRows(admin.TabularInline):
    """Medications stand in the form of their note."""

    model = Medication
    extra = 1


@admin.register(Patient)
class PatientAdmin(admin.ModelAdmin):
    """Patients, with a picker of two lists for their allergies."""

    search_fields = ("last_name", "first_name", "mrn")
    list_display = ("mrn", "last_name", "first_name", "birth_date", "ward")
    filter_horizontal = ("allergies",)
    list_filter = ("ward", "sex")


@admin.register(Note)
class NoteAdmin(admin.ModelAdmin):
    """Notes; the patient is searched for, the kind is a row of radio buttons."""

    autocomplete_fields = ("patient",)
    radio_fields = {"kind": admin.HORIZONTAL}
    inlines = (MedicationRows,)
    list_display = ("patient", "kind", "written_at", "signed")
    date_hierarchy = "written_at"


admin.site.register([Ward, Allergy])
