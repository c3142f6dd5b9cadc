"""The one way in which a recording tool says no.

Laws of this module:

- A refusal is a closed code and closed details; it carries no text of a page, a library or a file system.
"""

from surehand.core.authoring import Details, Problem


class RefusedError(Exception):
    """A command is refused; ``problem`` says why."""

    def __init__(self, problem: Problem, details: Details | None = None) -> None:
        super().__init__(problem.value)
        self.problem = problem
        self.details = details
