"""Engines: each turns a job into evidence, and none of them names an outcome."""
