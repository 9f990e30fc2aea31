from example_records import COUNTED, dqn_records, episodes_reaching, make_record, scaled

from runner.matrix import Matrix
from runner.report.tables.pages import render_benchmark
from tables.test_pages import row

SECTION = "### One update beside the reference's"


def test_of_each_part_the_tensor_nearest_to_its_bound_speaks_over_all_seeds(matrix: Matrix) -> None:
    near = scaled("gradient.2.bias", difference="9e-05", bound="0.0001")
    far = scaled("gradient.0.weight", difference="1e-06", bound="0.0001")
    drift = {"check": "update.safetensors after.*", "passed": True, "detail": "drift", "share": 0.25}
    records = [
        make_record(
            benchmark="dqn",
            case="CartPole-v1",
            implementation="rust",
            seed=seed,
            parameters={"environment": "CartPole-v1", "steps": 5000},
            metrics={"training_seconds": 1.0},
            outputs={},
            episodes=episodes_reaching(480),
            gate=[COUNTED, near if seed == 2 else far, drift],
        )
        for seed in (1, 2, 3)
    ]
    page = render_benchmark(matrix, records, "dqn", profile="quick").split(SECTION)[1]
    assert row(page, "CartPole-v1", "rust")[2:] == [
        "—",
        "90.0 % of the bound (gradient.2.bias)",
        "—",
        r"25.0 % of the bound (after.\*)",
    ]


def test_the_reference_other_work_and_failures_have_no_such_row(matrix: Matrix) -> None:
    page = render_benchmark(matrix, dqn_records(), "dqn", profile="quick")
    table = page.split(SECTION)[1].split("###")[0]
    assert "| rust " in table
    assert "pytorch" not in table
    assert "sb3" not in table


def test_a_room_whose_updates_were_not_compared_says_nothing_of_them(matrix: Matrix) -> None:
    record = make_record(
        benchmark="dqn",
        case="CartPole-v1",
        implementation="pytorch",
        parameters={"environment": "CartPole-v1", "steps": 5000},
        metrics={"training_seconds": 1.0},
        outputs={},
        episodes=episodes_reaching(480),
    )
    assert SECTION not in render_benchmark(matrix, [record], "dqn", profile="quick")
