"""Fast, exactly reproducible reinforcement learning, written in Rust.

This package needs NumPy alone. `torchforge.envs` needs Gymnasium and registers the environments with it.
"""

from torchforge._torchforge import (
    DiskReplayBuffer,
    Environment,
    Minibatch,
    PrioritisedMinibatch,
    PrioritisedReplayBuffer,
    ReplayBuffer,
    SequenceReplayBuffer,
    VectorEnvironment,
    __version__,
    compute_gae,
    compute_gae_batched,
    group_advantages,
    make,
    make_vec,
    token_kl,
    token_kl_k1,
    token_kl_k2,
    token_kl_k3,
    train_in,
)
from torchforge.data import DataLoader, MmapDataset, write_dataset

__all__ = [
    "DataLoader",
    "DiskReplayBuffer",
    "Environment",
    "Minibatch",
    "MmapDataset",
    "PrioritisedMinibatch",
    "PrioritisedReplayBuffer",
    "ReplayBuffer",
    "SequenceReplayBuffer",
    "VectorEnvironment",
    "__version__",
    "compute_gae",
    "compute_gae_batched",
    "group_advantages",
    "make",
    "make_vec",
    "token_kl",
    "token_kl_k1",
    "token_kl_k2",
    "token_kl_k3",
    "train_in",
    "write_dataset",
]
