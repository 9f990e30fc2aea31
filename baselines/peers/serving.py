"""How a training by another library is served: without parity updates, and with stdout kept for events."""

import os
import sys
from collections.abc import Callable, Mapping

from baselines.benchmarks import training
from baselines.benchmarks.training import Parameters


def main(
    name: str,
    description: str | None,
    parameters: type[Parameters],
    by_hand: Mapping[str, str | int],
    train: Callable[[Parameters, int], training.Trained],
    first_line: float,
    library: training.Library = training.NUMPY,
) -> None:
    """Serve the case asked for by ``train``, which has no parity updates: it takes no weights from outside.

    Args:
        name: the file's, which names the folder of a run by hand.
        description: what ``--help`` says.
        parameters: the reference's type of a case.
        by_hand: the reference's parameters for a person who names no case.
        train: the training, for parameters and a seed.
        first_line: ``time.perf_counter`` at the first line of the library's file.
        library: whose arrays the training gives.
    """
    _keep_stdout()
    training.main(
        training.Algorithm(
            name=name,
            description=description,
            parameters=parameters,
            by_hand=by_hand,
            variant=training.Variant(train=train, parity=None, library=library),
        ),
        first_line,
    )


def _keep_stdout() -> None:
    """Send to stderr what a library writes to stdout, which is for events alone: TorchRL logs there."""
    sys.stdout.flush()
    events = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(events, "w", encoding="utf-8")
