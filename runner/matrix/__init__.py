"""matrix.yaml: read, checked as a whole, and turned into frozen types."""

from runner.matrix.load import load_matrix
from runner.matrix.model import (
    Benchmark,
    Case,
    Decision,
    Determinism,
    EquivalenceRule,
    Gate,
    Implementation,
    Instructions,
    Kind,
    LeastWork,
    Limits,
    Matrix,
    OutputCheck,
    Platform,
    Profile,
    Returns,
    Roofline,
)

__all__ = [
    "Benchmark",
    "Case",
    "Decision",
    "Determinism",
    "EquivalenceRule",
    "Gate",
    "Implementation",
    "Instructions",
    "Kind",
    "LeastWork",
    "Limits",
    "Matrix",
    "OutputCheck",
    "Platform",
    "Profile",
    "Returns",
    "Roofline",
    "load_matrix",
]
