"""Stopped runs in this installation: where they are decided, and how a person learns of them."""
