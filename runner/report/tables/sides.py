"""Who an implementation stands for, told from its name and command, so that the matrix needs no word for it.

Ours is what the `torchforge` binary or module does: `rust`, its variants `rust-…`, and `torchforge`. Where an
operation has both, what a Python user gets is ours, the module `torchforge`; `rust` is then the bare kernel,
shown with its ratios but never the headline, because no Python peer is called without its own crossing. The
reference's side is the implementation that is marked as the reference and its variants, `pytorch` and
`pytorch-tuned`. All others are peers. A headline compares the best of ours with the faster of the
reference's side; the fastest competitor is looked for among all that are not ours.
"""

from enum import Enum

from runner.matrix import Benchmark, Implementation, Kind


class Side(Enum):
    """Whose implementation it is."""

    OURS = "ours"
    KERNEL = "kernel"
    REFERENCE = "reference"
    PEER = "peer"


def side_of(implementation: Implementation, benchmark: Benchmark) -> Side:
    """The side that ``implementation`` is on."""
    if _is_or_extends(implementation.name, benchmark.reference.name):
        return Side.REFERENCE
    if _is_module(implementation):
        return Side.OURS
    if _is_or_extends(implementation.name, "rust"):
        through_python = benchmark.kind is Kind.OPERATION and any(
            _is_module(each) for each in benchmark.implementations.values()
        )
        return Side.KERNEL if through_python else Side.OURS
    return Side.PEER


def _is_module(implementation: Implementation) -> bool:
    return _is_or_extends(implementation.name, "torchforge")


def _is_or_extends(name: str, stem: str) -> bool:
    return name == stem or name.startswith(f"{stem}-")
