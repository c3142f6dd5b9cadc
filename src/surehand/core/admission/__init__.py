"""Signed records: what was certified, and what a person admitted."""
