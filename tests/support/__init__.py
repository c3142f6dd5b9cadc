"""What tests share: doubles that implement the production interfaces, oracles, strategies, clients."""
