"""Patients and notes about them, as a site of Django."""
