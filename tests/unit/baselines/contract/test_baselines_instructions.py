"""A launch whose limits cap the instructions ends before it measures anything where the cap is not in force."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.executors.instructions import environment
from runner.matrix import Instructions, Limits
from runner.system import machine

ROOT = Path(__file__).resolve().parents[4]
TOLD = environment(
    Limits(name="avx2", cpus=1, memory_bytes=2**30, pids=64, threads=1, instructions=Instructions.AVX2)
)


def measured(told: dict[str, str]) -> subprocess.CompletedProcess[str]:
    sizes = {"batch": 1, "length": 8, "calls": 1, "warmup": 0, "repetitions": 1}
    command = [
        sys.executable,
        "-m",
        "baselines.references.gae",
        "--case",
        "a",
        "--parameters",
        json.dumps(sizes),
    ]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **told}, capture_output=True, text=True, check=False
    )


def test_what_a_capped_launch_is_told_puts_the_cap_in_force_where_there_is_avx2() -> None:
    result = measured(dict(TOLD))
    has = "avx2" in machine.describe()["simd"]
    assert result.returncode == (0 if has else 2), result.stderr
    assert result.stdout.count("measurement") == (1 if has else 0)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (
            {**TOLD, "OPENBLAS_CORETYPE": "Prescott"},
            "the limits allow AVX2 at most, and OpenBLAS computes for",
        ),
        ({"FORGE_BENCH_SIMD": "sse9"}, "FORGE_BENCH_SIMD is 'sse9'; set it to avx2, or leave it unset"),
    ],
)
def test_a_cap_that_is_not_in_force_is_said_and_nothing_is_measured(told: dict[str, str], why: str) -> None:
    result = measured(told)
    assert (result.returncode, result.stdout) == (2, "")
    assert why in result.stderr
