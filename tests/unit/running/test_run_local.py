"""The whole road on this machine, with real processes: plan, run, gate, record, reuse, tables."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import msgspec
import psutil
import pytest
import yaml
from conftest import DOUBLER, program, small_matrix
from example_records import json_of
from jsonschema import Draft202012Validator
from refitting import refitted

from runner.cli.main import main
from runner.executors import local
from runner.executors.local import LocalExecutor
from runner.records.record import Record, content_hash, record_of
from runner.records.schema_text import SCHEMA
from runner.records.store import Store
from runner.system.cpus import CpuSet
from runner.system.errors import CellsFailed, ImageBuildFailed, NoSpace
from runner.system.hashes import file_hash, file_hashes


@pytest.fixture
def forge(tmp_path, write_matrix, capsys):
    """Run the command line over a matrix; returns exit code, stdout, stderr."""

    def call(data: dict, *arguments: str) -> tuple[int, str, str]:
        path = write_matrix(data)
        # What starts nothing takes no executor, and an export needs no matrix.
        reads = {"render", "compare", "export"} & set(arguments)
        here = [] if reads else ["--executor", "local"]
        of = [] if "export" in arguments else ["--matrix", str(path)]
        code = main([*arguments, *of, "--results", str(tmp_path / "results"), *here])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "results")


def failures(store: Store) -> dict[str, str]:
    return {
        record.implementation: record.failure.kind for record in store.records() if record.failure is not None
    }


def test_one_call_runs_every_cell_and_every_record_is_valid_by_its_schema(forge, store):
    code, out, err = forge(small_matrix(other=program(DOUBLER)))
    assert code == 0, err
    assert re.search(
        r"^first run here: the matrix says \d+ (min|s) for all of quick, images aside$", err, re.MULTILINE
    )
    records = store.records()
    cells = {(each.case, each.implementation, each.seed) for each in records}
    assert cells == {
        (case, name, seed) for case in ("n=4", "n=8") for name in ("plain", "other") for seed in (1, 2)
    }
    schema = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for record in records:
        assert list(schema.iter_errors(json_of(record))) == []
        assert not record.failed
    assert "Doubling numbers" in out


def test_two_implementations_with_the_same_command_are_two_cells(forge):
    _, out, _ = forge(small_matrix(twin=program(DOUBLER)), "plan", "--json")
    keys = [each["key"] for each in json.loads(out)["cells"]]
    assert len(keys) == len(set(keys)) == 8


def test_a_second_call_runs_nothing(forge, store):
    forge(small_matrix())
    before = [record.identifier for record in store.records()]
    code, _, err = forge(small_matrix())
    assert code == 0
    assert "0 cells run, 4 reused" in err
    assert [record.identifier for record in store.records()] == before


def test_a_run_reads_the_store_once_and_shows_what_it_added(forge, store, monkeypatch):
    forge(small_matrix())
    reads = []
    records = Store.records
    monkeypatch.setattr(Store, "records", lambda self: reads.append(self) or records(self))
    code, _, err = forge(small_matrix(other=program(DOUBLER)))
    assert code == 0
    assert "4 cells run, 4 reused" in err
    page = (store.tables_directory / "quick" / "double.md").read_text(encoding="utf-8")
    assert "| other" in page
    assert len(reads) == 1


def test_one_deleted_record_is_run_again_and_nothing_else(forge, store):
    forge(small_matrix())
    victim = next(store.records_directory.glob("*/*.json"))
    victim.unlink()
    _, _, err = forge(small_matrix())
    assert "1 cells run, 3 reused" in err


def test_one_changed_parameter_runs_its_case_again_and_nothing_else(forge):
    data = small_matrix(other=program(DOUBLER))
    forge(data)
    data["benchmarks"]["double"]["cases"]["n=8"]["length"] = 9
    _, _, err = forge(data)
    assert "4 cells run, 4 reused" in err


def test_fresh_runs_again_and_keeps_the_earlier_records(forge, store):
    forge(small_matrix())
    forge(small_matrix(), "--fresh")
    assert len(store.records()) == 8


TICKING = DOUBLER.replace("y = x * 2", "y = x * 2 * (1 + 1e-12 * (time.time_ns() % 1000))")


def test_fresh_compares_with_the_outputs_of_this_run_and_keeps_no_earlier_ones(forge, store):
    data = small_matrix()
    data["benchmarks"]["double"]["implementations"]["plain"]["command"] = program(TICKING)
    forge(data, "--profile", "smoke")
    before = set((store.root / "references").rglob("y.npy"))
    forge(data, "--profile", "smoke", "--fresh")
    after = set((store.root / "references").rglob("y.npy"))
    assert len(before) == len(after) == 2
    assert not before & after
    newest = {record.case: record.outputs["y.npy"] for record in store.records()}
    assert {file_hash(path) for path in after} == set(newest.values())


def test_kept_outputs_that_were_overwritten_are_not_believed_and_the_reference_runs_again(forge, store):
    forge(small_matrix(), "--profile", "smoke")
    for path in (store.root / "references").rglob("y.npy"):
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    code, _, err = forge(small_matrix(other=program(DOUBLER)), "--profile", "smoke")
    assert code == 0, err
    assert "4 cells run, 0 reused" in err
    assert failures(store) == {}


def test_kept_outputs_of_another_launch_than_the_records_are_not_believed(forge, store):
    forge(small_matrix(), "--profile", "smoke")
    for path in list((store.root / "references").rglob("y.npy")):
        path.write_bytes(path.read_bytes()[:-1] + b"\x01")
        renamed = path.parent.with_name(content_hash(file_hashes(path.parent)))
        path.parent.rename(renamed)
    _, out, _ = forge(small_matrix(other=program(DOUBLER)), "plan", "--profile", "smoke", "--json")
    whys = {each["why"] for each in json.loads(out)["cells"] if each["implementation"] == "plain"}
    assert whys == {"others are compared with its outputs, and those that are kept are not its record's"}


def test_a_reference_that_fails_when_it_runs_again_leaves_nothing_to_compare_with(forge, store, tmp_path):
    broken = tmp_path / "broken"
    data = small_matrix(other=program(DOUBLER))
    data["benchmarks"]["double"]["implementations"]["plain"]["command"] = program(
        f"if pathlib.Path({str(broken)!r}).exists():\n    sys.exit(1)\n" + dedent(DOUBLER)
    )
    forge(data, "--profile", "smoke")
    broken.touch()
    forge(data, "--profile", "smoke", "--fresh")
    newest = {record.implementation: record.failure for record in store.records()}
    assert newest["other"] is not None
    assert newest["other"].kind == "no-reference"


def test_what_was_run_again_is_no_older_record_of_another_machine_or_image(forge, store):
    forge(small_matrix())
    forge(small_matrix(), "--fresh")
    assert "older records" not in (store.tables_directory / "quick/methodology.md").read_text(
        encoding="utf-8"
    )
    forge(small_matrix(), "render")
    assert "older records" not in (store.tables_directory / "quick/methodology.md").read_text(
        encoding="utf-8"
    )


def test_selecting_one_implementation_brings_the_reference_that_its_gate_needs(forge, store):
    forge(small_matrix(other=program(DOUBLER)), "--only", "double/other")
    names = [(each.implementation, each.seed) for each in store.records()]
    assert sorted(set(names)) == [("other", 1), ("other", 2), ("plain", 1)]


def test_seeds_on_the_command_line_replace_those_of_the_profile(forge, store):
    forge(small_matrix(), "--seeds", "7,9")
    assert {record.seed for record in store.records()} == {7, 9}


TOLD_THREADS = """
import os
names = ("FORGE_BENCH_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
told = {name: os.environ.get(name) for name in names}
if set(told.values()) != {"1"}:
    sys.exit(f"one thread is allowed, and told was {told}")
"""


def test_every_library_is_told_how_many_threads_the_limits_allow(forge, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    code, _, err = forge(small_matrix(told=program(TOLD_THREADS + DOUBLER)), "--only", "double/told")
    assert code == 0, err


# Two files of 400 MiB of nothing, where 512 MiB are allowed.
HUGE = """
for name in ("a", "b"):
    (arguments.output / name).open("wb").truncate(400 * 2**20)
"""
BENT = {
    "exit-code": DOUBLER + "\nsys.exit('went wrong')",
    "signal": DOUBLER + "\nimport os, signal; sys.stdout.flush(); os.kill(os.getpid(), signal.SIGSEGV)",
    "missing-measurement": "pass",
    "malformed-output": "print('hello')\n" + DOUBLER,
    "doubled-measurement": DOUBLER
    + DOUBLER.replace(".mkdir(parents=True)", ".mkdir(parents=True, exist_ok=True)"),
    "not-finite": DOUBLER.replace("[seconds]", "[float('nan')]"),
    "impossible-time": DOUBLER.replace("[seconds]", "[1e6]"),
    "wrong-counts": DOUBLER.replace("len(y)", "len(y) + 1"),
    "missing-metric": DOUBLER.replace('"seconds"', '"moments"'),
    "missing-output": DOUBLER.replace("np.save(", "(lambda *ignored: None)("),
    "wrong-output": DOUBLER.replace("y = x * 2", "y = x * 3"),
    "unreadable-output": DOUBLER.replace(
        'np.save(arguments.output / case / "y.npy", y)',
        '(arguments.output / case / "y.npy").write_text("no")',
    ),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one call that many tests look at; ``left`` is what its launches left where they write."""

    code: int
    out: str
    err: str
    records: tuple[Record, ...]
    left: tuple[Path, ...]

    def failure(self, name: str) -> str | None:
        """The kind of the one failure that all cells of an implementation have; the table's rows show it."""
        (kind,) = {each.failure and each.failure.kind for each in self.of(name)}
        rows = [line for line in self.out.splitlines() if re.match(rf"\| *n=[48] *\| *{name} *\|", line)]
        assert len(rows) == 2
        assert kind is None or all(kind in row for row in rows), "the table shows the reason"
        return kind

    def of(self, name: str) -> list[Record]:
        return [each for each in self.records if each.implementation == name]


def outcome_of(directory: Path, programs: dict[str, str], **limits: object) -> Outcome:
    """One call over the small matrix with these programs beside its own."""
    data = small_matrix(**{name: program(body) for name, body in programs.items()})
    data["limits"]["default"].update(limits)
    matrix = directory / "matrix.yaml"
    matrix.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    # Memory where the system has a folder of it, since some launches make ten thousand files.
    memory = Path("/dev/shm")
    with (
        pytest.MonkeyPatch.context() as patched,
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else directory) as scratch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patched.setattr(tempfile, "tempdir", scratch)
        where = ["--matrix", str(matrix), "--results", str(directory / "results"), "--executor", "local"]
        code = main(["double", "--profile", "smoke", *where])
        left = tuple(Path(scratch).iterdir())
    records = tuple(Store(directory / "results").records())
    return Outcome(code=code, out=out.getvalue(), err=err.getvalue(), records=records, left=left)


# Where several processes run tests, one runs all of this file, and so makes each of these calls once.
@pytest.fixture(scope="module")
def bent(tmp_path_factory) -> Outcome:
    return outcome_of(tmp_path_factory.mktemp("bent"), BENT)


@pytest.mark.parametrize("kind", BENT)
def test_an_implementation_that_breaks_the_contract_is_a_failed_cell_with_its_reason(bent, kind):
    assert bent.failure(kind) == kind


def test_the_others_go_on_and_the_exit_code_says_that_cells_failed(bent):
    assert bent.code == 3
    assert "to do:" in bent.err
    assert bent.failure("plain") is None
    assert len(bent.records) == 2 * (1 + len(BENT))


def test_one_failed_implementation_is_enough_for_the_exit_code(forge, store):
    code, _, err = forge(small_matrix(bent=program(BENT["wrong-output"])), "double", "--profile", "smoke")
    assert code == 3
    assert failures(store) == {"bent": "wrong-output"}
    assert "to do:" in err
    assert len(store.records()) == 4


def replace_records(store: Store, edit) -> None:
    """Every record edited, sealed anew and stored under its name again."""
    for record in store.records():
        data = json_of(record)
        edit(data)
        next(store.records_directory.glob(f"*/{record.identifier}.json")).unlink()
        store.add(record_of(refitted(data)))


def date_ahead(data: dict) -> None:
    """As if the clock had been ahead when the launch started."""
    data["launch"]["started_at"] = (datetime.now(UTC) + timedelta(days=400)).isoformat()


def fail_late(data: dict) -> None:
    """As if the launch had been killed at its deadline."""
    data["launch"].update(exit_code=-9, wall_seconds=data["launch"]["deadline_seconds"])
    data.update(gate=[], measurement=None, failure={"kind": "deadline", "detail": "60 s passed"})


@pytest.mark.parametrize("fails", [False, True])
def test_a_record_of_a_clock_that_was_ahead_is_replaced_by_the_next_one(forge, store, fails):
    forge(small_matrix(), "--profile", "smoke")
    (first, *_) = store.records()
    data = json_of(first)
    date_ahead(data)
    if fails:
        fail_late(data)
    store.add(record_of(refitted(data)))
    _, _, err = forge(small_matrix(), "--profile", "smoke")
    assert "0 cells run, 2 reused" in err
    assert "warning: 1 record is dated after this machine's clock" in err


def test_a_failure_that_a_clock_dated_ahead_runs_its_cell_once_and_not_at_every_call(forge, store):
    forge(small_matrix(), "--profile", "smoke")

    def ahead(data: dict) -> None:
        date_ahead(data)
        fail_late(data)

    replace_records(store, ahead)
    assert "2 cells run, 0 reused" in forge(small_matrix(), "--profile", "smoke")[2]
    assert "0 cells run, 2 reused" in forge(small_matrix(), "--profile", "smoke")[2]


@pytest.mark.parametrize(
    "command",
    [
        ("plan",),
        ("render",),
        ("export",),
        ("compare", "--benchmark", "double", "--base", "plain", "--against", "other"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_goes_by_age_tells_records_of_the_future(forge, store, command):
    data = small_matrix(other=program(DOUBLER))
    forge(data, "--profile", "smoke")
    replace_records(store, date_ahead)
    _, _, err = forge(data, *command)
    assert "warning: 4 records are dated after this machine's clock" in err


def test_an_image_whose_files_changed_since_the_plan_ends_the_run(forge, store, monkeypatch):
    prepare = LocalExecutor.prepare

    def changed(self, *arguments):
        return msgspec.structs.replace(prepare(self, *arguments), execution_hash="0" * 64)

    monkeypatch.setattr(LocalExecutor, "prepare", changed)
    code, _, err = forge(small_matrix(), "--profile", "smoke")
    assert code == ImageBuildFailed.exit_code
    assert "is not the one that was planned" in err
    assert store.records() == []


def test_limits_that_ask_for_more_cpus_than_there_are_are_refused_before_the_run(forge, store):
    data = small_matrix()
    data["limits"]["default"]["cpus"] = 4096
    code, _, err = forge(data, "--profile", "smoke")
    assert code == 0, err
    assert re.search(
        r"left out: double/plain on \w+: its limits ask for 4096 CPUs, and \d+ may be used here", err
    )
    assert store.records() == []
    _, out, _ = forge(data, "plan", "--profile", "smoke")
    assert "its limits ask for 4096 CPUs" in out
    _, out, _ = forge(data, "doctor", "--profile", "smoke")
    assert "some limits of the matrix ask for 4096: cells under them are left out" in " ".join(out.split())


def test_limits_that_ask_for_more_cpus_than_taskset_allows_are_refused(forge, store):
    before = os.sched_getaffinity(0)
    data = small_matrix()
    data["limits"]["default"]["cpus"] = 2
    os.sched_setaffinity(0, {min(before)})
    try:
        _, _, err = forge(data, "--profile", "smoke")
        _, out, _ = forge(data, "doctor", "--profile", "smoke")
    finally:
        os.sched_setaffinity(0, before)
    assert "its limits ask for 2 CPUs, and 1 may be used here" in err
    assert store.records() == []
    assert "some limits of the matrix ask for 2: cells under them are left out" in " ".join(out.split())


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ({"cpuset": "0"}, "its record had 1 of the 2 CPUs"),
        ({"siblings": ["0,1"]}, "other cores: 2 CPUs on 2 cores, were on 1"),
        ({"cpuset": "5,7", "siblings": []}, None),
        ({"siblings": None}, None),
        ({"cpuset": None}, None),
    ],
)
def test_a_record_of_fewer_cpus_or_cores_is_not_reused(forge, store, monkeypatch, then, why):
    monkeypatch.setattr(LocalExecutor, "cpus", lambda *_: CpuSet(cpus=(0, 1), siblings=()))
    monkeypatch.setattr(local, "_can_pin", lambda: False)
    data = small_matrix()
    data["limits"]["default"]["cpus"] = 2
    forge(data, "--profile", "smoke")
    assert {record.launch.limits.siblings for record in store.records()} == {()}

    def edit(record: dict) -> None:
        limits = {**record["launch"]["limits"], **then}
        # A record of before has no such key.
        if limits["siblings"] is None:
            del limits["siblings"]
        record["launch"]["limits"] = limits

    replace_records(store, edit)
    _, out, _ = forge(data, "plan", "--profile", "smoke")
    assert ("2 reuse" in out) is (why is None)
    assert why is None or why in out


HOSTILE = {
    "too-much-output": {
        "lines": "for _ in range(2**10): print(('x' * 1023 + '\\n') * 2**10)",
        "one line": "while True: sys.stdout.write('x' * 2**20)",
        "stderr": "for _ in range(2**10): sys.stderr.write('y' * 2**20)",
    },
    "too-many-files": {
        "files": "for n in range(10_001): (arguments.output / str(n)).touch()",
        "and hangs": "for n in range(10_001): (arguments.output / str(n)).touch()\ntime.sleep(600)",
    },
    "too-large-output": {
        "files": HUGE,
        "and fails": HUGE + "\nsys.exit(1)",
        "and hangs": HUGE + "\ntime.sleep(600)",
    },
    "forbidden-output": {
        "link": DOUBLER + "\n(arguments.output / 'n=4' / 'also').symlink_to('/etc/passwd')",
        "link to a folder": "arguments.output.joinpath('n=4').symlink_to('/etc')",
        "pipe": DOUBLER + "\nimport os; os.mkfifo(arguments.output / 'n=4' / 'pipe')",
        "name": DOUBLER + "\nimport os; os.mkdir(os.fsencode(arguments.output) + b'/\\xff\\n')",
        "depth": "import os\nos.chdir(arguments.output)\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')",
    },
    "exit-code": {
        "a file too large": "(arguments.output / 'huge').open('wb').truncate(2**40)",
    },
}


def named(kind: str, how: str) -> str:
    """A program's name in the matrix, where blanks are not allowed."""
    return f"{kind} {how}".replace(" ", "-")


def ways(programs: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(kind, how) for kind, each in programs.items() for how in each]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Outcome:
    programs = {named(kind, how): HOSTILE[kind][how] for kind, how in ways(HOSTILE)}
    return outcome_of(tmp_path_factory.mktemp("hostile"), programs)


@pytest.mark.parametrize(("kind", "how"), ways(HOSTILE))
def test_a_hostile_launch_is_a_failed_cell_with_its_typed_reason(hostile, kind, how):
    assert hostile.failure(named(kind, how)) == kind
    for record in hostile.of(named(kind, how)):
        assert record.outputs == {}
        assert record.launch.wall_seconds < record.launch.deadline_seconds


def test_hostile_launches_leave_nothing_and_the_run_goes_through_to_its_end(hostile):
    assert hostile.code == 3
    assert "Traceback" not in hostile.err.replace("stderr ends: Traceback", "")
    assert hostile.failure("plain") is None
    assert hostile.left == ()


BEYOND = {
    "out-of-memory": {
        "itself": "x = b'x' * 300 * 2**20\ntime.sleep(600)",
        "its child": "import subprocess\nsubprocess.run([sys.executable, '-c', "
        "'import time; x = b\"x\" * 300 * 2**20; time.sleep(600)'])",
        "with its streams closed": "import os\nos.close(1); os.close(2)\nx = b'x' * 300 * 2**20\ntime.sleep(600)",
    },
    "too-many-processes": {
        "processes": "import os\nfor _ in range(30):\n    if os.fork() == 0: time.sleep(600)\ntime.sleep(600)",
        "threads": "import threading\nfor _ in range(30): threading.Thread(target=time.sleep, args=(600,)).start()",
    },
}


MARKER = uuid4().hex


@pytest.fixture(scope="module")
def beyond(tmp_path_factory) -> Outcome:
    # What is asked to end politely would go on growing: these would not end.
    stubborn = f"'{MARKER}'\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    programs = {named(kind, how): stubborn + BEYOND[kind][how] for kind, how in ways(BEYOND)}
    return outcome_of(tmp_path_factory.mktemp("beyond"), programs, memory="200MiB", pids=16)


@pytest.mark.parametrize(("kind", "how"), ways(BEYOND))
def test_a_launch_beyond_its_memory_or_its_processes_is_killed(beyond, kind, how):
    assert beyond.code == 3
    assert beyond.failure(named(kind, how)) == kind
    for record in beyond.of(named(kind, how)):
        assert record.launch.out_of_memory is (kind == "out-of-memory")
        assert record.launch.wall_seconds < record.launch.deadline_seconds


def test_the_children_of_what_is_killed_are_killed_too(beyond):
    assert beyond.failure("plain") is None
    alive = [each.info["cmdline"] or () for each in psutil.process_iter(["cmdline"])]
    assert not [words for words in alive if any(MARKER in word for word in words)]


def test_what_a_launch_does_to_its_inputs_reaches_neither_the_store_nor_the_next_launch(forge, store):
    overwrites = """
    import os
    for case in arguments.case:
        path = arguments.input / case / "x.npy"
        assert path.stat().st_nlink == 1 and path.stat().st_mode & 0o222 == 0
        os.chmod(path, 0o600)
        content = path.read_bytes()
        with path.open("r+b") as file:
            file.seek(-8, 2)
            file.write(b"\\1" * 8)
        assert path.read_bytes() != content
        (arguments.input / case / "more.npy").write_bytes(b"more")
    sys.exit(5)
    """
    data = small_matrix()
    forge(data, "--profile", "smoke")
    kept = {path: path.read_bytes() for path in (store.root / "inputs").rglob("*") if path.is_file()}
    assert kept
    data = small_matrix(bad=program(overwrites), other=program(DOUBLER))
    assert forge(data, "--profile", "smoke")[0] == 3
    assert failures(store) == {"bad": "exit-code"}
    detail = next(json_of(each) for each in store.records() if each.implementation == "bad")["failure"][
        "detail"
    ]
    assert "exit code 5" in detail, detail
    assert {path: path.read_bytes() for path in (store.root / "inputs").rglob("*") if path.is_file()} == kept


@pytest.mark.parametrize("answer", ["SIG_DFL", "SIG_IGN"])
def test_a_launch_past_its_deadline_is_killed_with_all_its_children_whatever_they_answer(
    forge, store, answer
):
    data = small_matrix()
    forge(data, "--profile", "smoke")
    # All else is there already: only the slow one meets the short deadline, however slow this machine is.
    marker = uuid4().hex
    hangs = (
        f"import signal, subprocess, sys\nsignal.signal(signal.SIGTERM, signal.{answer})\n"
        f"subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', '{marker}'])"
    )
    data["benchmarks"]["double"]["implementations"]["slow"] = {"command": [sys.executable, "-c", hangs]}
    data["profiles"]["smoke"]["deadline_seconds"]["native"] = 1.5
    code, _, _ = forge(data, "--profile", "smoke")
    assert code == 3
    assert failures(store) == {"slow": "deadline"}
    assert [each for each in psutil.process_iter(["cmdline"]) if marker in (each.info["cmdline"] or ())] == []


def test_what_cannot_be_executed_is_a_cell_that_was_not_started(forge, store, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    assert forge(small_matrix(broken=[str(broken)]), "--profile", "smoke")[0] == 3
    assert failures(store) == {"broken": "not-started"}


def test_what_a_record_calls_enforced_is_what_a_launch_meets(forge, store):
    asks = """
    import os, resource
    print(resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_CORE),
          len(os.sched_getaffinity(0)), file=sys.stderr)
    sys.exit(1)
    """
    forge(small_matrix(asks=program(asks)), "--profile", "smoke")
    launch = next(json_of(each)["launch"] for each in store.records() if each.implementation == "asks")
    assert launch["limits"]["enforced"] == [
        *(["cpuset"] if sys.platform == "linux" else []),
        "deadline",
        "file-size",
        "outputs",
        *(["memory_bytes", "pids"] if sys.platform == "linux" else []),
    ]
    assert launch["stderr_tail"].split("\n")[0] == f"({2**29}, {2**29}) (0, 0) 1"


def test_where_no_process_can_be_pinned_launches_run_and_no_record_calls_the_cpu_set_enforced(
    forge, store, monkeypatch
):
    # As on macOS.
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert forge(small_matrix(), "--profile", "smoke")[0] == 0
    records = store.records()
    assert records
    assert not any("cpuset" in each.launch.limits.enforced for each in records)


def test_the_page_shows_how_the_log_of_a_failed_launch_ended_and_nothing_breaks_it(forge, store):
    evil = "print('\\x1b[31m| <b> ```\\n# no heading\\n\\u202e\\x07last', file=sys.stderr)\nsys.exit(7)"
    _, out, err = forge(small_matrix(evil=program(evil)), "double", "--profile", "smoke")
    assert all(each.isprintable() or each == "\n" for each in out + err)
    section = out.split("### Failed, ")[1]
    assert "evil, all cases, seed 1: exit-code: exit code 7; stderr ends: last" in section
    fenced = section.split("````text\n")[1].split("\n````")[0]
    assert [line.strip() for line in fenced.splitlines()] == ["[31m| <b> ```", "# no heading", "last"]
    log = next(line.removeprefix("Log: ") for line in section.splitlines() if line.startswith("Log: "))
    assert (store.root / log).read_text().endswith("last\n")


def test_a_failed_program_keeps_what_it_said_wrongly_before_it_ended(forge, store):
    speaks = "print('nonsense')\nprint('gave up', file=sys.stderr)\nsys.exit(7)"
    forge(small_matrix(speaks=program(speaks)), "--profile", "smoke")
    detail = next(each.failure.detail for each in store.records() if each.implementation == "speaks")
    said = "said before: stdout holds a line that is not JSON: nonsense"
    assert detail == f"exit code 7; stderr ends: gave up; {said}"


def test_a_program_that_is_not_there_is_left_out_by_name(forge, store):
    code, _, err = forge(small_matrix(absent=["no-such-program-anywhere"]), "--profile", "smoke")
    assert code == 0
    assert "left out: double/absent" in err
    assert {record.implementation for record in store.records()} == {"plain"}


def test_without_a_reference_nothing_is_compared_and_nothing_passes(forge, store):
    data = small_matrix(other=program(DOUBLER))
    data["benchmarks"]["double"]["implementations"]["plain"]["command"] = program("sys.exit(9)")
    code, _, _ = forge(data, "--profile", "smoke")
    assert code == 3
    assert failures(store) == {"plain": "exit-code", "other": "no-reference"}


def test_a_failed_cell_is_run_again_at_the_next_call(forge):
    data = small_matrix(bent=program("sys.exit(1)"))
    forge(data, "--profile", "smoke")
    _, _, err = forge(data, "--profile", "smoke")
    assert "2 cells run, 2 reused, 2 failed" in err


def test_stderr_is_kept_as_a_log(forge, store):
    forge(
        small_matrix(loud=program(DOUBLER + "\nprint('remember me', file=sys.stderr)")), "--profile", "smoke"
    )
    record = next(each for each in store.records() if each.implementation == "loud")
    assert "remember me" in record.launch.stderr_tail
    assert "remember me" in store.log_path(record.launch.id).read_text()


def test_an_altered_record_is_found_and_named(forge, store):
    forge(small_matrix(), "--profile", "smoke")
    victim = next(store.records_directory.glob("*/*.json"))
    data = json.loads(victim.read_text())
    data["measurement"]["metrics"]["seconds"][0] *= 0.9
    victim.write_text(json.dumps(data))
    code, _, err = forge(small_matrix(), "--profile", "smoke")
    assert code == 18
    assert str(victim) in err
    assert "altered" in err


def test_the_plan_starts_nothing_and_says_why(forge, store):
    code, out, _ = forge(small_matrix(absent=["no-such-program-anywhere"]), "plan", "--all")
    assert code == 0
    assert "run       double n=4 plain" in out
    assert "leave out double n=4 absent" in out
    assert not store.root.exists()
    _, out, _ = forge(small_matrix(), "plan", "--json")
    assert {each["decision"] for each in json.loads(out)["cells"]} == {"run"}


def test_results_that_cannot_be_written_are_said_before_anything_runs(write_matrix, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    code = main(
        [
            "--matrix",
            str(write_matrix(small_matrix())),
            "--results",
            str(tmp_path / "file"),
            "--executor",
            "local",
        ]
    )
    assert code == 8
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (["plam"], 'did you mean "plan"?'),
        (["--profile", "quik"], 'did you mean "quick"?'),
        (["--only", "doubel"], 'did you mean "double"?'),
        (["--only", "double/*/smal"], "selects nothing"),
        (["--arch", "riscv"], "invalid choice"),
        (["--seeds", "a,b"], "--seeds"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_mistake_on_the_command_line_is_three_lines_and_exit_code_2(forge, arguments, needle):
    code, out, err = forge(small_matrix(), *arguments)
    assert code == 2
    assert needle in err
    assert "why:" in err
    assert "to do:" in err
    assert "Traceback" not in err
    assert out == ""


def test_options_may_stand_before_the_command(forge, store):
    code, out, _ = forge(small_matrix(), "--profile", "smoke", "plan")
    assert code == 0
    assert "; 1 launch\n" in out


def test_naming_a_benchmark_prints_its_page_on_stdout(forge):
    code, out, _ = forge(small_matrix(), "double", "--profile", "smoke")
    assert code == 0
    assert "Doubling numbers" in out
    assert Path("results").name not in out.splitlines()[0]


def test_rendering_shows_what_the_folder_holds_and_a_run_what_is_of_today(forge):
    forge(small_matrix(other=program(DOUBLER)))
    today = small_matrix(other=program(DOUBLER + "# otherwise the same\n"))
    _, rendered, _ = forge(today, "render", "--only", "double")
    _, after_a_run, _ = forge(today, "--only", "double/plain")
    assert "other" in rendered
    assert "ot run" not in rendered
    assert "Not run: " in after_a_run


# Like NumPy at the end of a process, it may not even notice.
FILLER = """
for case, parameters in pairs:
    (arguments.output / case).mkdir(parents=True)
    try:
        with (arguments.output / case / "y.npy").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65536))
    except OSError:
        sys.exit({code})
"""


@pytest.fixture
def small_temporary_disk(tmp_path, monkeypatch) -> Iterator[None]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "forge-bench-test", disk], check=True)
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can only be mounted by root")
@pytest.mark.usefixtures("small_temporary_disk")
@pytest.mark.parametrize("code", [0, 1])
def test_a_full_disk_of_the_host_fails_no_cell(forge, store, code):
    ended, _, err = forge(small_matrix(other=program(FILLER.replace("{code}", str(code)))), "--seeds", "1")
    assert ended == NoSpace.exit_code, err
    assert failures(store) == {}
    assert {record.implementation for record in store.records()} == {"plain"}
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


UNREADABLE = (
    DOUBLER
    + """
    {what}.chmod(0)
"""
)
# Root may read everything, but for a root that gave up just that.
AS_ANY_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


@pytest.mark.parametrize("what", ["(arguments.output / case / 'y.npy')", "(arguments.output / case)"])
def test_outputs_that_the_runner_may_not_read_fail_their_cell_and_no_other(
    tmp_path, write_matrix, store, what
):
    matrix = write_matrix(small_matrix(other=program(UNREADABLE.replace("{what}", what))))
    words = ["--seeds", "1", "--executor", "local", "--matrix", matrix, "--results", tmp_path / "results"]
    ended = subprocess.run(
        [*AS_ANY_USER, sys.executable, "-m", "runner", "run", *words],
        cwd=Path(__file__).parents[3], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == CellsFailed.exit_code, ended.stderr
    assert failures(store) == {"other": "unreadable-output"}
    assert {record.implementation for record in store.records() if not record.failed} == {"plain"}
    assert list(tmp_path.glob("forge-bench-*")) == []


# It leaves its session, its parent and its environment behind.
DAEMON = (
    DOUBLER
    + """
    import os, subprocess
    program = "import time; time.sleep(600)  # {mark}"
    starts = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True)"
    subprocess.run(
        [sys.executable, "-c", starts, program], env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, check=True,
    )
    {ending}
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to whoever asks for them")
@pytest.mark.parametrize(("ending", "code"), [("pass", 0), ("sys.exit(1)", CellsFailed.exit_code)])
def test_a_child_that_left_its_session_and_environment_ends_with_its_launch(forge, ending, code):
    mark = uuid4().hex
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        other = program(DAEMON.replace("{mark}", mark).replace("{ending}", ending))
        ended, _, err = forge(small_matrix(other=other), "--seeds", "1")
        assert ended == code, err
        left = [
            each.info["cmdline"]
            for each in psutil.process_iter(["cmdline", "status"])
            if mark in " ".join(each.info["cmdline"] or ()) and each.info["status"] != psutil.STATUS_ZOMBIE
        ]
        assert left == []
        assert bystander.poll() is None, "it was there before, and is nobody's launch"
    finally:
        bystander.kill()
        bystander.wait()


NOSY = """
import os
unknown = sorted(name for name in os.environ if name.startswith(("SECRET", "PYTHON", "HTTP", "LD_PRE")))
if unknown != ["PYTHONPATH"] or "elsewhere" in os.environ["PYTHONPATH"] or "LC_ALL" not in os.environ:
    sys.exit(f"got {unknown}")
"""


def test_a_launch_gets_none_of_the_callers_environment_but_what_it_needs(forge, monkeypatch):
    for name in ("SECRET_TOKEN", "HTTPS_PROXY", "PYTHONSTARTUP", "PYTHONHASHSEED"):
        monkeypatch.setenv(name, "0")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    code, _, err = forge(small_matrix(nosy=program(NOSY + DOUBLER)), "--only", "double/nosy")
    assert code == 0, err


STEERING = """
sys.stderr.write("\\x1b[2J\\x1b]0;title\\x07" + chr(0x202e) + "txt.exe" + chr(0x9b) + "31m 10 %\\r 20 %\\nend\\n")
"""


def test_a_log_and_its_record_steer_no_terminal(forge, store):
    code, _, err = forge(small_matrix(other=program(STEERING + DOUBLER)), "--only", "double/other")
    assert code == 0, err
    logs = [path.read_text(encoding="utf-8") for path in (store.root / "logs").glob("double-other-*")]
    tails = [each.launch.stderr_tail for each in store.records() if each.implementation == "other"]
    assert len(logs) >= 1
    for text in (*logs, *tails):
        assert "10 %\n 20 %\nend" in text
        assert [each for each in text if not each.isprintable() and each != "\n"] == []
