"""Standard streams that break: readers that leave, vanished terminals, full disks, closed descriptors."""

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import DOUBLER, program, small_matrix
from pseudo_terminal import ROOT, Terminal

from runner.records.store import Store
from runner.system.errors import CellsFailed, Interrupted, NoSpace, OutputLost, UsageError
from runner.system.output_file import write_output
from runner.system.standard_streams import READER_LEFT

COMMAND = [sys.executable, "-m", "runner"]
# It reports progress for a second, so that a moving line is drawn while its reader leaves.
SLOW = (
    """
for done in range(10):
    print(json.dumps({"event": "progress", "done": done, "total": 10, "unit": "steps"}), flush=True)
    time.sleep(0.1)
"""
    + DOUBLER
)


def run_command(write_matrix, results: Path, *arguments: str, body: str = DOUBLER) -> list[str]:
    matrix = write_matrix(small_matrix(other=program(body)))
    where = ["--matrix", str(matrix), "--results", str(results), "--executor", "local"]
    return [*COMMAND, *where, "--profile", "smoke", *arguments]


def without_reader() -> int:
    """A pipe's end to write to that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def shell(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``forge-bench`` with streams as a shell makes them."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", *COMMAND, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def stored(results: Path) -> set[tuple[str, str, bool]]:
    return {(each.implementation, each.case, each.failed) for each in Store(results).records()}


EVERY_CELL = {(name, case, False) for name in ("plain", "other") for case in ("n=4", "n=8")}


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["plan", "--json", "--executor", "local"]])
def test_a_reader_of_results_that_left_ends_a_command_as_it_ends_other_programs(arguments):
    writing = without_reader()
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120
    )
    os.close(writing)
    assert done.returncode == READER_LEFT == 141
    assert done.stderr == b""


@pytest.mark.parametrize("arguments", [["list"], ["--help"]])
def test_results_that_meet_a_full_disk_are_told_on_stderr_with_a_code_of_their_own(arguments):
    done = shell(">/dev/full", *arguments)
    assert done.returncode == OutputLost.exit_code == 22
    assert done.stderr.splitlines()[1].strip() == f"why: {os.strerror(errno.ENOSPC)}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_closed_is_as_good_as_dev_null(closed):
    done = shell(closed, "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert ("profiles:" in done.stdout) == (">&-" not in closed.replace("2>&-", ""))
    assert shell(closed, "lst").returncode == UsageError.exit_code


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
def test_no_file_of_a_run_gets_the_number_of_a_closed_stream(write_matrix, tmp_path, closed):
    command = run_command(write_matrix, tmp_path / "results")
    done = shell(closed, *command[len(COMMAND) :])
    assert done.returncode == 0
    # Each record reads to its own seal: no message was written into any.
    assert stored(tmp_path / "results") == EVERY_CELL


@pytest.mark.parametrize("body", [DOUBLER, SLOW], ids=["at once", "while it runs"])
def test_a_run_goes_on_to_its_end_where_nobody_reads_its_messages(write_matrix, tmp_path, body):
    writing = without_reader()
    command = run_command(write_matrix, tmp_path / "results", body=body)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=writing, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == 0
    assert b"Doubling numbers" in done.stdout
    assert stored(tmp_path / "results") == EVERY_CELL


def test_a_run_whose_two_streams_lost_their_reader_stores_every_cell_and_is_no_success(
    write_matrix, tmp_path
):
    writing = without_reader()
    command = run_command(write_matrix, tmp_path / "results")
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=writing, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == READER_LEFT
    assert stored(tmp_path / "results") == EVERY_CELL


def test_failed_cells_say_more_than_a_reader_that_left(write_matrix, tmp_path):
    writing = without_reader()
    command = run_command(write_matrix, tmp_path / "results", body="raise SystemExit(3)")
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == CellsFailed.exit_code
    assert b"2 of 4 cells failed" in done.stderr


def test_a_terminal_that_vanishes_without_a_signal_costs_its_messages_and_no_cell(write_matrix, tmp_path):
    terminal = Terminal(run_command(write_matrix, tmp_path / "results", body=SLOW), columns=80)
    terminal.read_until("launches to run")
    terminal.hang_up()
    assert terminal.process.wait(timeout=60) == OutputLost.exit_code
    assert stored(tmp_path / "results") == EVERY_CELL


def test_a_terminal_that_hangs_up_stops_the_run_in_order_and_fails_no_launch(write_matrix, tmp_path):
    # So slow that the run is not over before the terminal vanishes, however busy the machine is.
    command = run_command(write_matrix, tmp_path / "results", body=SLOW.replace("range(10)", "range(600)"))
    terminal = Terminal(command, columns=80, controlling=True)
    terminal.read_until("double other")
    terminal.hang_up()
    assert terminal.process.wait(timeout=60) == Interrupted.exit_code
    assert not any(failed for _, _, failed in stored(tmp_path / "results"))


def test_a_pipe_that_does_not_wait_gets_all_of_the_results():
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    with subprocess.Popen([*COMMAND, "completion", "bash"], cwd=ROOT, stdout=writing) as process:
        os.close(writing)
        time.sleep(2)
        with os.fdopen(reading, "rb") as pipe:
            shown = pipe.read()
        assert process.wait(timeout=60) == 0
    assert shown.decode() == shell("", "completion", "bash").stdout
    assert len(shown) > 4096, "too short to fill the pipe: the test needs more of it"


def test_a_character_that_the_encoding_lacks_is_no_traceback(tmp_path):
    strange = tmp_path / "größe"
    done = subprocess.run(
        [*COMMAND, "init", str(strange)],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    done.stdout.decode("ascii"), done.stderr.decode("ascii")


def test_an_output_may_be_a_pipe_of_the_shell():
    reading, writing = os.pipe()
    write_output(Path(f"/dev/fd/{writing}"), b"content")
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"content"


def test_an_output_that_is_named_like_a_pipe_and_loses_its_reader_is_an_error_that_names_it(tmp_path):
    writing = without_reader()
    try:
        with pytest.raises(OutputLost, match=f"/dev/fd/{writing}"):
            write_output(Path(f"/dev/fd/{writing}"), b"content")
    finally:
        os.close(writing)
    with pytest.raises(OSError, match="No space"):
        write_output(Path("/dev/full"), b"content")
    assert NoSpace.exit_code != OutputLost.exit_code
