"""From the text of a matrix to the list of all its faults, or to its types (`build`)."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.matrix import model
from runner.matrix.build import build
from runner.matrix.expressions import ExpressionError, evaluate, names_in
from runner.matrix.faults import Fault, did_you_mean
from runner.matrix.images import CORE, OURS
from runner.matrix.source import MOST_BYTES, Source, read_source
from runner.matrix.their_images import image_faults
from runner.system.bounded_reading import read_bounded
from runner.system.errors import MatrixError
from runner.system.paths import clashing, portable
from runner.system.schema import schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

SCHEMA = Path(__file__).parent.parent / "schemas" / "matrix.schema.json"
# Every run writes pages of these names: a benchmark of such a name would overwrite one.
_PAGES = frozenset({"overview", "summary", "methodology", "profiling"})
_MOST_FAULTS = 100
_DEVICE = "this is the name of a device on some systems; choose another"
_SAID = {type(None): "empty", list: "a list"}


def load_matrix(path: Path, *, builds: bool = True) -> model.Matrix:
    """Read the matrix at ``path``.

    Args:
        path: the file. The sources of its ``images`` lie in its folder.
        builds: whether images can be built here. No image can be built inside an image, so their files are not
            checked there.

    Raises:
        MatrixError: with every fault of the file, each on its line.
    """
    try:
        text = read_bounded(path, MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MatrixError(
            what=f"cannot read the matrix {path}",
            why=error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8 text",
            fix="name an existing file with --matrix, or write one to start from: forge-bench init",
        ) from error
    source = read_source(text)
    folder = path.absolute().parent
    # A file that is not a matrix has thousands of faults; no reader needs them all.
    faults = sorted(set(islice(source.faults or _faults(source, folder if builds else None), _MOST_FAULTS)))
    if faults:
        listing = "\n".join(f"    {fault}" for fault in faults)
        count = f"{len(faults)} fault{'s' if len(faults) > 1 else ''}"
        if len(faults) == _MOST_FAULTS:
            count = f"{count} or more"
        raise MatrixError(
            what=f"{path.name} has {count}; nothing was started\n{listing}",
            why="a matrix runs only when every part of it is valid",
            fix=f"correct the lines named above in {path} (schema: runner/schemas/matrix.schema.json)",
        )
    return build(source.data, folder)


def _faults(source: Source, folder: Path | None) -> Iterator[Fault]:
    rules = schema(SCHEMA)
    errors = [] if rules.allows(source.data) else list(rules.faults(source.data))
    for error in errors:
        yield from _schema_faults(source, error)
    # The semantic checks need data of the right shape, so they leave out the parts that the schema refused.
    broken = {tuple(error.absolute_path)[:2] for error in errors}
    if isinstance(source.data, dict):
        yield from _semantic_faults(source, broken, folder)


def _schema_faults(source: Source, error: "ValidationError") -> Iterator[Fault]:
    path = tuple(error.absolute_path)
    dotted = ".".join(str(part) for part in path)
    # The value of the rule that failed: a type's name or names, a list of words, or a pattern.
    rule: Any = error.validator_value
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        schema: Any = error.schema
        known = schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                hint = did_you_mean(key, known)
                full = f"{dotted}.{key}" if dotted else key
                yield Fault(line=source.line_of((*path, key)), key=full, message=f'unknown key "{key}"{hint}')
        return
    if error.validator == "enum":
        hint = did_you_mean(str(error.instance), [str(value) for value in rule])
        message = f'"{error.instance}" is not allowed here{hint}'
    elif error.validator == "required":
        message = error.message.replace("'", '"').replace("a required property", "missing here")
    elif error.validator == "type" and not path:
        message = f"a matrix is keys and their values; this is {_SAID.get(type(error.instance), 'one value')}"
    elif error.validator == "maxProperties" and isinstance(error.instance, dict):
        message = f"{len(error.instance)} are too many; at most {rule}"
    elif error.validator == "type" and "string" in rule and not isinstance(error.instance, str):
        message = f"{error.instance!r} must be text; put it in quotes"
    elif "propertyNames" in error.absolute_schema_path:
        path, message = (
            (*path, str(error.instance)),
            "a name cannot look like this; use letters, digits, - and _",
        )
        dotted = ".".join(str(part) for part in path)
    elif error.validator == "pattern":
        message = f'"{error.instance}" does not have the right form ({rule})'
    else:
        message = error.message
    yield Fault(line=source.line_of(path), key=dotted, message=message)


_Benchmark = dict[str, Any]
_FaultAt = Callable[..., Fault]


def _semantic_faults(source: Source, broken: set[tuple[Any, ...]], folder: Path | None) -> Iterator[Fault]:
    """The checks that a schema cannot express.

    Names must exist elsewhere, and some keys exclude or need each other.
    """
    data = source.data
    yield from _profile_name_faults(source)
    yield from _profile_reference_faults(source, "benchmarks", "benchmark")
    yield from _profile_reference_faults(source, "toolchains", "toolchain")
    yield from _platform_faults(source, broken)
    yield from _image_faults(source, broken, folder)
    images = data.get("images")
    known_images = {*OURS, *(images if isinstance(images, dict) else ())}
    yield from _toolchain_faults(source, broken, known_images)
    benchmarks = data.get("benchmarks")
    if not isinstance(benchmarks, dict):
        return
    # The checks between benchmarks. A benchmark with its own faults is not checked further.
    sound = {each: None if ("benchmarks", each) in broken else benchmarks[each] for each in benchmarks}
    for name, benchmark in benchmarks.items():
        if ("benchmarks", name) in broken or not isinstance(benchmark, dict):
            continue

        def fault(*path: str | int, message: str, here: tuple[str, ...] = ("benchmarks", name)) -> Fault:
            full = (*here, *path)
            return Fault(line=source.line_of(full), key=".".join(str(part) for part in full), message=message)

        if name in _PAGES:
            yield fault(message="the tables have a page of this name already; choose another")
        yield from _name_faults(name, benchmark, fault)
        if benchmark["kind"] == "training" and not (
            "returns" in benchmark and "episodes" in benchmark["gate"]
        ):
            yield fault(message="a training needs returns and gate.episodes")
        if isinstance(data.get("profiles"), dict):
            yield from _profile_faults(name, benchmark, data["profiles"], fault)
        yield from _reference_faults(benchmark, fault)
        if isinstance(data.get("limits"), dict):
            yield from _limits_faults(benchmark, data["limits"], fault)
            if isinstance(data.get("platforms"), dict):
                yield from _implementation_faults(benchmark, data["platforms"], data["limits"], fault)
        yield from _unknown_images(benchmark, known_images, fault)
        yield from _headline_faults(benchmark, fault)
        yield from _gate_faults(benchmark, fault)
        yield from _returns_faults(benchmark, fault)
        yield from _parameter_faults(benchmark, fault)
        if "roofline" in benchmark:
            yield from _roofline_faults(benchmark, sound, fault)
        if "updates" in benchmark:
            yield from _updates_faults(benchmark, sound, fault)
        if "decision" in benchmark:
            yield from _decision_faults(benchmark, fault)


def _profile_name_faults(source: Source) -> Iterator[Fault]:
    profiles = source.data.get("profiles")
    for name in profiles if isinstance(profiles, dict) else ():
        if not portable(name):
            path = ("profiles", name)
            yield Fault(line=source.line_of(path), key=".".join(path), message=_DEVICE)


def _profile_reference_faults(source: Source, key: str, what: str) -> Iterator[Fault]:
    """The names in a profile's list ``key`` that the matrix does not have under the same key."""
    profiles, known = source.data.get("profiles"), source.data.get(key)
    if not isinstance(profiles, dict) or not isinstance(known, dict):
        return
    for name, profile in profiles.items():
        named = profile.get(key) if isinstance(profile, dict) else None
        for index, each in enumerate(named if isinstance(named, list) else ()):
            if each not in known:
                path = ("profiles", name, key, index)
                message = f'no {what} "{each}"{did_you_mean(str(each), known)}'
                yield Fault(line=source.line_of(path), key=".".join(map(str, path)), message=message)


