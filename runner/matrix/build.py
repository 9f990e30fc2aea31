"""From the data of a matrix, in which no fault was found, to its types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.matrix import model
from runner.matrix.expressions import evaluate
from runner.matrix.images import CORE, OURS, ImageTarget
from runner.matrix.their_images import targets_of
from runner.matrix.toolchain import Toolchain

_UNITS = {"MiB": 2**20, "GiB": 2**30}


def build(data: dict[str, Any], folder: Path) -> model.Matrix:
    """The matrix of data without a fault; the sources of its images lie in the folder."""
    images = {**OURS, **targets_of(data.get("images", {}), folder)}
    platforms = {name: _platform(name, value) for name, value in data["platforms"].items()}
    lacking = {name: value.get("without", {}) for name, value in data["toolchains"].items()}
    return model.Matrix(
        toolchains={name: _toolchain(name, value) for name, value in data["toolchains"].items()},
        platforms=platforms,
        limits={name: _limits(name, value) for name, value in data["limits"].items()},
        profiles={name: _profile(name, value) for name, value in data["profiles"].items()},
        benchmarks={
            name: _benchmark(name, value, images, platforms, lacking)
            for name, value in data["benchmarks"].items()
        },
        registry=data.get("registry"),
    )


def _toolchain(name: str, value: dict[str, Any]) -> Toolchain:
    # Which images it lacks is part of no content key: a toolchain is what an image is built with.
    return Toolchain(name=name, **{key: each for key, each in value.items() if key != "without"})


def _platform(name: str, value: dict[str, Any]) -> model.Platform:
    return model.Platform(
        name=name,
        architecture=value["architecture"],
        host=value.get("host"),
        slurm=model.Slurm(**value["slurm"]) if "slurm" in value else None,
    )


def _limits(name: str, value: dict[str, Any]) -> model.Limits:
    memory: str = value["memory"]
    return model.Limits(
        name=name,
        cpus=value["cpus"],
        memory_bytes=int(memory[:-3]) * _UNITS[memory[-3:]],
        pids=value["pids"],
        threads=value["threads"],
        instructions=model.Instructions(value["instructions"]) if "instructions" in value else None,
    )


def _profile(name: str, value: dict[str, Any]) -> model.Profile:
    seeds, deadline = value["seeds"], value["deadline_seconds"]
    return model.Profile(
        name=name,
        minutes=value["minutes"],
        benchmarks=tuple(value["benchmarks"]) if "benchmarks" in value else None,
        toolchains=tuple(value["toolchains"]) if "toolchains" in value else None,
        seeds=model.ByExecution(native=tuple(seeds["native"]), emulated=tuple(seeds["emulated"])),
        deadline_seconds=model.ByExecution(native=deadline["native"], emulated=deadline["emulated"]),
    )


def _benchmark(
    name: str,
    value: dict[str, Any],
    images: Mapping[str, ImageTarget],
    platforms: Mapping[str, model.Platform],
    lacking: Mapping[str, Mapping[str, str]],
) -> model.Benchmark:
    returns = value.get("returns")
    return model.Benchmark(
        name=name,
        title=value["title"],
        kind=model.Kind(value["kind"]),
        headline=value["headline"],
        inputs=tuple(value["inputs"]),
        counts=value["counts"],
        gate=model.Gate(
            outputs=tuple(_output(file, check) for file, check in value["gate"]["outputs"].items()),
            episodes=value["gate"].get("episodes"),
            digest=value["gate"].get("digest", {}),
            replay=model.Replay(**value["gate"]["replay"]) if "replay" in value["gate"] else None,
        ),
        returns=_returns(returns) if returns else None,
        cases={key: model.Case(name=key, parameters=case) for key, case in value["cases"].items()},
        sizes={
            profile: model.ByExecution(native=sizes["native"], emulated=sizes["emulated"])
            for profile, sizes in value["profiles"].items()
        },
        implementations={
            key: _implementation(key, each, images, platforms, lacking)
            for key, each in value["implementations"].items()
        },
        without={
            profile: model.ByExecution(
                native=frozenset(sizes.get("without", ())),
                emulated=frozenset((*sizes.get("without", ()), *sizes.get("emulated_without", ()))),
            )
            for profile, sizes in value["profiles"].items()
        },
        limits=tuple(value.get("limits", ())),
        on_request=value.get("on_request", False),
        refereed=value.get("refereed", False),
        decision=model.Decision(value["decision"]) if "decision" in value else None,
        roofline=_roofline(value) if "roofline" in value else None,
        updates=_updates(value["updates"]) if "updates" in value else None,
    )


def _updates(value: dict[str, Any]) -> model.Updates:
    steps = value.get("environment")
    environment = None if steps is None else model.EnvironmentSteps(**steps)
    return model.Updates(**{**value, "environment": environment})


def _roofline(benchmark: dict[str, Any]) -> model.Roofline:
    value = benchmark["roofline"]
    return model.Roofline(
        operations=value.get("operations"),
        bytes=value["bytes"],
        cases={
            case: model.LeastWork(
                operations=evaluate(each["operations"], benchmark["cases"][case])
                if "operations" in each
                else None,
                bytes=evaluate(each["bytes"], benchmark["cases"][case]),
                copied=each["copied"],
            )
            for case, each in value["cases"].items()
        },
    )


def _returns(value: dict[str, Any]) -> model.Returns:
    return model.Returns(
        episodes=value["episodes"],
        thresholds=value.get("thresholds", {}),
        published=value.get("published", {}),
        equivalence={
            case: model.EquivalenceRule(**rule) for case, rule in value.get("equivalence", {}).items()
        },
    )


def _output(file: str, value: dict[str, Any]) -> model.OutputCheck:
    return model.OutputCheck(
        file=file,
        rtol=value.get("rtol", 0.0),
        atol=value.get("atol", 0.0),
        scaled=value.get("scaled"),
        tensors=value.get("tensors", {}),
        drift=value.get("drift"),
        rms=value.get("rms"),
        depends_on=tuple(value.get("depends_on", ())),
    )


def _implementation(
    name: str,
    value: dict[str, Any],
    images: Mapping[str, ImageTarget],
    platforms: Mapping[str, model.Platform],
    lacking: Mapping[str, Mapping[str, str]],
) -> model.Implementation:
    # An architecture stands for all platforms that have it.
    named = {*value.get("platforms", ())}
    offered = tuple(each.name for each in platforms.values() if {each.name, each.architecture} & named)
    image = images[value.get("image", CORE.name)]
    return model.Implementation(
        name=name,
        command=tuple(value["command"]),
        image=image,
        platforms=offered or None,
        limits=tuple(value["limits"]) if "limits" in value else None,
        without=value.get("without", {}),
        lacked_by={name: why[image.name] for name, why in lacking.items() if image.name in why},
        reference=value.get("reference", False),
        determinism=model.Determinism(value.get("determinism", "none")),
        differs=tuple(value.get("differs", ())),
        side=model.Side(value["side"]) if "side" in value else _default_side(value),
        emulated=value.get("emulated"),
    )


def _default_side(value: dict[str, Any]) -> model.Side:
    return model.Side.REFERENCE if value.get("reference") else model.Side.PEER
