"""The measurements on a machine with a GPU: which rows, how one is read, and what the page says of a record."""

import json
import sys
from pathlib import Path

import pytest

from tools.gpu import page
from tools.gpu.__main__ import _Course
from tools.gpu.measure import NO_TIME, Place, measured
from tools.gpu.record import Keeper, differences
from tools.gpu.rows import CPU, GPU, TRAININGS, TRIAL, Row, rows

ROOT = Path(__file__).parents[3]
COUNTS = {"environment_steps": 160, "gradient_steps": 99}


def measurement(row: str, device: str, loop: float, **more: object) -> dict[str, object]:
    return {
        "training": "sac",
        "row": row,
        "device": device,
        "trainings": 1,
        "round": 1,
        "seed": 1,
        "loop_seconds": loop,
        "start_to_result_seconds": loop + 10,
        "counts": COUNTS,
        "mean_return": -150.0,
        "failure": None,
    } | more


def record(*measurements: dict[str, object]) -> dict[str, object]:
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "machine": {"cpu": "A CPU", "cores": 16, "gpu": "A GPU", "driver": "1.2"},
        "versions": {"torch": "2.11.0", "jax": "0.11.2", "python": "3.12.3"},
        "lengths": {"dqn_steps": 700, "ppo_iterations": 3, "sac_steps": 3000},
        "differences": differences(list(measurements)),
        "measurements": list(measurements),
    }


def place(folder: Path) -> Place:
    return Place(root=folder, inputs=folder, lengths=TRIAL, cores=[0, 0], variables={})


def program(folder: Path, text: str) -> tuple[str, ...]:
    """A program that is told its words as the others are; `output` is its folder."""
    path = folder / "program.py"
    path.write_text(
        "import json, sys\nfrom pathlib import Path\n"
        f"output = Path(sys.argv[sys.argv.index('--output') + 1]) / 'sac'\n{text}"
    )
    return (sys.executable, str(path))


TRAINS = """
output.mkdir()
(output / 'episodes.json').write_text(json.dumps([{'step': 9, 'length': 10, 'return': -7.0}]))
index = int(output.parent.name)
metrics = {'training_seconds': 2.0 + index, 'wall_seconds': 4.5, 'repeated_seconds': 1.5}
counts = {'environment_steps': 160, 'gradient_steps': 99}
print(json.dumps({'event': 'progress'}))
print(json.dumps({'event': 'measurement', 'metrics': metrics, 'counts': counts}))
"""


def test_every_training_has_each_kind_of_row() -> None:
    found = rows(Path("torchforge"), "python3", "cuda", 16, trial=False)
    for training in TRAININGS:
        of_it = [row for row in found if row.training == training]
        assert {(row.name, row.device) for row in of_it if row.trainings == 1} == set(page._SINGLE)
        assert {(row.name, row.device) for row in of_it if row.trainings > 1} == set(page._MANY)
        assert [row.processes for row in of_it if row.processes > 1] == [16]
    assert len({(row.label, row.device) for row in found}) == len(found)


def test_a_launch_is_read_from_its_measurement_and_episodes(tmp_path: Path) -> None:
    row = Row(training="sac", name="jax", device=CPU, command=program(tmp_path, TRAINS))
    found = measured(row, 2, place(tmp_path), 30)
    assert found["failure"] is None
    assert (found["round"], found["seed"], found["mean_return"]) == (2, 2, -7.0)
    assert (found["loop_seconds"], found["start_to_result_seconds"]) == (2.0, 3.0)
    assert found["counts"] == COUNTS


def two_processes(command: tuple[str, ...]) -> Row:
    return Row(training="sac", name="ours", device=CPU, command=command, trainings=2, processes=2)


def test_processes_side_by_side_take_as_long_as_all_of_them(tmp_path: Path) -> None:
    found = measured(two_processes(program(tmp_path, TRAINS)), 2, place(tmp_path), 30)
    assert (found["trainings"], found["seed"], found["loop_seconds"]) == (2, 3, 3.0)
    assert found["start_to_result_seconds"] == found["process_seconds"]