def _toolchain_faults(source: Source, broken: set[tuple[Any, ...]], images: set[str]) -> Iterator[Fault]:
    """What a toolchain says that it lacks has to exist, and the core image runs every reference."""
    toolchains = source.data.get("toolchains")
    for name, toolchain in toolchains.items() if isinstance(toolchains, dict) else ():
        if ("toolchains", name) in broken or not isinstance(toolchain, dict):
            continue
        for image in toolchain.get("without", {}):
            path = ("toolchains", name, "without", image)
            if image == CORE.name:
                message = f"every reference runs in the image {CORE.name}; a toolchain must have it"
            elif image not in images:
                message = f'no image "{image}"{did_you_mean(image, images)}'
            else:
                continue
            yield Fault(line=source.line_of(path), key=".".join(path), message=message)


def _platform_faults(source: Source, broken: set[tuple[Any, ...]]) -> Iterator[Fault]:
    """A platform has one place. Two platforms of one machine would share their records, so a host is named once."""
    platforms = source.data.get("platforms")
    hosts: dict[str, str] = {}
    for name, platform in platforms.items() if isinstance(platforms, dict) else ():
        path = ("platforms", name)
        if path in broken:
            continue
        if "host" in platform and "slurm" in platform:
            message = "its cells run on one host or on a Slurm fleet; keep one of host and slurm"
            yield Fault(
                line=source.line_of((*path, "slurm")), key=".".join((*path, "slurm")), message=message
            )
        if "host" in platform:
            first = hosts.setdefault(platform["host"], name)
            if first != name:
                message = f'"{first}" names this host already; keep one platform for each machine'
                yield Fault(
                    line=source.line_of((*path, "host")), key=".".join((*path, "host")), message=message
                )


