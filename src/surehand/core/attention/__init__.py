"""Stopped runs: what waits for a person, who may decide what about it, and what a decision makes of the answer."""
