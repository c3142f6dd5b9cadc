"""Showing a workflow: the recorder over a live browser, and what it writes.

Laws of this package:

- What a person does is watched and never changed.
"""
