"""Plans at work: their store, their tools, and the runner that performs what the pure machine asks for."""
