"""Whatever an implementation does: its cell fails with a typed reason, the others go on, and the host is not harmed.

The programs are in hostile/, each a real one of a few lines. One call runs them all, as a user would; the tests look at
what came of it.
"""

import re
import resource
import socket
import subprocess
import threading
from ast import literal_eval
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import yaml
from conftest import HOST, ROOT, Result, docker, forge_bench
from test_matrix import record_of

from runner.executors.outputs import MOST_FILES
from runner.records.failure import FailureKind
from runner.report.tables.folds import without_folds

HOSTILE = Path(__file__).parent / "hostile"
# Nobody else's: the containers of this run are told by it on a daemon that others use too.
DEADLINE_SECONDS = 13
MEMORY_MIB, OUTPUTS_MIB, PIDS = 512, 256, 64

EXPECTED = {
    "crashes": "exit-code",
    "crashes_minus_one": "exit-code",
    "segfaults": "signal",
    "hangs": "deadline",
    "forks": "too-many-processes",
    "fills_memory": "out-of-memory",
    "fills_memory_in_a_child": "out-of-memory",
    "forgets_a_killed_child": "out-of-memory",
    "survives_a_killed_child": None,
    "fills_tmp": "exit-code",
    "fills_outputs": "too-large-output",
    "fills_outputs_silently": "too-large-output",
    "writes_holes": "too-large-output",
    "writes_a_million_files": "too-many-files",
    "writes_everywhere": "exit-code",
    "opens_sockets": "exit-code",
    "prints_rubbish": "malformed-output",
    "prints_a_gigabyte": "too-much-output",
    "logs_a_gigabyte": "too-much-output",
    "never_ends_a_line": "too-much-output",
    "prints_nothing": "missing-measurement",
    "measures_nan": "not-finite",
    "measures_twice": "doubled-measurement",
    "measures_another_case": "malformed-output",
    "measures_a_huge_number": "malformed-output",
    "nests_deeply": "malformed-output",
    "is_not_utf8": "malformed-output",
    "links_outside": "forbidden-output",
    "makes_a_pipe": "forbidden-output",
    "names_strangely": "forbidden-output",
    "nests_folders": "forbidden-output",
    "is_not_there": "not-started",
    # Somebody else does these two to them, while they hang.
    "is_killed": "signal",
    "is_removed": "lost",
}
# What needs no program of its own here: unit tests bend a small one (running/test_run_local.py, gate/test_gate.py).
ELSEWHERE = {
    "impossible-time",
    "wrong-counts",
    "missing-metric",
    "missing-output",
    "unreadable-output",
    "wrong-output",
    "no-reference",
}
FAILING = [name for name, kind in EXPECTED.items() if kind is not None]


def implementation(name: str) -> str:
    """A program's name in the matrix, where underscores are not allowed."""
    return name.replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The one call, and what the host was like meanwhile. ``knocks`` counts who reached the host's port."""

    results: Path
    call: Result
    more_processes: int
    runner_peak_bytes: int
    knocks: int

    def record(self, name: str) -> dict:
        return record_of(self.results, implementation=implementation(name))

    @property
    def page(self) -> str:
        return (self.results / "tables" / "smoke" / "gae.md").read_text(encoding="utf-8")


class Counting:
    """How many processes the host has at most, looked at again and again until the end."""

    def __init__(self) -> None:
        self.most = self.before = len(psutil.pids())
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._count, daemon=True)

    def __enter__(self) -> "Counting":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _count(self) -> None:
        while not self._end.wait(0.1):
            self.most = max(self.most, len(psutil.pids()))


class Door:
    """A port that the host listens on, on every address; counts who comes."""

    def __init__(self) -> None:
        self.knocks = 0
        self._server = socket.create_server(("0.0.0.0", 0))  # noqa: S104 (it waits for whoever should not be able to come)
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> "Door":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            connection.close()
            self.knocks += 1


