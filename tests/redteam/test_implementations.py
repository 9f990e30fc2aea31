"""Each hostile implementation runs beside an honest one, on this machine, and gets its verdict."""

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from runner.cli.main import main
from runner.records.record import Record
from runner.records.store import Store
from runner.system import machine

HOSTILE = Path(__file__).parent / "hostile"
# What becomes of each; None passes, because its lie makes no difference.
VERDICTS = {
    "prints_a_nanosecond": "unaccounted-time",
    "prints_a_nanosecond_and_does_nothing": "wrong-output",
    "remembers_its_first_answer": "wrong-output",
    "scales_its_first_answer": "wrong-output",
    "computes_on_request": "wrong-output",
    "computes_what_a_sample_needs": "wrong-output",
    "computes_between_the_clocks": "unaccounted-time",
    "starts_its_clock_late": "unaccounted-time",
    "claims_milliseconds_as_seconds": "impossible-time",
    "claims_all_of_it_as_between": "unaccounted-time",
    "works_on_less": "wrong-output",
    "ignores_the_nonce": "wrong-output",
    "is_done_before_it_is_asked": "malformed-output",
    "returns_before_it_has_computed": "unaccounted-time",
    "claims_fewer_repetitions": "malformed-output",
    "claims_no_memory": None,
    # A window that is opened again has other inputs: the memory is of no use.
    "remembers_a_void_window": None,
}
# Of a case whose digest covers one call of several. This lie makes a difference, and is a known one.
COVERED_VERDICTS = {"computes_covered_calls_alone": None}


def command(name: str) -> list[str]:
    return [sys.executable, str(HOSTILE / f"{name}.py")]


def implementations(honest: str, verdicts: Iterable[str]) -> dict:
    liars = {
        name.replace("_", "-"): {"command": command(name), "determinism": "machine"} for name in verdicts
    }
    return {
        honest: {"command": command("program"), "reference": True, "determinism": "machine"},
        **liars,
    }


def matrix() -> dict:
    sizes = {"warmup": 5, "repetitions": 50, "seconds_limit": 2.0, "least_repetitions": 5}
    here = machine.architecture()
    generator = "import sys, pathlib; out = sys.argv[sys.argv.index('--output') + 1]; "
    generator += "folder = pathlib.Path(out) / 'sine'; folder.mkdir(); (folder / 'empty').write_bytes(b'')"
    sine = {
        "title": "Sines",
        "kind": "operation",
        "headline": "seconds",
        "refereed": True,
        "inputs": [sys.executable, "-c", generator],
        "counts": {"elements": "length"},
        "gate": {"outputs": {"y.npy": {"rtol": 1e-9}}},
        "cases": {"sine": {"length": 20000, "calls": 4}},
        "profiles": {"quick": {"native": sizes, "emulated": sizes}},
        "implementations": implementations("honest", VERDICTS),
    }
    return {
        "version": 1,
        "toolchains": {"here": {"suite": "none", "rust": "1.0.0", "python": "3.0.0", "pytorch": "2.0.0"}},
        "platforms": {here: {"architecture": here}},
        "limits": {"default": {"cpus": 1, "memory": "1GiB", "pids": 64, "threads": 1}},
        "profiles": {
            "quick": {
                "minutes": 1,
                "seeds": {"native": [1], "emulated": [1]},
                "deadline_seconds": {"native": 60, "emulated": 60},
            }
        },
        "benchmarks": {"sine": sine},
    }


def matrix_with_covered_calls() -> dict:
    data = matrix()
    covered = {
        "cases": {"sine": {"length": 20000, "calls": 4, "each": 2}},
        "implementations": implementations("honest-covered", COVERED_VERDICTS),
    }
    data["benchmarks"]["sine-covered"] = data["benchmarks"]["sine"] | covered
    return data


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """All of them in one run."""
    folder = tmp_path_factory.mktemp("redteam")
    text = yaml.safe_dump(matrix_with_covered_calls(), sort_keys=False)
    (folder / "matrix.yaml").write_text(text, encoding="utf-8")
    words = ["--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results")]
    main([*words, "--executor", "local"])
    return {record.implementation: record for record in Store(folder / "results").records()}


def test_every_program_of_the_folder_has_a_verdict() -> None:
    assert {path.stem for path in HOSTILE.glob("*.py")} == {*VERDICTS, *COVERED_VERDICTS, "program"}


def test_the_honest_one_passes(records: dict[str, Record]) -> None:
    for name in ("honest", "honest-covered"):
        record = records[name]
        assert record.failure is None, record.failure
        assert record.referee
        assert record.referee.windows[-1].repetitions >= 50


@pytest.mark.parametrize(("name", "verdict"), (VERDICTS | COVERED_VERDICTS).items())
def test_a_lie_gets_its_verdict(records: dict[str, Record], name: str, verdict: str | None) -> None:
    failure = records[name.replace("_", "-")].failure
    assert (failure.kind if failure else None) == verdict, failure


def test_memory_is_what_was_seen_and_not_what_was_said(records: dict[str, Record]) -> None:
    assert (records["claims-no-memory"].memory.vmhwm_bytes or 0) > 10 * 2**20
