"""What is measured: each training by each program, the important ones first."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TRAININGS = ("dqn", "ppo", "sac")
# How many trainings one program on the GPU does at once. One of SAC keeps 36 MB of transitions.
MANY = (("dqn", 4096), ("ppo", 4096), ("sac", 256), ("sac", 1024))
MANY_IN_TRIAL = (("dqn", 4), ("ppo", 4), ("sac", 4))

CPU, GPU = "CPU", "GPU"
# XLA then records loops and branches as CUDA graphs too; the words add to what it records anyway.
_RECORDED = "--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL"


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """How long the trainings are."""

    dqn_steps: int = 60_000
    ppo_iterations: int = 122
    sac_steps: int = 8_000
    dqn_learning_starts: int = 10_000
    sac_learning_starts: int = 1_000

    def parameters(self, training: str) -> Mapping[str, Any]:
        """A training's case, as each program takes it."""
        cases: Mapping[str, Mapping[str, Any]] = {
            "dqn": {
                "environment": "CartPole-v1",
                "steps": self.dqn_steps,
                "learning_starts": self.dqn_learning_starts,
                "train_frequency": 10,
            },
            "ppo": {
                "environment": "CartPole-v1",
                "environments": 4,
                "rollout_steps": 128,
                "minibatches": 4,
                "epochs": 4,
                "iterations": self.ppo_iterations,
            },
            "sac": {
                "environment": "Pendulum-v1",
                "steps": self.sac_steps,
                "learning_starts": self.sac_learning_starts,
                "batch": 256,
            },
        }
        return {**cases[training], "parity_updates": 1}


# Of a trial: each program does a little of everything that it does.
TRIAL = Lengths(
    dqn_steps=700, ppo_iterations=3, sac_steps=210, dqn_learning_starts=100, sac_learning_starts=110
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A program that trains."""

    training: str
    name: str
    device: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    trainings: int = 1
    """How many one launch does."""
    processes: int = 1
    """How many processes share them, each on a core of its own."""
    rounds: int = 3
    """In how many rounds it is measured at most."""

    @property
    def label(self) -> str:
        """Its name among all rows."""
        many = f"x{self.trainings}" if self.trainings > 1 else ""
        return f"{self.training}/{self.name}{many}"


def rows(ours: Path, python: str, device: str, cores: int, *, trial: bool) -> list[Row]:
    """All rows of a round, in the order in which they are worth their time.

    Args:
        ours: the program `torchforge`.
        python: the interpreter of the other programs.
        device: where rows of the GPU compute, "cuda" or "cpu".
        cores: how many processes of ours run at once.
        trial: whether few trainings at once suffice.
    """
    single = zip(*(_single(each, ours, python, device) for each in TRAININGS), strict=True)
    side_by_side = [_ours(ours, each, cores) for each in TRAININGS]
    together = [
        Row(
            training=training,
            name="jax",
            device=GPU,
            command=(python, "-m", "tools.gpu.many_jax", training, str(count)),
            variables={"JAX_PLATFORMS": device},
            trainings=count,
            rounds=1,
        )
        for training, count in (MANY_IN_TRIAL if trial else MANY)
    ]
    return [*(row for kind in single for row in kind), *side_by_side, *together]


def _ours(ours: Path, training: str, count: int) -> Row:
    command = (str(ours), training)
    return Row(training=training, name="ours", device=CPU, command=command, trainings=count, processes=count)


def _single(training: str, ours: Path, python: str, device: str) -> list[Row]:
    """Those of one training at a time."""

    def row(name: str, where: str, *words: str, rounds: int = 2, **variables: str) -> Row:
        command = (python, "-m", *words)
        return Row(
            training=training, name=name, device=where, command=command, variables=variables, rounds=rounds
        )

    jax = ("tools.gpu.many_jax", training, "1")
    pytorch = ("tools.gpu.pytorch", training, "--device", device)
    return [
        _ours(ours, training, 1),
        row("jax", GPU, *jax, JAX_PLATFORMS=device),
        row("jax-graph", GPU, *jax, JAX_PLATFORMS=device, XLA_FLAGS=_RECORDED),
        row("pytorch-graph", GPU, *pytorch, "--graph"),
        row("jax", CPU, f"baselines.peers.{training}_jax", JAX_PLATFORMS="cpu"),
        row("pytorch-tuned", CPU, f"baselines.tuned.{training}", rounds=1),
        row("pytorch", GPU, *pytorch, rounds=1),
    ]


def case_words(lengths: Lengths, training: str) -> tuple[str, ...]:
    """The words that give a program its case."""
    return ("--case", training, "--parameters", json.dumps(lengths.parameters(training)))
