"""How long planning takes: the processor time of a plan of the shipped matrix with at least 1,000 cells.

python -m tools.measure_planning            # CPU seconds, so that other work on the machine counts little
python -m tools.measure_planning --cells 5000
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from runner.executors.local import LocalExecutor
from runner.matrix import load_matrix
from runner.planning.cells import Selection
from runner.planning.plan import make_plan
from runner.planning.planned import Plan
from runner.records.store import Store
from runner.system.checkout import ROOT


def plan_of(cells: int) -> tuple[Plan, float]:
    """A plan of at least so many cells on a bare host, and the CPU seconds that it took. The store is empty."""
    matrix, executor = load_matrix(ROOT / "matrix.yaml"), LocalExecutor(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        store = Store(Path(directory))

        def planned(seeds: int) -> Plan:
            wanted = Selection(profile="full", only=("*",), seeds=tuple(range(1, seeds + 1)))
            return make_plan(matrix, wanted, executor, store)

        # The first also hashes the checkout, once for all plans of a process.
        each = len(planned(1).cells)
        started = time.process_time()
        plan = planned(-(-cells // each))
        return plan, time.process_time() - started


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description="The time that planning takes")
    parser.add_argument("--cells", type=int, default=1000, help="at least so many cells (1000)")
    plan, seconds = plan_of(parser.parse_args(arguments).cells)
    count, launches = len(plan.cells), len(plan.launches)
    print(
        f"{count} cells in {launches} launches: {seconds:.2f} CPU seconds, {1e6 * seconds / count:.0f} µs a cell"
    )


if __name__ == "__main__":
    main()