class Meddler:
    """Kills one container and removes another, as soon as the daemon says that they run."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._meddle, daemon=True)
        self._events: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Meddler":
        self._events = subprocess.Popen(
            ["docker", "events", "--filter", "event=start", "--format", "{{.Actor.Attributes.name}}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._events.terminate()
        self._events.wait()
        self._thread.join()

    def _meddle(self) -> None:
        for name in self._events.stdout:
            if implementation("is_killed") in name:
                docker("kill", name.strip())
            if implementation("is_removed") in name:
                docker("rm", "--force", name.strip())


def command(name: str, port: int) -> list[str]:
    if name == "is_not_there":
        return ["no-such-program-in-any-image"]
    path = HOSTILE / f"{'hangs' if name in ('is_killed', 'is_removed') else name}.py"
    return [
        "python3",
        "-c",
        path.read_text(encoding="utf-8"),
        *([str(port)] if name == "opens_sockets" else []),
    ]


@pytest.fixture(scope="module")
def outcome(images: None, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All of them in one run, beside the reference and one implementation that is well."""
    directory = tmp_path_factory.mktemp("failing")
    with Door() as door, Counting() as counting, Meddler():
        data = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
        data["limits"]["default"] |= {"memory": f"{MEMORY_MIB}MiB", "pids": PIDS}
        data["profiles"]["smoke"]["deadline_seconds"]["native"] = DEADLINE_SECONDS
        gae = data["benchmarks"]["gae"]
        # These programs print a measurement each and are led by no referee; tests/redteam has those that are.
        # The lower bounds are those of longer cases.
        del gae["refereed"], gae["roofline"]
        gae["cases"] = {"T=128": gae["cases"]["T=128"]}
        for sizes in gae["profiles"].values():
            for leaves_out in ("without", "emulated_without"):
                sizes.pop(leaves_out, None)
        gae["implementations"] = {name: gae["implementations"][name] for name in ("numpy", "rust")} | {
            implementation(name): {"command": command(name, door.port)} for name in EXPECTED
        }
        matrix = directory / "matrix.yaml"
        matrix.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        call = forge_bench(
            "--matrix", str(matrix), "--results", str(directory / "results"), "--profile", "smoke",
            "--arch", HOST, "--only", "gae",
        )  # fmt: skip
    return Outcome(
        results=directory / "results",
        call=call,
        more_processes=counting.most - counting.before,
        runner_peak_bytes=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        knocks=door.knocks,
    )


def bytes_written(record: dict) -> int:
    return int(re.search(r"bytes written: (\d+)", record["launch"]["stderr_tail"])[1])


def findings(record: dict) -> dict:
    return literal_eval(record["launch"]["stderr_tail"].strip().splitlines()[-1])


def test_every_kind_of_failure_has_a_program_that_fails_so():
    # Who lies to a referee is in tests/redteam.
    lies = {FailureKind.UNACCOUNTED_TIME.value, FailureKind.PREPARED_WORK.value}
    kinds = {kind.value for kind in FailureKind} - lies
    assert kinds == {EXPECTED[name] for name in FAILING} | ELSEWHERE
    programs = {path.stem for path in HOSTILE.glob("*.py")}
    assert programs == EXPECTED.keys() - {"is_not_there", "is_killed", "is_removed"}


@pytest.mark.parametrize("name", FAILING)
def test_a_hostile_program_is_a_failed_cell_with_its_typed_reason(outcome, name):
    assert outcome.record(name)["failure"]["kind"] == EXPECTED[name], outcome.record(name)


def test_the_run_goes_through_to_its_end_and_its_exit_code_says_that_cells_failed(outcome):
    assert outcome.call.returncode == 3, outcome.call.stderr[-4000:]
    assert f"{len(EXPECTED) + 2} cells run, 0 reused, {len(FAILING)} failed" in outcome.call.stderr
    assert "Traceback" not in outcome.call.stderr.replace("stderr ends: Traceback", "")
    for name in ("numpy", "rust", "survives_a_killed_child"):
        assert outcome.record(name)["failure"] is None


@pytest.mark.parametrize("name", FAILING)
def test_the_table_shows_the_reason_and_below_it_how_the_log_ended(outcome, name):
    record = outcome.record(name)
    row = next(
        line for line in outcome.page.splitlines() if line.startswith(f"| T=128  | {implementation(name)} ")
    )
    assert f"1 of 1 failed: {EXPECTED[name]}: " in row
    assert "failed" in row.split("|")[3]
    section = outcome.page.split("\n### Failed, ")[1].split("\n### ")[0]
    assert f"\n{implementation(name)}, T=128, seed 1: {EXPECTED[name]}: " in section
    if record["launch"]["stderr_tail"]:
        log = f"logs/{record['launch']['id']}.log"
        assert (outcome.results / log).stat().st_size > 0
        assert f"Log: {log}\n" in section.replace("\\", "")


