"""What every training here shares: seeds, threads, the clock, and the files that it leaves behind.

Each algorithm's file (`references/dqn.py`, `tuned/dqn.py`, ...) hands `main` the functions that make it up. Arrays are
NumPy's here, so that a training by another library imports no PyTorch. `training_in_pytorch.py` has what PyTorch adds.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from baselines.benchmarks.action_log import ActionLog, arrays_of
from baselines.contract import protocol
from baselines.contract.conversation import Round, answer
from baselines.contract.numbers import digest

# How many minibatches the file of the parity updates holds.
PARITY_MINIBATCHES = 100

COMPILE_HELP = "the updates by torch.compile; needs g++ and the headers of Python and PyTorch"


@dataclass(frozen=True, kw_only=True)
class Case:
    """The parameters that every training has; an algorithm adds its own."""

    environment: str
    parity_updates: int
    """How many of the input file's minibatches the parity updates take, one after another."""

    def __post_init__(self) -> None:
        if not 1 <= self.parity_updates <= PARITY_MINIBATCHES:
            raise ValueError(f"'parity_updates' must be from 1 to {PARITY_MINIBATCHES}")


Parameters = TypeVar("Parameters", bound=Case)
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Library:
    """What a training computes with."""

    start: Callable[[], None]
    """Sets the launch's threads, and imports what would else be imported late."""
    seed: Callable[[int], None]
    """Seeds the generators of its own that a training draws from."""
    read: Callable[[Path], dict[str, Any]]
    """The arrays of an input file."""
    array: Callable[[Any], NDArray[Any]]
    """An array of its own as NumPy's."""


# For a library that is set up by its caller, and takes and gives NumPy's arrays.
NUMPY = Library(start=lambda: None, seed=lambda _: None, read=load_file, array=np.asarray)


class Episode(NamedTuple):
    """One finished episode: the step of the whole run at which it ended, its length and its return."""

    step: int
    length: int
    value: float


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a training leaves behind; its start and end are readings of `time.perf_counter`."""

    started: float
    ended: float
    environment_steps: int
    gradient_steps: int
    episodes: list[Episode]
    weights: Mapping[str, Any]
    """Arrays of the library that trained; the trace's too."""
    trace: Mapping[str, Any]
    """Facts that the run collected about itself, for the gate: which step did what, from which weights."""
    logs: Sequence[ActionLog]
    """Of each environment, in their order. None where the environments are another library's own."""
    further_metrics: Mapping[str, float] = field(default_factory=dict)
    """What an instrumented training claims besides: the seconds of its phases."""
    further_counts: Mapping[str, int] = field(default_factory=dict)
    """What an instrumented training counts besides."""


@dataclass(frozen=True, kw_only=True)
class Variant(Generic[Parameters]):
    """One way of doing an algorithm's work."""

    train: Callable[[Parameters, int], Trained]
    """Makes the environments and networks, draws the first weights and trains, for parameters and a seed."""
    parity: Callable[[Mapping[str, Any], int], Mapping[str, Any]] | None
    """The parity updates: from the input file's arrays, so many updates, to the output file's arrays.

    None where the work is another: there is no trace then either.
    """
    compiling: Callable[[Parameters], float] | None = None
    """Compiles what the training calls, with networks to throw away; returns the seconds. None compiles nothing."""
    library: Library = NUMPY
    """Whose arrays these functions take and give."""


@dataclass(frozen=True, kw_only=True)
class Algorithm(Generic[Parameters]):
    """An algorithm as its file describes it."""

    name: str
    description: str | None
    parameters: type[Parameters]
    by_hand: Mapping[str, str | int]
    """The parameters that a person gets who names no case; each is an option as well."""
    variant: Variant[Parameters]
    """What runs without `--compile`."""
    compiled: Variant[Parameters] | None = None
    """What `--compile` chooses; None leaves that option out."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Further options, each a word with its help; any of them may be given."""
    chosen: Callable[[frozenset[str]], Variant[Parameters]] | None = None
    """What runs for the options that were given; None where there are none."""


def seed_generators(seed: int, library: Library) -> None:
    """Seed the generators that a training draws from, but the environments' own."""
    random.seed(seed)
    np.random.seed(seed)
    library.seed(seed)


