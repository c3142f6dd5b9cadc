"""A compiled GUI workflow: its inputs, its steps, the machine that replays it, and what a read-back proves."""
