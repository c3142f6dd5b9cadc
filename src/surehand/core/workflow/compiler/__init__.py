"""The parts of the compiler, from recordings to a draft and from a draft to a bundle; ``compile`` is its face."""
