"""``python -m tests.fuzz``: mutated input for a while; prints what was found, and ends with 1 if anything was."""

import argparse
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.engine import Outcome, execute, fuzz
from tests.fuzz.targets import TARGETS, Target

_MOST_ADDRESS_SPACE = 8 * 2**30
_MEMORY = Path("/dev/shm")


def main(words: Sequence[str] | None = None) -> int:
    """Run as the command line says."""
    options = _options(words)
    # What asks for terabytes gets an error that is seen, and not a machine that swaps.
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESS_SPACE, _MOST_ADDRESS_SPACE))
    if _MEMORY.is_dir():
        # Thousands of small files a minute: a disk would be what is tested.
        tempfile.tempdir = str(_MEMORY)
    targets = [target for target in TARGETS if options.target in (None, target.name)]
    outcome = (
        _again(targets, options.again) if options.again else fuzz(options.seconds, options.seed, targets)
    )
    for number, finding in enumerate(outcome.findings):
        path = options.keep / f"{finding.target}-{number}"
        options.keep.mkdir(parents=True, exist_ok=True)
        path.write_bytes(finding.data)
        again = f"python -m tests.fuzz --target {finding.target} --again {path}"
        _say(f"FOUND {finding.where}\n{finding.what}\n  again: {again}\n")
    for target in targets:
        name = target.name
        _say(
            f"{name:<12} {outcome.executions[name]:>8} executions, slowest {outcome.slowest.get(name, 0):.2f} s"
        )
    _say(f"{outcome.executions.total()} executions, {len(outcome.findings)} findings")
    return 1 if outcome.findings else 0


def _again(targets: Sequence[Target], path: Path) -> Outcome:
    outcome = Outcome()
    for target in targets:
        finding = execute(target, path.read_bytes(), outcome)
        outcome.findings += [finding] if finding else []
    return outcome


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default 1)")
    parser.add_argument("--target", choices=[target.name for target in TARGETS], help="this entrance alone")
    parser.add_argument(
        "--again", type=Path, metavar="FILE", help="feed this one input, as a finding was kept"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        default=Path("fuzz-findings"),
        help="where inputs of findings are kept",
    )
    return parser.parse_args(words)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