def episodes_of(infos: Mapping[str, Any], step: int) -> list[Episode]:
    """The episodes that ended in one step of a vector of environments, in the environments' order.

    Args:
        infos: what that step gave.
        step: how many steps all environments together had taken before. The second environment's is one more.
    """
    if "final_info" not in infos:
        return []
    finished, ended = infos["final_info"]["episode"], infos["final_info"]["_episode"]
    return [
        Episode(step + int(i), int(finished["l"][i]), float(finished["r"][i])) for i in np.flatnonzero(ended)
    ]


def layers(given: Mapping[str, Any], network: str) -> dict[str, Any]:
    """One network's weights among an input file's arrays, under their names in that network."""
    return {
        key.removeprefix(f"{network}."): value
        for key, value in given.items()
        if key.startswith(f"{network}.")
    }


def main(algorithm: Algorithm[Parameters], first_line: float) -> None:
    """Serve the one case asked for, or, by hand, the algorithm's own.

    Args:
        algorithm: what is trained.
        first_line: `time.perf_counter` at the first line of the algorithm's file.
    """
    # As read from `time.perf_counter`: by the kernel's word, or the first line where that is unknown.
    age = protocol.seconds_since_process_start()
    process_start = first_line if age is None else time.perf_counter() - age
    options = _options(algorithm)
    name, variant = algorithm.name, algorithm.variant
    if algorithm.compiled is not None and options.compile:
        name, variant = f"{name}-compile", algorithm.compiled
    words = [word for word in algorithm.options if getattr(options, word)]
    if algorithm.chosen is not None:
        name, variant = "-".join([name, *words]), algorithm.chosen(frozenset(words))
    request = protocol.request(options)
    set_by_hand = {
        name: getattr(options, name) for name in algorithm.by_hand if getattr(options, name) is not None
    }
    if not request.cases:
        if request.input_directory is not None:
            protocol.refuse("--input is for a --case with its --parameters; give those, or leave it out")
        _by_hand(
            name, variant, {**algorithm.by_hand, **set_by_hand}, algorithm.parameters, request, process_start
        )
        return
    if len(request.cases) > 1 or set_by_hand:
        protocol.refuse(
            "a training serves one --case, whose numbers stand in its --parameters; give just that"
        )
    (case,) = request.cases
    parameters = protocol.checked(case, algorithm.parameters)
    given: Callable[[], dict[str, Any]] | None = None
    if request.input_directory is not None:
        given = partial(protocol.input_file, request, case, "parity.safetensors", variant.library.read)
        # Before the training, which a file that cannot be read would make worth nothing.
        given()
    run = _Run(variant, parameters, request.seed, given, process_start)
    if options.referee:
        run.is_ready()
        answer(request, {case.name: run})
        return
    output = request.output_of(case)
    protocol.print_measurement(_measured(run, case, output))


def _options(algorithm: Algorithm[Parameters]) -> argparse.Namespace:
    parser = protocol.parser(algorithm.description)
    if algorithm.compiled is not None:
        parser.add_argument("--compile", action="store_true", help=COMPILE_HELP)
    for word, meaning in algorithm.options.items():
        parser.add_argument(f"--{word}", action="store_true", help=meaning)
    for name, value in algorithm.by_hand.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(value),
            metavar="N" if isinstance(value, int) else "NAME",
            help=f"by hand, without --case (default {value})",
        )
    return parser.parse_args()


def _by_hand(
    name: str,
    variant: Variant[Parameters],
    values: Mapping[str, str | int],
    kind: type[Parameters],
    request: protocol.Request,
    process_start: float,
) -> None:
    """Train without a runner: no parity updates; outputs and measurement go to results/baselines/."""
    case = protocol.Case(
        name=str(values["environment"]), parameters={**values, "parity_updates": PARITY_MINIBATCHES}
    )
    parameters = protocol.checked(case, kind)
    results = Path(__file__).resolve().parents[2] / "results" / "baselines"
    output = protocol.made_directory(request.output_directory or results / f"{name}-seed{request.seed}")
    print(f"{name}: {json.dumps(values)}, seed {request.seed}; writing to {output}", file=sys.stderr)
    event = _measured(_Run(variant, parameters, request.seed, None, process_start), case, output)
    (output / "measurement.json").write_text(json.dumps(event) + "\n", encoding="utf-8")
    protocol.print_measurement(event)


def _measured(run: "_Run[Any]", case: protocol.Case, output: Path | None) -> dict[str, Any]:
    """Train without a referee, and write the outputs where there is a folder for them; the measurement."""
    run.is_ready()
    done = run.train()
    event = protocol.measurement(case, metrics=done.metrics, counts=done.counts)
    if output is not None:
        run.write_outputs(output)
    return event


