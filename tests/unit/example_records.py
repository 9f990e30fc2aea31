"""Records of made-up measurements that contradict themselves nowhere, and the matrix that they belong to."""

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from runner.matrix import Matrix, load_matrix
from runner.records.measured import Episode
from runner.records.record import Record, content_hash, record_of, seal
from runner.records.record_file import record_text
from runner.records.refereed import RefereeFacts, WindowFacts
from runner.records.schema_text import SCHEMA
from runner.records.verdicts import Verdict, counts_verdict, episodes_verdict, times_verdict

MATRIX = """
version: 1
toolchains:
  trixie: {suite: trixie, rust: 1.96.0, python: 3.13.5, pytorch: 2.6.0}
platforms:
  amd64: {architecture: amd64}
  arm64: {architecture: arm64}
limits:
  default: {cpus: 1, memory: 4GiB, pids: 256, threads: 1}
profiles:
  smoke: {minutes: 1, seeds: {native: [1], emulated: [1]}, deadline_seconds: {native: 60, emulated: 60}}
  quick:
    minutes: 7
    seeds: {native: [1, 2, 3, 4, 5], emulated: [1]}
    deadline_seconds: {native: 60, emulated: 60}
benchmarks:
  gae:
    title: Generalised advantage estimation
    kind: operation
    headline: seconds
    inputs: [python3, -m, baselines.inputs, gae]
    counts: {elements: batch * length}
    gate: {outputs: {advantages.npy: {rtol: 1.0e-6, atol: 1.0e-10}}}
    cases:
      T=128: {batch: 1, length: 128}
      T=2048: {batch: 1, length: 2048}
    profiles:
      smoke: {native: {repetitions: 1}, emulated: {repetitions: 1}}
      quick: {native: {repetitions: 9}, emulated: {repetitions: 1}}
    implementations:
      numpy: {command: [python3, numpy], reference: true, determinism: portable}
      rust: {command: [torchforge, gae], side: kernel, determinism: portable}
      torchforge: {command: [python3, torchforge], side: ours, determinism: portable}
      rlox: {command: [python3, rlox], image: peers, platforms: [amd64], determinism: machine}
  dqn:
    title: DQN on CartPole-v1
    kind: training
    headline: training_seconds
    inputs: [python3, -m, baselines.inputs, dqn]
    counts: {environment_steps: steps, gradient_steps: steps // 10}
    gate:
      outputs: {update.safetensors: {scaled: 1.0e-4, tensors: {loss: 1.0e-5}}}
      episodes: episodes.json
    returns:
      episodes: 3
      thresholds: {CartPole-v1: 475}
      equivalence: {CartPole-v1: {margin: 25, worst: 22, best: 500, deviation: 16, seeds: 6}}
    cases:
      CartPole-v1: {environment: CartPole-v1}
    profiles:
      smoke: {native: {steps: 1000}, emulated: {steps: 1000}}
      quick: {native: {steps: 5000}, emulated: {steps: 1000}}
    implementations:
      pytorch: {command: [python3, dqn], reference: true, determinism: machine}
      rust: {command: [torchforge, dqn], side: ours, determinism: portable}
      sb3:
        command: [python3, sb3]
        image: peers
        platforms: [amd64]
        determinism: machine
        differs: [the loss is smooth L1, gradients are clipped to a norm of 10]
"""

MACHINE = {
    "cpu_model": "Example CPU 9000",
    "architecture": "amd64",
    "logical_cpus": 2,
    "physical_cores": 1,
    "memory_bytes": 8 * 2**30,
    "swap_bytes": 0,
    "os": "Debian GNU/Linux 12 (bookworm)",
    "kernel": "6.1.0",
    "hypervisor": True,
    "governor": None,
    "turbo": None,
    "smt": True,
    "simd": ["avx", "avx2", "fma"],
    "caches": {"L1d": "32K", "L2": "1024K"},
}
STATE = {
    "load_1m": 0.2,
    "memory_available_bytes": 6 * 2**30,
    "swap_used_bytes": 0,
    "cpu_pressure_avg10": None,
    "throttle_count": None,
    "cpu_mhz": 2500,
}
LIMITS = {
    "cpuset": "0",
    "memory_bytes": 4 * 2**30,
    "pids": 256,
    "threads": 1,
    "enforced": ["cpuset", "memory_bytes", "swap", "pids", "threads"],
}
_VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
_EMULATOR = "qemu-aarch64 10.0.2"


