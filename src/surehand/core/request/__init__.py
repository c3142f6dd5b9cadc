"""One request id, at most one write: keys, the gate over earlier attempts, and the run record."""
