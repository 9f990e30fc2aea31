"""What every implementation here shares: how it is started, and what it prints.

An implementation is started as

    python3 -m baselines.FOLDER.NAME --case ID --parameters JSON [--case ID --parameters JSON ...]
                                     --seed N --input DIR --output DIR

and prints JSON Lines on stdout (progress events, then one measurement per case); stderr is a free log. The
package knows no runner: the two meet in the measurement schema alone.
"""

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn, TypeVar

import numpy as np
from safetensors import SafetensorError

from baselines.contract.instructions import beyond_avx2

_PROGRESS_INTERVAL_SECONDS = 1.0

Parameters = TypeVar("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One parameter point to serve: its id, for people, and everything that the work depends on."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for. The directories are None when a person left them out."""

    cases: tuple[Case, ...]
    seed: int
    input_directory: Path | None
    output_directory: Path | None

    def in_seeded_order(self) -> list[Case]:
        """The cases in an order drawn from the seed, so that no case always runs on the warmest machine."""
        order = np.random.default_rng(self.seed).permutation(len(self.cases))
        return [self.cases[index] for index in order]

    def output_of(self, case: Case) -> Path | None:
        """The directory for this case's output files, made if need be; None when nothing is to be written."""
        if self.output_directory is None:
            return None
        return made_directory(self.output_directory / case.name)


def refuse(message: str) -> NoReturn:
    """Leave with exit code 2 and one line on stderr: what, why, what to do."""
    print(f"{_module() or Path(sys.argv[0]).stem}: {message}", file=sys.stderr)
    raise SystemExit(2)


def made_directory(directory: Path) -> Path:
    """The directory, made if need be; leaves with exit code 2 where it cannot be, or cannot be written into."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Before the work whose result goes there.
        with TemporaryFile(dir=directory):
            pass
    except OSError as error:
        refuse(f"{directory} cannot be made or written into: {error.strerror}; name another with --output")
    return directory


def parser(description: str | None, *, refereed: bool = True) -> argparse.ArgumentParser:
    """The options of the contract; an implementation may add positional arguments of its own in front.

    A generator of inputs is led by no referee, so its parser refuses ``--referee``.
    """
    module = _module()
    result = argparse.ArgumentParser(
        prog=None if module is None else f"python3 -m {module}", description=description, allow_abbrev=False
    )
    result.add_argument(
        "--case", action="append", default=[], metavar="ID", help="a case's id; repeat for more"
    )
    result.add_argument(
        "--parameters",
        action="append",
        default=[],
        metavar="JSON",
        help="that case's parameters, one object each",
    )
    result.add_argument("--seed", type=_seed, default=1, help="the process's seed (default 1)")
    result.add_argument(
        "--input", type=Path, metavar="DIR", help="where the input files are, a folder per case"
    )
    result.add_argument("--output", type=Path, metavar="DIR", help="where output files go, a folder per case")
    if refereed:
        result.add_argument(
            "--referee", action="store_true", help="a referee leads this process by its stdin"
        )
    return result


def request(options: argparse.Namespace) -> Request:
    """Pair every case with its parameters; leave with exit code 2 on a fault."""
    if len(options.case) != len(options.parameters):
        refuse(
            f"{len(options.case)} --case but {len(options.parameters)} --parameters; "
            "give one --parameters to each --case"
        )
    if len(set(options.case)) != len(options.case):
        refuse("a --case is named twice; give each case once")
    for name in options.case:
        if not name or Path(name).name != name or name in (".", ".."):
            refuse(f"--case {name!r} cannot name a folder; use letters, digits and = . _ -")
    return Request(
        cases=tuple(
            Case(name=name, parameters=_json_object(name, text))
            for name, text in zip(options.case, options.parameters, strict=True)
        ),
        seed=options.seed,
        input_directory=options.input,
        output_directory=options.output,
    )


def checked(case: Case, kind: type[Parameters]) -> Parameters:
    """The case's parameters as the given frozen dataclass.

    Every field without a default must be there, no other key may be, and every value must have the field's
    type (int, float, str, or one of them or None; an integer passes as a float, a boolean as neither).
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # a frozen dataclass
    faults = [f"unknown parameter {name!r}" for name in case.parameters.keys() - fields.keys()]
    for name, field in fields.items():
        if name in case.parameters:
            faults += _type_faults(name, case.parameters[name], field.type)
        elif field.default is dataclasses.MISSING:
            faults.append(f"missing parameter {name!r}")
    if not faults:
        try:
            return kind(**case.parameters)
        except ValueError as error:
            faults.append(str(error))
    refuse(f"case {case.name}: {'; '.join(sorted(faults))}; the parameters are {', '.join(fields)}")


def threads() -> int:
    """How many threads the launch's limits allow: FORGE_BENCH_THREADS, 1 where it is not set."""
    text = os.environ.get("FORGE_BENCH_THREADS", "1")
    if not text.isdecimal() or int(text) < 1:
        refuse(f"FORGE_BENCH_THREADS is {text!r}; set it to a whole number from 1, or leave it unset")
    return int(text)


def check_instructions() -> None:
    """Leave with exit code 2 where the launch's limits cap the instructions and a library computes with better ones.

    Called once everything that computes is imported, and before anything is timed.
    """
    cap = os.environ.get("FORGE_BENCH_SIMD")
    if cap is None:
        return
    if cap != "avx2":
        refuse(f"FORGE_BENCH_SIMD is {cap!r}; set it to avx2, or leave it unset")
    if faults := beyond_avx2():
        refuse(
            f"the limits allow AVX2 at most, and {'; '.join(faults)}; "
            "set what runner/executors/instructions.py sets for each library"
        )


def input_file(request: Request, case: Case, name: str, read: Callable[[Path], Result]) -> Result:
    """What `read` makes of an input file of the case; leave with exit code 2 where there is none that can be read."""
    if request.input_directory is None:
        refuse("--input is needed; make the inputs with baselines.inputs and name their directory")
    path = request.input_directory / case.name / name
    try:
        return read(path)
    except (OSError, ValueError, SafetensorError) as error:
        refuse(f"cannot read {path} ({error}); make the inputs with baselines.inputs")


class Progress:
    """Prints progress events, at most one a second, so that watching costs nothing."""

    def __init__(self, *, total: int, unit: str) -> None:
        self._total = total
        self._unit = unit
        self._last = time.monotonic()

    def report(self, done: int) -> None:
        """Say how many units are done, unless something was said within the last second."""
        now = time.monotonic()
        if now - self._last >= _PROGRESS_INTERVAL_SECONDS:
            self._last = now
            print_event({"event": "progress", "done": done, "total": self._total, "unit": self._unit})


def measurement(
    case: Case, *, metrics: Mapping[str, float | Sequence[float]], counts: Mapping[str, int]
) -> dict[str, Any]:
    """A measurement event; the peaks of memory are read now, at the end of the work.

    Args:
        case: which case was measured.
        metrics: figures in SI units under names that end in the unit; a list holds one value per repetition.
        counts: how much work was done, counted where it happened.
    """
    return {
        "event": "measurement",
        "case": case.name,
        "metrics": dict(metrics),
        "counts": dict(counts),
        "memory": memory(),
    }


def memory() -> dict[str, int | None]:
    """This process's peak and its container's, in bytes; None where the system does not tell."""
    return {"vmhwm_bytes": _vmhwm_bytes(), "cgroup_peak_bytes": _cgroup_peak_bytes()}


def print_measurement(event: Mapping[str, Any]) -> None:
    """Print a measurement as one line of JSON."""
    print_event(event)


@dataclass(frozen=True, kw_only=True)
class Repetitions:
    """How often an operation is repeated; `seconds_limit` is in seconds of timed work."""

    calls: int
    warmup: int
    repetitions: int
    seconds_limit: float | None = None
    least_repetitions: int = 1

    def __post_init__(self) -> None:
        self.require_positive("calls", "repetitions", "least_repetitions")
        if self.warmup < 0:
            raise ValueError("'warmup' must not be negative")
        if self.seconds_limit is not None and not self.seconds_limit >= 0:
            raise ValueError("'seconds_limit' must be a number from 0")

    def require_positive(self, *names: str) -> None:
        """See that these parameters are at least 1.

        Raises:
            ValueError: one is not; the message names it.
        """
        for name in names:
            if getattr(self, name) < 1:
                raise ValueError(f"{name!r} must be at least 1")


def seconds_since_process_start() -> float | None:
    """The process's age by its start time in /proc/self/stat, to a clock tick (10 ms); None where unknown.

    The interpreter's own start and the imports are in it. Some emulators report no start time at all.
    """
    try:
        # The second field is the command in parentheses and may hold blanks; the start time is the 22nd.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks = int(fields[22 - 3])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return age if ticks > 0 and age > 0 else None


def _module() -> str | None:
    """The module that `python3 -m` started, its folder included; None where a file or a string was started."""
    spec = sys.modules["__main__"].__spec__
    return None if spec is None else spec.name.removesuffix(".__main__")


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 2**32 - 1")
    return int(text)


def _json_object(case: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        refuse(f"--parameters of case {case} is not JSON ({error}); give one JSON object")
    if not isinstance(value, dict):
        refuse(f"--parameters of case {case} is not a JSON object; give one such as {{}}")
    return value


def _type_faults(name: str, value: object, wanted: object) -> list[str]:
    allowed = {part.__name__ for part in getattr(wanted, "__args__", (wanted,)) if isinstance(part, type)}
    found = type(value).__name__
    if found in allowed or (found == "int" and "float" in allowed):
        return []
    return [f"{name!r} must be {' or '.join(sorted(allowed - {'NoneType'}))}, not {found}"]


def print_event(event: Mapping[str, Any]) -> None:
    """Print an event as one line of JSON."""
    print_line(json.dumps(event, allow_nan=False))


def print_line(text: str) -> None:
    """Print a line that is an event already."""
    print(text, flush=True)


def _vmhwm_bytes() -> int | None:
    """This process's peak resident set."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


def _cgroup_peak_bytes() -> int | None:
    """The container's peak, page cache and children included: cgroup v2's file, else v1's, else unknown."""
    for name in ("memory.peak", "memory/memory.max_usage_in_bytes"):
        try:
            return int((Path("/sys/fs/cgroup") / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return None