def example_matrix(directory: Path, text: str = MATRIX) -> Matrix:
    path = directory / "matrix.yaml"
    path.write_text(text, encoding="utf-8")
    return load_matrix(path)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


COUNTED = {"check": "counts", "passed": True, "detail": "elements 128", "share": None}


def referee_facts(
    *, nonce: str = "0" * 16, channel_seconds: float = 1e-3, seconds: float = 1.0, **window: Any
) -> RefereeFacts:
    """What a referee saw of one window, which lasted so many seconds."""
    seen = {"repetitions": 1, "cpu_seconds": None, "between_seconds": 0.0, **window}
    return RefereeFacts(
        nonce=nonce,
        asked=(1,),
        windows=(WindowFacts(seconds=seconds, **seen),),
        void_windows=0,
        channel_seconds=channel_seconds,
        ready_seconds=0.1,
        vmhwm_bytes=None,
    )


def make_record(
    *,
    benchmark: str = "gae",
    case: str = "T=128",
    implementation: str = "numpy",
    platform: str = "amd64",
    seed: int = 1,
    parameters: Mapping[str, Any] | None = None,
    command: Sequence[str] = ("python3",),
    metrics: Mapping[str, float | list[float]] | None = None,
    counts: Mapping[str, int] | None = None,
    execution: str = "native",
    target: str = "core",
    image: str = "image 1",
    machine: Mapping[str, Any] = MACHINE,
    state: Mapping[str, Any] = STATE,
    limits: Mapping[str, Any] = LIMITS,
    under: str = "default",
    toolchain: str = "trixie",
    software: Mapping[str, str | None] | None = None,
    vmhwm_bytes: int | None = 50 * 2**20,
    cgroup_peak_bytes: int | None = 60 * 2**20,
    determinism: str = "portable",
    outputs: Mapping[str, str] | None = None,
    episodes: Sequence[Episode] | None = None,
    gate: Sequence[Mapping[str, Any]] = (COUNTED,),
    failure: tuple[str, str] | None = None,
    stderr_tail: str = "",
    minute: int = 0,
    profile: str = "quick",
) -> Record:
    cell = {
        "benchmark": benchmark,
        "case": case,
        "implementation": implementation,
        "toolchain": toolchain,
        "platform": platform,
        "limits": under,
        "seed": seed,
    }
    # One launch serves all cases; a cell that failed has a launch of its own.
    drawn = digest(f"{image} {minute} {case if failure else ''}")[:8]
    launch = f"{benchmark}-{implementation}-{platform}-s{seed}-{drawn}"
    key = content_hash([cell, image, minute])
    metrics = dict(metrics or {"seconds": [1e-3]})
    counts = dict(counts or {"elements": 128})
    parameters = dict(parameters or {"batch": 1, "length": int(case[2:]), "repetitions": 9})
    kind = failure[0] if failure else None
    lived = 60.0 if kind == "deadline" else _lived(metrics)
    started = datetime(2026, 1, 1, 0, minute, tzinfo=UTC)
    measurement = {
        "event": "measurement",
        "case": case,
        "metrics": metrics,
        "counts": counts,
        "memory": {"vmhwm_bytes": vmhwm_bytes, "cgroup_peak_bytes": cgroup_peak_bytes},
    }
    data = seal(
        {
            "schema": 1,
            "id": f"20260101T00{minute:02}00Z-{key[:16]}",
            "key": key,
            "created_at": (started + timedelta(seconds=lived + 0.5)).isoformat(),
            "profile": profile,
            "cell": cell,
            "parameters": parameters,
            "command": list(command),
            "determinism": determinism,
            "execution": {"kind": execution, "emulator": _EMULATOR if execution == "emulated" else None},
            "image": {
                "target": target,
                "architecture": platform,
                "identity": digest(f"identity {image} {target} {platform}"),
                "execution_hash": digest(f"{image} {target} {platform}"),
                "config_digest": "sha256:" + digest(f"config {image} {target} {platform}"),
                "manifest_digest": None,
            },
            "software": dict(software or {"python": "3.13.5", "pytorch": "2.6.0", "rlox": None}),
            "machine": dict(machine),
            "launch": {
                "id": launch,
                "executor": "docker",
                "started_at": started.isoformat(),
                "wall_seconds": lived,
                "deadline_seconds": 60,
                "limits": dict(limits),
                "exit_code": {"exit-code": 1, "signal": -11, "out-of-memory": -9, "deadline": -9}.get(
                    kind or "", 0
                ),
                "out_of_memory": kind == "out-of-memory",
                "state": dict(state),
                "stderr_tail": stderr_tail,
            },
            "inputs": {"input": digest(f"input of {benchmark} {case}")},
            "outputs": dict(
                outputs if outputs is not None else {"advantages.npy": digest(f"{benchmark} {case}")}
            ),
            "measurement": measurement if kind in (None, "wrong-output") else None,
            "episodes": [each.plain() for each in episodes] if episodes is not None else None,
            "expected_counts": counts,
            "gate": _judged(metrics, counts, parameters, lived, gate, episodes, failure),
            "failure": {"kind": failure[0], "detail": failure[1]} if failure else None,
        }
    )
    _VALIDATOR.validate(data)
    return record_of(data)


