"""Threads of XLA, and where its programs run."""

import os

import jax

from baselines.contract import protocol


def hold() -> None:
    """Hold XLA to as many threads as a launch may have. It reads both variables before its first program."""
    # A trial by hand may give flags of its own, such as a cap on instructions.
    given = os.environ.get("XLA_FLAGS", "")
    threads = f"--xla_cpu_multi_thread_eigen={str(protocol.threads() > 1).lower()}"
    # XLA's own loops take vectors of 256 bits where the processor has 512. By hand on an AMD EPYC the wider ones
    # saved 7 % at PPO, 2 % at SAC and 1 % at DQN.
    os.environ["XLA_FLAGS"] = f"--xla_cpu_prefer_vector_width=512 {threads} {given}"
    os.environ["NPROC"] = str(protocol.threads())
    # A call runs its program itself, and returns when the work is done. A queue that is waited for takes longer: by hand,
    # a pass of one row through a small network took 14 us with the queue and 7 without.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
