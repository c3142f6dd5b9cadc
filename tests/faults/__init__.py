"""The fault rig: what Surehand promises, held against faults that are made on purpose."""