def _lived(metrics: Mapping[str, Any]) -> float:
    """How long a launch lived that measured this: a little longer than all of it."""
    claimed = [sum(each) if isinstance(each, list) else each for each in metrics.values()]
    return 2.5 if max(claimed) < 2 else max(claimed) + 5


def _judged(
    metrics: Mapping[str, Any],
    counts: Mapping[str, int],
    parameters: Mapping[str, Any],
    lived: float,
    compared: Sequence[Mapping[str, Any]],
    episodes: Sequence[Episode] | None,
    failure: tuple[str, str] | None,
) -> list[dict[str, Any]]:
    """The gate's checks: of counts and times, the comparisons that are given, of the episodes."""
    if failure is not None and failure[0] != "wrong-output":
        return []

    def checked(name: str, found: Verdict) -> dict[str, Any]:
        return {"check": name, "passed": found.passed, "detail": found.detail, "share": None}

    headline = "training_seconds" if "training_seconds" in metrics else next(iter(metrics))
    others = [dict(each) for each in compared if each["check"] not in ("counts", "times")]
    if failure is not None:
        file = failure[1].partition(":")[0]
        told = "largest difference 0.1 (rtol 1e-06, atol 1e-10); at [0] 0.1, the reference has 0"
        others = [{"check": file, "passed": False, "detail": told, "share": 1e9}]
    if episodes is not None:
        environments = parameters.get("environments", 1)
        others.append(
            checked(
                "episodes",
                episodes_verdict(episodes, environments=environments, total=counts.get("environment_steps")),
            )
        )
    return [
        checked("counts", counts_verdict(counts, counts)),
        checked("times", times_verdict(headline, metrics, parameters, wall_seconds=lived)),
        *others,
    ]


def json_of(record: Record) -> dict[str, Any]:
    """What a file holds of a record, as a JSON parser gives it."""
    data: dict[str, Any] = json.loads(record_text(record))
    return data


def example_work(**changes: Any) -> dict[str, Any]:
    """The work of a record of ``gae``, as JSON."""
    core = dict.fromkeys(("identity", "config_digest", "manifest_digest"))
    work = {
        "kind": "operation",
        "headline": "seconds",
        "inputs": {
            "command": ["python3", "-m", "baselines.inputs", "gae"],
            "cases": {"T=128": {"length": 128}},
        },
        "counts": {"elements": "length"},
        "gate": {
            "outputs": [
                {"file": "advantages.npy", "rtol": 1e-6, "atol": 1e-10, "scaled": None, "tensors": {}}
            ],
            "episodes": None,
        },
        "reference": {
            "implementation": "numpy",
            "command": ["python3", "numpy"],
            "determinism": "portable",
            "seed": 1,
        },
        "toolchain": {"suite": "trixie", "rust": "1.96.0", "python": "3.13.5", "pytorch": "2.6.0"},
        "limits": {"cpus": 1, "memory_bytes": 4 * 2**30, "pids": 256, "threads": 1},
        "target": "core",
        "core": {"target": "core", "architecture": "amd64", "execution_hash": digest("core"), **core},
    }
    return {**work, **changes}


def times(centre: float, seed: int, repetitions: int = 9) -> list[float]:
    """Repetitions of one process: made up, and the same on every machine."""
    draw = random.Random(f"{centre} {seed}")  # noqa: S311 (times, not secrets)
    level = centre * (1 + 0.01 * draw.random())
    return [level * (1 + 0.02 * draw.random()) for _ in range(repetitions)]


