"""The record of a visit to a machine: what it is, and every measurement, written again after each."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "jax", "jaxlib", "numpy", "gymnasium", "safetensors")


@dataclass(frozen=True, kw_only=True)
class Keeper:
    """Writes a record, whole each time: what was measured outlives a killed run."""

    path: Path
    head: Mapping[str, Any]
    measurements: list[Mapping[str, Any]] = field(default_factory=list)

    def add(self, measurement: Mapping[str, Any]) -> None:
        """Keep one more measurement."""
        self.measurements.append(measurement)
        record = {
            **self.head,
            "differences": differences(self.measurements),
            "measurements": self.measurements,
        }
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)


def differences(measurements: list[Mapping[str, Any]]) -> list[str]:
    """Where a measurement counted other work than ours of the same training, a line each."""
    passed = [each for each in measurements if each["failure"] is None]
    ours = {each["training"]: each["counts"] for each in passed if each["row"] == "ours"}
    return [
        f"{each['training']}/{each['row']} on the {each['device']}, round {each['round']}: "
        f"{each['counts']}, ours {ours[each['training']]}"
        for each in passed
        if each["counts"] != ours.get(each["training"], each["counts"])
    ]


def head(
    root: Path, commit: str | None, lengths: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Where and of what a record is.

    Args:
        root: the repository.
        commit: its commit; asked of git where None.
        lengths: of the trainings.
        options: what else the record was asked for with.
    """
    return {
        "date": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "commit": commit or _said("git", "-C", str(root), "rev-parse", "HEAD"),
        "machine": {
            "cpu": _cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "gpu": _said("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
            "driver": _said("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
            "system": f"{platform.system()} {platform.release()}",
        },
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
        "lengths": dict(lengths),
        "options": dict(options),
    }


def _said(*command: str) -> str | None:
    """What a program says; None where it cannot be asked."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _cpu_model() -> str | None:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