def test_processes_that_did_different_work_are_refused(tmp_path: Path) -> None:
    command = program(tmp_path, TRAINS.replace("160", "160 + index"))
    found = measured(two_processes(command), 1, place(tmp_path), 30)
    assert found["failure"] == "LaunchError: the processes of one launch did different work"


def test_a_row_without_time_left_is_recorded(tmp_path: Path) -> None:
    keeper = Keeper(path=tmp_path / "record.json", head={})
    _Course(keeper, place(tmp_path), deadline=0.0).launch(1, two_processes(("false",)))
    assert [each["failure"] for each in keeper.measurements] == [NO_TIME]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("print('a reason', file=sys.stderr); sys.exit(3)", "LaunchError: a reason"),
        ("print('{}')", "LaunchError: 0 measurements were printed, not one"),
        ("import time; time.sleep(60)", "cut off after 1 s"),
    ],
)
def test_a_failed_launch_is_recorded_with_its_reason(tmp_path: Path, text: str, failure: str) -> None:
    row = Row(training="sac", name="jax", device=GPU, command=program(tmp_path, text))
    assert measured(row, 1, place(tmp_path), 1)["failure"] == failure


def test_a_record_is_whole_after_each_measurement(tmp_path: Path) -> None:
    keeper = Keeper(path=tmp_path / "record.json", head={"date": "2026-01-02"})
    for count in (1, 2):
        keeper.add(measurement("ours", CPU, 5.0))
        assert len(json.loads(keeper.path.read_text())["measurements"]) == count


def test_other_work_than_ours_is_said() -> None:
    other = measurement("jax", GPU, 2.0, counts={**COUNTS, "gradient_steps": 98})
    [line] = differences([measurement("ours", CPU, 5.0), other, measurement("pytorch", GPU, 9.0)])
    assert line.startswith("sac/jax on the GPU, round 1: ")


def test_a_page_has_the_tables_of_a_record() -> None:
    told = page.rewritten(
        f"# Page\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n",
        record(
            *(measurement("ours", CPU, seconds) for seconds in (5.0, 6.0, 4.0)),
            measurement("jax", GPU, 2.5, mean_return=None),
            measurement("ours", CPU, 8.0, trainings=16),
            measurement("jax", GPU, 12.8, trainings=256),
            measurement("jax-graph", GPU, 1.0, failure="LaunchError: no such flag"),
            measurement("jax", GPU, 1.0, trainings=1024, failure=NO_TIME),
            measurement("jax", GPU, 1.0, round=2, failure=NO_TIME),
        ),
    )
    assert "A GPU (driver 1.2) beside 16 cores of A CPU, 2026-01-02." in told
    assert (
        "| SAC, 3,000 steps | ours, one core | 5.00 s (4.00 to 6.00) | 15.0 s (14.0 to 16.0) | 1.00x | -150 |"
        in told
    )
    assert "| SAC, 3,000 steps | JAX, GPU | 2.50 s | 12.5 s | 0.500x | — |" in told
    assert "| SAC, 3,000 steps | ours, a core each | 16 | 8.00 s | 18.0 s | 2.00 | -150 |" in told
    assert "| SAC, 3,000 steps | JAX, GPU | 256 | 12.8 s | 22.8 s | 20.0 | -150 |" in told
    assert told.endswith(
        "* SAC, JAX, GPU, loops as CUDA graphs: LaunchError: no such flag\n"
        f"* SAC, JAX, GPU, 1,024 at once: no time was left\n{page.END}\n\nafter\n"
    )
    assert "old" not in told


def test_the_committed_page_is_what_the_newest_record_says() -> None:
    text = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")
    assert page.rewritten(text, page.newest(ROOT)) == text, (
        "write it anew: .venv/bin/python -m tools.gpu --write"
    )
