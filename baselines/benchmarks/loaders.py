"""Serves a library's loader for `loader`, which times epochs, and for `batch-latency`, which times single batches."""

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from baselines.benchmarks import batch_latency
from baselines.benchmarks.loader import BATCHES, FIRST, Make, Parameters, Store, course, dataset, save
from baselines.contract import protocol
from baselines.contract.operation import Operation, serve


def run(options: argparse.Namespace, make: Make, store: Store = save) -> None:
    """Serve every case: write the dataset, and load as the case and the referee say."""
    with TemporaryDirectory() as folder:

        def operation(
            request: protocol.Request, case: protocol.Case, sizes: Parameters
        ) -> Operation[Any, Any]:
            tape = protocol.input_file(request, case, "tape.npy", np.load)
            # Cases with the same rows read the same file.
            path = Path(folder) / f"{sizes.rows}x{sizes.row_bytes}"
            if not path.exists():
                store(path, dataset(tape, sizes.rows), sizes)
            if sizes.does == FIRST:
                return batch_latency.first_batch(partial(make, path, sizes), tape, sizes)
            if sizes.does == BATCHES:
                return batch_latency.each_batch(make(path, sizes), tape, sizes)
            return course(make(path, sizes), tape, sizes)

        serve(options, Parameters, operation)
