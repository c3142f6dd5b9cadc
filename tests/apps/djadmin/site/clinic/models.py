"""Patients, and notes about them."""

from django.db import models


class Ward(models.Model):
    """A ward of the clinic."""

    name = models.CharField(max_length=60)

    def __str__(self):
        return self.name


class Allergy(models.Model):
    """Something that patients may be allergic to."""

    name = models.CharField(max_length=60)

    def __str__(self):
        return self.name


class Patient(models.Model):
    """A patient; the record number tells two of one name apart."""

    first_name = models.CharField(max_length=60)
    last_name = models.CharField(max_length=60)
    mrn = models.CharField("MRN", max_length=12, unique=True)
    birth_date = models.DateField()
    sex = models.CharField(max_length=1, choices=[("f", "Female"), ("m", "Male"), ("x", "Other")])
    ward = models.ForeignKey(Ward, null=True, blank=True, on_delete=models.SET_NULL)
    allergies = models.ManyToManyField(Allergy, blank=True)

    def __str__(self):
        return f"{self.last_name}, {self.first_name} ({self.mrn})"


class Note(models.Model):
    """A note about a patient."""

    patient = models.ForeignKey(Patient, on_delete=models.CASCADE)
    kind = models.CharField(max_length=4, choices=[("adm", "Admission"), ("prog", "Progress"), ("dis", "Discharge")])
    written_at = models.DateTimeField()
    systolic = models.PositiveIntegerField(null=True, blank=True)
    temperature = models.DecimalField(max_digits=4, decimal_places=1, null=True, blank=True)
    text = models.TextField()
    signed = models.BooleanField(default=False)

    def __str__(self):
        return f"{self.get_kind_display()} note"


class Medication(models.Model):
    """A medication that a note orders."""

    note = models.ForeignKey(Note, on_delete=models.CASCADE)
    drug = models.CharField(max_length=60)
    dose_mg = models.DecimalField(max_digits=7, decimal_places=2)
    route = models.CharField(max_length=4, choices=[("po", "Oral"), ("iv", "IV"), ("im", "IM")])

    def __str__(self):
        return self.drug
