"""What a layer of the fault rig found.

Laws of this module:

- A cell is one fault at one place, with everything judged afterwards.
- A control is a thing that is wrong on purpose. A layer that does not catch it has proven nothing.
"""

from attrs import frozen


@frozen
class Control:
    """Something deliberately broken, and whether the layer caught it.

    Args:
        name: What is broken in it.
        caught: Whether at least one cell saw the violation.
        evidence: What was seen, with figures.
    """

    name: str
    caught: bool
    evidence: str


@frozen
class LayerResult:
    """One layer's run.

    Args:
        name: The layer.
        cells: How many cells were judged.
        violations: One sentence for each broken promise, with what is needed to meet it again.
        controls: The negative controls.
        seconds: How long it took.
        notes: What else a reader has to know: figures, and what could not be built here.
    """

    name: str
    cells: int
    violations: tuple[str, ...]
    controls: tuple[Control, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing was violated, every control was caught, and something was judged at all."""
        return bool(self.cells) and not self.violations and all(control.caught for control in self.controls)
