"""Input files: written once per benchmark and image by the benchmark's own generator, and kept in the store."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from runner.executors.base import Executor, LaunchRequest
from runner.planning.cells import Cell
from runner.planning.input_key import generated_cases, inputs_key
from runner.records.image import ImageFacts
from runner.records.store import Store
from runner.referee.protocol import arguments
from runner.running.alone import alone
from runner.system.errors import StoreError
from runner.system.files import tree
from runner.system.hashes import file_hashes
from runner.system.scratch import scratch_directory
from runner.system.space import is_full, no_space

# The data seed of every operation, for each process replicate.
DATA_SEED = 42


def ensure_inputs(
    cell: Cell,
    *,
    image: ImageFacts,
    executor: Executor,
    store: Store,
    deadline_seconds: float,
    say: Callable[[str], None],
) -> Path:
    """The directory with one sub-folder of input files per case of the cell's benchmark.

    Raises:
        NoSpace: there is no room for them.
        StoreError: the generator failed, so there is nothing to measure.
    """
    benchmark, cases = cell.benchmark, generated_cases(cell)
    key = inputs_key(cell, execution_hash=image.execution_hash, executor=executor.name)
    kept = store.files("inputs", key)
    if kept is not None:
        return kept
    with scratch_directory("inputs") as temporary:
        name = f"inputs-{benchmark.name}"
        request = LaunchRequest(
            name=name,
            image=image,
            platform=cell.platform,
            command=(*benchmark.inputs, *arguments(cases, DATA_SEED)),
            limits=cell.limits,
            deadline_seconds=deadline_seconds,
            input_directory=None,
            output_directory=temporary,
            on_line=lambda *_: None,
        )
        with alone(executor, cell.limits, cell.platform, what=name, seconds=deadline_seconds, say=say):
            result = executor.launch(request)
        written = file_hashes(temporary)
        if result.failure is not None and is_full(result.failure.detail):
            raise no_space(f"making the input files of {benchmark.name} failed", result.failure.detail)
        if result.failure is not None or {name.split("/")[0] for name in written} != set(benchmark.cases):
            raise StoreError(
                what=f"the input files of {benchmark.name} could not be made",
                why="its generator left cases out" if result.failure is None else result.failure.detail,
                fix=f"run the generator by hand: {shlex.join(benchmark.inputs)} --help",
            )
        return store.save_files("inputs", key, temporary)


def inputs_of_launch(directory: Path, cases: list[str], into: Path) -> Path:
    """A directory that holds the input files of these cases and no others.

    They are copies, and read-only as in a container. A launch on a bare host has the user's rights. A write through a
    link would change the store, and so every later launch.
    """
    for case in cases:
        for source in tree(directory / case):
            copy = into / source.relative_to(directory)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Read-only from the start: some file systems refuse to change a mode afterwards.
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
            with source.open("rb") as original, os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(original, file, 2**20)
    return into
