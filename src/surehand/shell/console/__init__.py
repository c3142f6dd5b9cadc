"""The operator's page at this computer: the queue of stopped runs, and what a person decides about them."""