class _Run(Generic[Parameters]):
    """A case on its way: made ready, trained, written."""

    def __init__(
        self,
        variant: Variant[Parameters],
        parameters: Parameters,
        seed: int,
        given: Callable[[], dict[str, Any]] | None,
        process_start: float,
    ) -> None:
        """Start the library, import what is left, and compile.

        Args:
            variant: how the work is done.
            parameters: the case's parameters.
            seed: of `random`, NumPy, the library, the environments and their action spaces.
            given: reads the arrays of the parity updates; None leaves those updates out.
            process_start: when the process began, as read from `time.perf_counter`.
        """
        self._variant, self._parameters, self._given = variant, parameters, given
        self._seed = seed
        self._process_start = process_start
        self._ready = process_start
        self._trained: Trained | None = None
        variant.library.start()
        protocol.check_instructions()
        # Gymnasium imports some of itself with the first environment: seconds that are no part of a training.
        self._or_refused(lambda parameters: gym.make(parameters.environment).close())
        self._compile_seconds = None if variant.compiling is None else self._or_refused(variant.compiling)

    def is_ready(self) -> None:
        """Begin to wait for the order to train."""
        self._ready = time.perf_counter()

    def train(self, seed: int | None = None) -> Round:
        """Seed and train.

        Args:
            seed: the one that the referee said; None for that of the command line.

        Returns:
            What is claimed. The time of initialisation is that from the process's start until it was ready, and from
            the order until the training loop began.
        """
        ordered = time.perf_counter()
        self._trained = None
        seeded = self._seed if seed is None else seed
        seed_generators(seeded, self._variant.library)
        trained = self._trained = self._or_refused(lambda parameters: self._variant.train(parameters, seeded))
        initialisation = self._ready - self._process_start + trained.started - ordered
        training = trained.ended - trained.started
        metrics = {
            "wall_seconds": initialisation + training,
            "initialisation_seconds": initialisation,
            "training_seconds": training,
        }
        if self._compile_seconds is not None:
            metrics["compile_seconds"] = self._compile_seconds
        metrics |= trained.further_metrics
        counts = {"environment_steps": trained.environment_steps, "gradient_steps": trained.gradient_steps}
        counts |= trained.further_counts
        arrays = [*self._as_numpy(trained.weights).values(), *arrays_of(trained.logs).values()]
        return Round(metrics=metrics, counts=counts, digests=[digest(arrays)], timed_seconds=training)

    def round(self, nonce: str, first: int, repetitions: int, *, seed: int | None = None) -> Round:
        """Train once, or not at all. What the seed decides does not depend on the nonce."""
        del nonce, first
        if not repetitions:
            return Round(metrics={}, counts={}, digests=[], timed_seconds=0.0)
        if repetitions > 1:
            protocol.refuse("a training has one repetition; ask for one")
        return self.train(seed)

    def write(self, nonce: str, repetition: int, folder: Path) -> None:
        """Write what the last training left behind."""
        del nonce, repetition
        self.write_outputs(folder)

    def write_outputs(self, folder: Path) -> None:
        """Write the episodes, the weights and what the gate compares."""
        trained = self._trained
        if trained is None:
            protocol.refuse("nothing was trained whose outputs could be written; say go first")
        episodes = [
            {"step": each.step, "length": each.length, "return": each.value} for each in trained.episodes
        ]
        (folder / "episodes.json").write_text(json.dumps(episodes) + "\n", encoding="utf-8")
        write(folder / "weights.safetensors", self._as_numpy(trained.weights))
        if trained.logs:
            write(folder / "actions.safetensors", arrays_of(trained.logs))
        if self._variant.parity is None:
            return
        write(folder / "trace.safetensors", self._as_numpy(trained.trace))
        if self._given is not None:
            found = self._variant.parity(self._given(), self._parameters.parity_updates)
            write(folder / "update.safetensors", self._as_numpy(found))

    def _as_numpy(self, arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        return {name: self._variant.library.array(array) for name, array in arrays.items()}

    def _or_refused(self, work: Callable[[Parameters], Result]) -> Result:
        try:
            return work(self._parameters)
        except gym.error.Error as error:
            protocol.refuse(f"environment {self._parameters.environment!r} cannot be used: {error}")


def write(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write an output file."""
    # Written as bytes: safetensors' own writer makes files that only their owner can read.
    file.write_bytes(save({name: np.asarray(array, order="C") for name, array in arrays.items()}))
