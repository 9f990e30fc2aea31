"""Threads of XLA."""

import os

from baselines.contract import protocol


def hold() -> None:
    """Hold XLA to as many threads as a launch may have. It reads both variables before its first program."""
    # A trial by hand may give flags of its own, such as a cap on instructions.
    given = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{given} --xla_cpu_multi_thread_eigen={str(protocol.threads() > 1).lower()}"
    os.environ["NPROC"] = str(protocol.threads())