def test_what_a_program_printed_breaks_neither_the_page_nor_the_terminal(outcome):
    prose, widths = [], set()
    fence = None
    for line in without_folds(outcome.page).splitlines():
        if fence is None and line.startswith("```"):
            fence = line.removesuffix("text")
        elif fence is not None:
            fence = None if line == fence else fence
        else:
            prose.append(line)
            if line.startswith("| T=128"):
                widths.add(len(re.findall(r"(?<!\\)\|", line)))
    assert fence is None, "every block ends"
    assert widths == {9}
    assert not re.search(r"(?<!\\)<", "\n".join(prose)), "no raw HTML"
    assert "the reason" in outcome.page
    for text in (outcome.page, outcome.call.stdout, outcome.call.stderr):
        assert all(each.isprintable() or each == "\n" for each in text)


def test_out_of_memory_is_told_apart_by_the_flag_and_the_exit_code_together(outcome):
    alone, child = outcome.record("fills_memory"), outcome.record("fills_memory_in_a_child")
    assert alone["launch"]["out_of_memory"]
    assert f"killed at its {MEMORY_MIB} MiB of memory; ended by SIGKILL" in alone["failure"]["detail"]
    assert "exit code 1; stderr ends: the child ended with -9" in child["failure"]["detail"]
    assert "without printing a measurement" in outcome.record("forgets_a_killed_child")["failure"]["detail"]
    survivor = outcome.record("survives_a_killed_child")
    assert survivor["launch"]["out_of_memory"]
    assert survivor["failure"] is None
    killed = outcome.record("is_killed")
    assert not killed["launch"]["out_of_memory"]
    assert "ended by SIGKILL" in killed["failure"]["detail"]
    assert "ended by SIGSEGV" in outcome.record("segfaults")["failure"]["detail"]
    assert "exit code 255" in outcome.record("crashes_minus_one")["failure"]["detail"]


def test_nothing_that_is_written_is_without_an_end(outcome):
    for name, most in (
        ("fills_tmp", 256),
        ("fills_outputs", OUTPUTS_MIB),
        ("fills_outputs_silently", OUTPUTS_MIB),
    ):
        assert 0.9 * most * 2**20 < bytes_written(outcome.record(name)) <= most * 2**20
    assert "No space left on device" in outcome.record("fills_tmp")["failure"]["detail"]
    assert (
        f"files written: {MOST_FILES + 1}"
        in outcome.record("writes_a_million_files")["launch"]["stderr_tail"]
    )
    # A hole costs nothing until somebody copies it.
    assert "a terabyte: [Errno 27] File too large" in outcome.record("writes_holes")["launch"]["stderr_tail"]
    assert "a link to /etc/passwd" in outcome.record("links_outside")["failure"]["detail"]


def test_a_launch_has_no_root_no_capability_no_device_and_nothing_to_write_to(outcome):
    found = findings(outcome.record("writes_everywhere"))
    assert {key: value for key, value in found.items() if key.startswith("/")} == dict.fromkeys(
        (
            "/",
            "/usr",
            "/opt/forge-bench",
            "/inputs",
            "/inputs/T=128",
            "/outputs/..",
            "/etc",
            "/run",
            "/sys",
            "/proc",
        ),
        "refused",
    )
    assert found["device"] == "refused"
    assert (found["uid"], found["cpus"], found["daemon"]) == (65532, 1, False)
    assert int(found["capabilities"], 16) == 0


def test_a_launch_reaches_neither_the_host_nor_the_world_and_may_talk_to_itself(outcome):
    found = findings(outcome.record("opens_sockets"))
    assert found.pop("itself") == "open"
    assert set(found.values()) == {"refused"}
    assert outcome.knocks == 0


def test_the_host_keeps_its_processes_and_its_memory(outcome):
    # Others start processes too while this runs; a fork bomb that got out would be tens of thousands.
    assert outcome.more_processes < PIDS + 500
    assert outcome.runner_peak_bytes < 512 * 2**20


def test_no_container_and_no_volume_is_left(outcome):
    label = f"label=forge-bench.deadline={DEADLINE_SECONDS}"
    assert docker("ps", "--all", "--quiet", "--filter", label).stdout == ""
    assert docker("volume", "ls", "--quiet", "--filter", label).stdout == ""
