"""Plans: ordered, branching definitions of several steps, and the pure machine that goes through them."""
