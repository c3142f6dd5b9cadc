"""Surehand: enter what an agent decided into an app, read the record back, and say what really happened."""
