"""Mutation testing of what decides: small faults are put into the source, one by one, and the tests must see each."""
