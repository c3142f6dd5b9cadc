"""The ledger of runs: one interface, SQLite by default, claim files where SQLite cannot be opened, memory for tests."""