def compared(difference: str, output: str = "advantages.npy") -> list[dict[str, Any]]:
    """The gate's checks of an operation."""
    return [
        COUNTED,
        {
            "check": output,
            "passed": True,
            "detail": f"largest difference {difference} (rtol 1e-06, atol 1e-10)",
            "share": float(difference) / 1e-10,
        },
    ]


def scaled(tensor: str, *, difference: str, bound: str) -> dict[str, Any]:
    """A gate's check of one tensor of a training's parity update."""
    detail = f"largest difference over largest magnitude {difference} (bound {bound})"
    share = float(difference) / float(bound)
    return {"check": f"update.safetensors {tensor}", "passed": True, "detail": detail, "share": share}


def gae_records() -> list[Record]:
    """Native amd64 with a loser, a failure and a peer; emulated arm64 of one seed."""
    records = []
    centres = {"numpy": 40e-6, "rust": 0.4e-6, "torchforge": 1.2e-6, "rlox": 0.35e-6}
    for case, factor in (("T=128", 1), ("T=2048", 16)):
        for name, centre in centres.items():
            for seed in range(1, 6):
                failure = None
                if (case, name) == ("T=2048", "rlox"):
                    failure = ("wrong-output", "advantages.npy: largest difference 0.1 | not `close`")
                elif (case, name, seed) == ("T=2048", "torchforge", 5):
                    failure = ("deadline", "60 s passed")
                records.append(
                    make_record(
                        case=case,
                        implementation=name,
                        seed=seed,
                        target="peers" if name == "rlox" else "core",
                        metrics={"seconds": times(centre * factor, seed)},
                        vmhwm_bytes={"numpy": 60, "rust": 4, "torchforge": 62, "rlox": 300}[name] * 2**20
                        + 1024 * seed,
                        determinism="machine" if name == "rlox" else "portable",
                        gate=compared(f"{seed}e-16"),
                        failure=failure,
                    )
                )
            if name in ("numpy", "rust", "torchforge"):
                records.append(
                    make_record(
                        case=case,
                        implementation=name,
                        platform="arm64",
                        execution="emulated",
                        parameters={"batch": 1, "length": int(case[2:]), "repetitions": 1},
                        metrics={"seconds": [centre * 20]},
                        outputs={"advantages.npy": digest(f"gae {case}{' else' if name == 'numpy' else ''}")},
                    )
                )
    return records


def episodes_reaching(score: float, count: int = 6) -> list[Episode]:
    """Returns that rise to ``score`` in three episodes and stay there."""
    lengths = [20, 100, 300, *[int(score)] * (count - 3)]
    steps, found = -1, []
    for length in lengths:
        steps += length
        found.append(Episode(step=steps, length=length, total=float(length)))
    return found


def dqn_records() -> list[Record]:
    """Native amd64: five seeds each, of which one of rust's does not learn; nothing on arm64.

    A peer whose work differs is the fastest of all, and the smallest.
    """
    records = []
    for name, centre in (("pytorch", 100.0), ("rust", 8.0), ("sb3", 4.0)):
        for seed in range(1, 6):
            seconds = times(centre, seed, 1)[0]
            score = 200 if (name, seed) == ("rust", 4) else 470 + 5 * seed
            records.append(
                make_record(
                    benchmark="dqn",
                    case="CartPole-v1",
                    implementation=name,
                    seed=seed,
                    parameters={"environment": "CartPole-v1", "steps": 5000},
                    metrics={
                        "wall_seconds": seconds + 3,
                        "initialisation_seconds": 2.5,
                        "training_seconds": seconds,
                    },
                    counts={"environment_steps": 5000, "gradient_steps": 500},
                    target="peers" if name == "sb3" else "core",
                    vmhwm_bytes={"pytorch": 300, "rust": 5, "sb3": 4}[name] * 2**20,
                    determinism="portable" if name == "rust" else "machine",
                    outputs={"update.safetensors": digest(f"update {name}")} if name != "sb3" else {},
                    episodes=episodes_reaching(score),
                    gate=[COUNTED]
                    if name == "sb3"
                    else [
                        scaled("gradient.0.weight", difference="3e-06", bound="0.0001"),
                        scaled("loss", difference="2e-06", bound="1e-05"),
                    ],
                )
            )
    return records