def _image_faults(source: Source, broken: set[tuple[Any, ...]], folder: Path | None) -> Iterator[Fault]:
    images = source.data.get("images")
    if not isinstance(images, dict):
        return

    def fault(*path: str, message: str) -> Fault:
        full = ("images", *path)
        return Fault(line=source.line_of(full), key=".".join(full), message=message)

    sound = {name: image for name, image in images.items() if ("images", name) not in broken}
    yield from image_faults(sound, fault, folder)


def _unknown_images(benchmark: _Benchmark, known: set[str], fault: _FaultAt) -> Iterator[Fault]:
    for key, implementation in benchmark["implementations"].items():
        name = implementation.get("image", CORE.name)
        if name not in known:
            hint = did_you_mean(name, known)
            yield fault("implementations", key, "image", message=f'no image "{name}"{hint}')


def _name_faults(name: str, benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    """Check names that become files: some systems ignore case, and some reserve names for devices."""
    if not portable(name):
        yield fault(message="this is the name of a device on some systems; choose another")
    gate = benchmark["gate"]
    for path, names in (
        (("cases",), list(benchmark["cases"])),
        (("gate", "outputs"), [*gate["outputs"], *filter(None, [gate.get("episodes")])]),
    ):
        for each in names:
            if not portable(each):
                yield fault(*path, each, message="a name of a file cannot end in a dot or be a device's")
        for first, second in clashing(names):
            yield fault(*path, second, message=f'on some systems this is the same file as "{first}"')


def _profile_faults(
    own_name: str, benchmark: _Benchmark, profiles: dict[str, Any], fault: _FaultAt
) -> Iterator[Fault]:
    for profile in benchmark["profiles"]:
        if profile not in profiles:
            hint = did_you_mean(profile, profiles)
            yield fault("profiles", profile, message=f'no profile "{profile}"{hint}')
    known = {*benchmark["cases"], *benchmark["implementations"]}
    for profile, sizes in benchmark["profiles"].items():
        named = [
            (key, each) for key in ("without", "emulated_without") for each in enumerate(sizes.get(key, []))
        ]
        for key, (index, name) in named:
            here = ("profiles", profile, key, index)
            if name not in known:
                yield fault(*here, message=f'no case or implementation "{name}"{did_you_mean(name, known)}')
            elif key == "without" and benchmark["implementations"].get(name, {}).get("reference"):
                yield fault(*here, message="nothing can be compared without the reference; keep it")
    for profile, says in profiles.items():
        listed = says.get("benchmarks") if isinstance(says, dict) else None
        # A profile that lists its benchmarks needs no sizes of the others.
        if profile not in benchmark["profiles"] and (not isinstance(listed, list) or own_name in listed):
            yield fault("profiles", message=f'says nothing about the profile "{profile}"; add its sizes')


def _reference_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    implementations = benchmark["implementations"]
    references = [key for key, value in implementations.items() if value.get("reference")]
    if len(references) != 1:
        why = "none is marked" if not references else f"{' and '.join(references)} are marked"
        yield fault("implementations", message=f"exactly one needs reference: true; {why}")
    for key in references:
        value = implementations[key]
        if (
            any(map(value.get, ("platforms", "limits", "without", "emulated")))
            or value.get("image", CORE.name) != CORE.name
        ):
            yield fault(
                "implementations",
                key,
                message=f"a reference must exist in the {CORE.name} image, on every platform, under all limits, "
                "for every case",
            )
        if "differs" in value:
            yield fault(
                "implementations", key, "differs", message="a reference differs from nothing; drop this"
            )
        if value.get("side", "reference") != "reference":
            yield fault("implementations", key, "side", message="a reference is on its own side; drop this")


def _roofline_faults(
    benchmark: _Benchmark, others: Mapping[str, _Benchmark | None], fault: _FaultAt
) -> Iterator[Fault]:
    """``others`` are all benchmarks of the matrix, None where one has faults of its own."""
    roofline = benchmark["roofline"]
    units = ("operations", "bytes") if "operations" in roofline else ("bytes",)
    for unit in units:
        name = roofline[unit]
        other = others.get(name)
        if name not in others:
            yield fault("roofline", unit, message=f'no benchmark "{name}"{did_you_mean(name, others)}')
        elif other is not None and unit not in other["counts"]:
            yield fault("roofline", unit, message=f'the benchmark "{name}" does not count {unit}')
    copying = others.get(roofline["bytes"])
    copied = copying["cases"] if copying is not None else {}
    for case, work in roofline["cases"].items():
        here = ("roofline", "cases", case)
        if case not in benchmark["cases"]:
            yield fault(*here, message=f'no case "{case}"{did_you_mean(case, benchmark["cases"])}')
            continue
        if copied and work["copied"] not in copied:
            hint = did_you_mean(work["copied"], copied)
            yield fault(
                *here, "copied", message=f'"{roofline["bytes"]}" has no case "{work["copied"]}"{hint}'
            )
        if ("operations" in work) != ("operations" in units):
            yield fault(*here, message="operations stand in each case and in roofline itself, or in neither")
            continue
        for unit in units:
            # Only the parameters of the case count: the work of a call depends on no profile.
            try:
                least = evaluate(work[unit], benchmark["cases"][case])
            except ExpressionError as error:
                yield fault(*here, unit, message=str(error))
            else:
                if least < 1:
                    yield fault(*here, unit, message=f"the value is {least}")


def _updates_faults(
    benchmark: _Benchmark, others: Mapping[str, _Benchmark | None], fault: _FaultAt
) -> Iterator[Fault]:
    """``others`` are all benchmarks of the matrix, None where one has faults of its own."""
    updates = benchmark["updates"]
    name, count = updates["benchmark"], updates["count"]
    if benchmark["kind"] != "training":
        yield fault("updates", message="only a training is made of updates; drop this")
    if count not in benchmark["counts"]:
        yield fault(
            "updates", "count", message=f'no count "{count}"{did_you_mean(count, benchmark["counts"])}'
        )
    if name not in others:
        yield fault("updates", "benchmark", message=f'no benchmark "{name}"{did_you_mean(name, others)}')
    other = others.get(name)
    known = None if other is None else other.get("roofline", {}).get("cases", {})
    for case, update in updates["cases"].items():
        here = ("updates", "cases", case)
        if case not in benchmark["cases"]:
            yield fault(*here, message=f'no case "{case}"{did_you_mean(case, benchmark["cases"])}')
        if known is not None and update not in known:
            yield fault(
                *here, message=f'the roofline of "{name}" has no case "{update}"{did_you_mean(update, known)}'
            )
    if "environment" in updates:
        yield from _environment_faults(benchmark, others, fault)


def _environment_faults(
    benchmark: _Benchmark, others: Mapping[str, _Benchmark | None], fault: _FaultAt
) -> Iterator[Fault]:
    here, steps = ("updates", "environment"), benchmark["updates"]["environment"]
    name, case, count = steps["benchmark"], steps["case"], steps["count"]
    if count not in benchmark["counts"]:
        hint = did_you_mean(count, benchmark["counts"])
        yield fault(*here, "count", message=f'no count "{count}"{hint}')
    if name not in others:
        yield fault(*here, "benchmark", message=f'no benchmark "{name}"{did_you_mean(name, others)}')
    other = others.get(name)
    if other is not None and case not in other["cases"]:
        yield fault(
            *here, "case", message=f'"{name}" has no case "{case}"{did_you_mean(case, other["cases"])}'
        )
    for key, stepped in steps["implementations"].items():
        place, ours = (*here, "implementations", key), benchmark["implementations"]
        if key not in ours:
            yield fault(*place, message=f'no implementation "{key}"{did_you_mean(key, ours)}')
        if other is not None and stepped not in other["implementations"]:
            hint = did_you_mean(stepped, other["implementations"])
            yield fault(*place, message=f'"{name}" has no implementation "{stepped}"{hint}')


def _limits_faults(benchmark: _Benchmark, limits: dict[str, Any], fault: _FaultAt) -> Iterator[Fault]:
    for index, name in enumerate(benchmark.get("limits", [])):
        if name not in limits:
            yield fault("limits", index, message=f'no limits "{name}"{did_you_mean(name, limits)}')


def _implementation_faults(
    benchmark: _Benchmark, platforms: dict[str, Any], limits: dict[str, Any], fault: _FaultAt
) -> Iterator[Fault]:
    known = {*platforms, *(each["architecture"] for each in platforms.values() if _has_architecture(each))}
    for key, implementation in benchmark["implementations"].items():
        here = ("implementations", key)
        for index, platform in enumerate(implementation.get("platforms", [])):
            if platform not in known:
                hint = did_you_mean(platform, known)
                yield fault(*here, "platforms", index, message=f'no platform "{platform}"{hint}')
        for index, name in enumerate(implementation.get("limits", [])):
            if name not in limits:
                yield fault(*here, "limits", index, message=f'no limits "{name}"{did_you_mean(name, limits)}')
        for case in implementation.get("without", {}):
            if case not in benchmark["cases"]:
                hint = did_you_mean(case, benchmark["cases"])
                yield fault(*here, "without", case, message=f'no case "{case}"{hint}')


def _has_architecture(platform: Any) -> bool:
    return isinstance(platform, dict) and isinstance(platform.get("architecture"), str)


def _headline_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    headline = benchmark["headline"]
    if headline != "seconds" and not headline.endswith("_seconds"):
        # With any other headline the gate could not tell a measured value from an invented one.
        message = (
            f'"{headline}" is not a time in seconds, and the gate compares a headline with the life of its process. '
            "Name a time (seconds, or a name ending in _seconds); compare --metric takes any other metric"
        )
        yield fault("headline", message=message)


def _replay_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    gate = benchmark["gate"]
    if "replay" not in gate:
        return
    if benchmark["kind"] != "training" or not benchmark.get("refereed"):
        yield fault("gate", "replay", message="a referee replays trainings alone; drop this")
    for key, file in gate["replay"].items():
        if file not in gate.get("digest", {}):
            # Else it could be computed after the window.
            yield fault("gate", "replay", key, message=f"gate.digest must cover {file}; name it there")
    if "environment_steps" not in benchmark["counts"]:
        yield fault("gate", "replay", message="counts must say how many environment_steps there are")
    for case, parameters in benchmark["cases"].items():
        if not isinstance(parameters.get("environment"), str):
            yield fault("gate", "replay", message=f"the case {case} names no environment to replay")


def _gate_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    yield from _replay_faults(benchmark, fault)
    if "digest" in benchmark["gate"] and not benchmark.get("refereed"):
        yield fault(
            "gate", "digest", message="only a referee asks for digests; say refereed: true, or leave it out"
        )
    for file, tolerance in benchmark["gate"]["outputs"].items():
        if "scaled" in tolerance and ("rtol" in tolerance or "atol" in tolerance):
            yield fault("gate", "outputs", file, message="give either scaled, or rtol and atol, not both")
        if "rms" in tolerance and {*tolerance} & {"scaled", "rtol", "atol"}:
            yield fault("gate", "outputs", file, message="give rms alone, without scaled, rtol and atol")
        for key in ("tensors", "drift"):
            if key in tolerance and "scaled" not in tolerance:
                yield fault("gate", "outputs", file, key, message="needs scaled beside it")
        known = {
            key
            for sizes in benchmark["profiles"].values()
            for execution in ("native", "emulated")
            for key in sizes[execution]
        }
        for index, key in enumerate(tolerance.get("depends_on", [])):
            if key not in known:
                yield fault(
                    *("gate", "outputs", file, "depends_on", index),
                    message=f'no profile has the parameter "{key}"{did_you_mean(key, known)}',
                )


def _returns_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    returns = benchmark.get("returns", {})
    for key in ("thresholds", "published", "equivalence"):
        for case in returns.get(key, {}):
            if case not in benchmark["cases"]:
                hint = did_you_mean(case, benchmark["cases"])
                yield fault("returns", key, case, message=f'no case "{case}"{hint}')
    for case, rule in returns.get("equivalence", {}).items():
        if rule["best"] - rule["worst"] <= rule["margin"]:
            yield fault(
                *("returns", "equivalence", case),
                message="every return from worst to best would be equivalent; give a smaller margin",
            )


def _decision_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    if benchmark["kind"] == "training":
        yield fault("decision", message="only the page of an operation supports a decision; drop this")
    for case, parameters in benchmark["cases"].items():
        if benchmark["decision"] == "crossing" and type(parameters.get("environments")) is not int:
            yield fault("decision", message=f"a call needs environments to step; case {case} has none")


def _parameter_faults(benchmark: _Benchmark, fault: _FaultAt) -> Iterator[Fault]:
    for case, parameters in benchmark["cases"].items():
        for profile, sizes in benchmark["profiles"].items():
            for execution in ("native", "emulated"):
                for key in sorted(parameters.keys() & sizes[execution].keys()):
                    yield fault(
                        "profiles",
                        profile,
                        execution,
                        key,
                        message=f'is also given in the case "{case}"; keep one',
                    )
    for count, text in benchmark["counts"].items():
        try:
            needed = names_in(text)
        except ExpressionError as error:
            yield fault("counts", count, message=str(error))
            continue
        told: set[tuple[str, str]] = set()
        for case, known in _known_parameters(benchmark):
            lacking = [name for name in sorted(needed) if type(known.get(name)) is not int]
            for name in lacking:
                if (name, case) in told:
                    continue
                told.add((name, case))
                hint = did_you_mean(name, known)
                yield fault("counts", count, message=f'"{name}" is not a whole number in case "{case}"{hint}')
            if not lacking and (why := _no_count(text, known)):
                yield fault("counts", count, message=f'{why} in case "{case}"')


def _known_parameters(benchmark: _Benchmark) -> Iterator[tuple[str, dict[str, Any]]]:
    """All sets of parameters that a cell of this benchmark can have, each with the case's name."""
    for case, parameters in benchmark["cases"].items():
        for sizes in benchmark["profiles"].values():
            for execution in ("native", "emulated"):
                yield case, parameters | sizes[execution]


def _no_count(text: str, parameters: dict[str, Any]) -> str | None:
    """Why this expression is not a count. The check runs now, and not after the first launch."""
    try:
        value = evaluate(text, parameters)
    except ExpressionError as error:
        return str(error)
    return f"the value is {value}" if value < 0 else None
