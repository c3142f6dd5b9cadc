"""The sandbox: a synthetic clinic app of our own, its fault cases, and the one workflow that it serves."""
