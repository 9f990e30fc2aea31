"""The rows and columns of each table. A row without records is left out of a page.

The operations are those of rlox's benchmark report and profiling report, in the words of this project.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row: a case of a benchmark, and its name on the page."""

    label: str
    benchmark: str
    case: str


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: a cell shows the fastest of these implementations."""

    heading: str
    implementations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One table."""

    lines: tuple[Line, ...]
    columns: tuple[Column, ...]


SB3 = Column(heading="SB3", implementations=("sb3", "sb3-subproc"))
TORCHRL = Column(heading="TorchRL", implementations=("torchrl", "torchrl-vec"))
RLOX = Column(heading="rlox", implementations=("rlox", "rlox-each"))
NUMPY = Column(heading="NumPy", implementations=("numpy", "numpy-tuned"))
GYMNASIUM = Column(
    heading="Gymnasium",
    implementations=("gymnasium", "gymnasium-tuned", "gymnasium-async", "gymnasium-vectorised"),
)
NUMPY_OR_GYMNASIUM = Column(
    heading="NumPy or Gymnasium", implementations=NUMPY.implementations + GYMNASIUM.implementations
)
PYTORCH = Column(heading="PyTorch", implementations=("pytorch", "pytorch-tuned"))
PYTORCH_COMPILED = Column(heading="PyTorch, compiled", implementations=("pytorch-compile",))
BURN = Column(heading="burn", implementations=("burn",))
CANDLE = Column(heading="candle", implementations=("candle",))
JAX = Column(heading="JAX", implementations=("jax",))
JAX_NETWORKS = Column(heading="JAX", implementations=("jax", "jax-scan"))
NUMBA = Column(heading="Numba", implementations=("numba",))

ADVANTAGES = Line(label="GAE, 2,048 steps", benchmark="gae", case="T=2048")
PUSH_SMALL = Line(label="Buffer push, 4 values", benchmark="buffer-push", case="obs=4")
PUSH_LARGE = Line(label="Buffer push, 28,224 values", benchmark="buffer-push", case="obs=28224")
SAMPLE = Line(label="Buffer sample, batch 1,024", benchmark="buffer-sample", case="batch=1024")
DRAWS = Line(label="Single draws, batch 1,024", benchmark="draw-latency", case="batch=1024")
ROLLOUT = Line(label="Rollout, 64 environments x 512 steps", benchmark="rollout", case="64x512")
ROLLOUT_LARGE = Line(label="Rollout, 256 environments x 2,048 steps", benchmark="rollout", case="256x2048")
STEPS = Line(label="Environment steps, 256 environments", benchmark="env-vector", case="n=256")

OPERATIONS = Declared(
    lines=(
        ADVANTAGES,
        PUSH_SMALL,
        PUSH_LARGE,
        SAMPLE,
        ROLLOUT,
        ROLLOUT_LARGE,
        STEPS,
        Line(label="GRPO advantages, 256 groups x 16", benchmark="grpo", case="256x16"),
        Line(label="Token KL, 128 tokens", benchmark="token-kl", case="T=128"),
    ),
    columns=(SB3, TORCHRL, NUMPY_OR_GYMNASIUM, RLOX, NUMBA, JAX),
)

POST_TRAINING = Declared(
    lines=(
        Line(label="GRPO advantages, 16 groups x 4", benchmark="grpo", case="16x4"),
        Line(label="GRPO advantages, 64 groups x 8", benchmark="grpo", case="64x8"),
        Line(label="GRPO advantages, 256 groups x 16", benchmark="grpo", case="256x16"),
        Line(label="GRPO advantages, 1,024 groups x 32", benchmark="grpo", case="1024x32"),
        Line(label="Token KL, K3, 1 x 128", benchmark="token-kl", case="k3-1x128"),
        Line(label="Token KL, K3, 1 x 8,192", benchmark="token-kl", case="k3-1x8192"),
        Line(label="Token KL, K3, 32 x 2,048", benchmark="token-kl", case="k3-32x2048"),
    ),
    columns=(
        Column(heading="TRL-style PyTorch", implementations=PYTORCH.implementations),
        NUMPY,
        RLOX,
        NUMBA,
        JAX,
    ),
)

NETWORKS = Declared(
    lines=(
        Line(label="DQN step, batch 64", benchmark="nn-step", case="dqn-64"),
        Line(label="PPO step, batch 64", benchmark="nn-step", case="ppo-64"),
        Line(label="SAC action, batch 1", benchmark="nn-act", case="sac-1"),
        Line(label="Critics' step, batch 256", benchmark="nn-step", case="critics-256"),
    ),
    columns=(BURN, CANDLE, PYTORCH, PYTORCH_COMPILED, JAX_NETWORKS),
)

COMPONENTS = Declared(
    lines=(
        Line(label="Step of 64 environments", benchmark="env-vector", case="n=64"),
        Line(label="Step of 8 environments", benchmark="ffi", case="n=8"),
        Line(label="Push of one transition", benchmark="buffer-push", case="obs=4"),
        Line(label="Sample of 256 transitions", benchmark="buffer-sample", case="batch=256"),
        Line(label="GAE, 8 x 128", benchmark="gae", case="8x128"),
        Line(label="Token KL, K3, 32 x 2,048", benchmark="token-kl", case="k3-32x2048"),
        Line(label="PPO, log-probabilities and value, batch 1", benchmark="nn-act", case="ppo-1"),
        Line(label="SAC action, batch 1", benchmark="nn-act", case="sac-1"),
        Line(label="PPO, one update", benchmark="update", case="ppo"),
        Line(label="SAC, one update", benchmark="update", case="sac"),
    ),
    columns=(NUMPY_OR_GYMNASIUM, PYTORCH, PYTORCH_COMPILED),
)
