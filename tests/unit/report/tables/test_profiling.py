"""The profiling report: phases from records, held to the whole, and recommendations beside what was measured."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from example_records import COUNTED, MATRIX, example_matrix, make_record, referee_facts, times
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from runner.cli.main import main
from runner.matrix import Matrix, load_matrix
from runner.records.record import Record
from runner.records.store import Store
from runner.report.tables.pages import pages_of_profiling, render_pages
from runner.report.tables.profiling.measured import Profiled, profiled
from runner.report.tables.profiling.recommendations import NOT_MEASURED, recommendations
from runner.report.tables.selection import rooms

SVG = "{http://www.w3.org/2000/svg}"
NAME = "phases-ppo"
IMPLEMENTATIONS = """
    implementations:
      pytorch: {command: [python3, ppo], reference: true, determinism: machine}
      torchforge: {command: [python3, ours], side: ours, determinism: machine}
      torchforge-phases:
        command: [python3, ours, --phases]
        side: ours
        determinism: machine
        differs: [it reads a clock at every border of its phases]
      torchforge-arrays: {command: [python3, ours, --arrays], side: ours, determinism: machine}
      torchforge-compile: {command: [python3, ours, --compiled], side: ours, determinism: machine}
"""
BENCHMARK = """
  phases-ppo:
    title: Phases of PPO
    kind: training
    headline: training_seconds
    inputs: [python3, -m, baselines.inputs, ppo]
    counts: {environment_steps: iterations * environments * rollout_steps}
    gate: {outputs: {update.safetensors: {scaled: 1.0e-4}}, episodes: episodes.json}
    returns: {episodes: 3}
    cases:
      CartPole-v1: {environments: 8, rollout_steps: 128}
      32-environments: {environments: 32, rollout_steps: 32}
    profiles:
      smoke: {native: {iterations: 2}, emulated: {iterations: 1}}
      quick: {native: {iterations: 4}, emulated: {iterations: 1}}
"""
CASES = {
    "CartPole-v1": {"environments": 8, "rollout_steps": 128},
    "32-environments": {"environments": 32, "rollout_steps": 32},
}
SHARES = {
    ("pytorch", "update"): 0.45,
    ("pytorch", "acting"): 0.35,
    ("rust", "environment"): 0.125,
    ("python", "conversion"): 0.055,
    ("python", "other"): 0.02,
}


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return example_matrix(tmp_path_factory.mktemp("phases"), MATRIX + BENCHMARK + IMPLEMENTATIONS)


def record(
    name: str,
    seconds: float,
    seed: int = 1,
    shares: Mapping[tuple[str, str], float] | None = None,
    *,
    case: str = "CartPole-v1",
    benchmark: str = NAME,
) -> Record:
    counts = {"environment_steps": 4096, "gradient_steps": 32}
    metrics = {"wall_seconds": seconds + 1, "initialisation_seconds": 1.0, "training_seconds": seconds}
    for (layer, phase), share in (shares or {}).items():
        metrics[f"phase_{layer}_{phase}_seconds"] = share * seconds
    if shares is not None:
        counts |= {"laps_pytorch_update": 32, "laps_rust_environment": 512}
        counts |= {"crossings_environment_step": 512, "crossings_advantages": 4}
    made = make_record(
        benchmark=benchmark,
        case=case,
        implementation=name,
        seed=seed,
        parameters={**CASES[case], "iterations": 4},
        metrics=metrics,
        counts=counts,
        determinism="machine",
        outputs={},
        episodes=[],
        gate=[COUNTED],
    )
    return made


def records(
    shares: Mapping[tuple[str, str], float] = SHARES, *, last: Mapping[tuple[str, str], float] | None = None
) -> list[Record]:
    """Five seeds of each; the instrumented run's last seed may have other shares."""
    found = []
    for seed in range(1, 6):
        for name, centre in (("pytorch", 4.0), ("torchforge", 2.0), ("torchforge-arrays", 1.9)):
            found.append(record(name, times(centre, seed, 1)[0], seed))
        mine = last if last is not None and seed == 5 else shares
        found.append(record("torchforge-phases", times(2.1, seed, 1)[0], seed, mine))
    return found


def profile_of(matrix: Matrix, found: list[Record]) -> Profiled:
    [room, *_] = rooms(matrix, found, NAME, profile="quick")
    [profile] = profiled(room)
    return profile


def page_of(matrix: Matrix, found: list[Record]) -> str:
    page, *_ = pages_of_profiling(matrix, found, profile="quick")
    return page.text


def test_the_report_and_its_plot_are_the_golden_ones(
    matrix: Matrix, assert_golden: Callable[[str, str], None]
) -> None:
    pages = {each.file: each.text for each in pages_of_profiling(matrix, records(), profile="quick")}
    assert set(pages) == {"profiling.md", "phases-ppo-shares.svg"}
    assert_golden("profiling.md", pages["profiling.md"])
    assert_golden("phases-ppo-shares.svg", pages["phases-ppo-shares.svg"])


def test_every_rendering_has_the_report_where_a_run_was_instrumented(matrix: Matrix) -> None:
    pages = {each.file: each.text for each in render_pages(matrix, records(), profile="quick")}
    assert {"profiling.md", "phases-ppo-shares.svg"} <= set(pages)
    assert "(phases-ppo-shares.svg)" in pages["phases-ppo.md"]
    assert "(profiling.md)" in pages["phases-ppo.md"]
    assert "(profiling.md)" in pages["overview.md"]
    plain = [each for each in records() if each.implementation != "torchforge-phases"]
    assert "profiling.md" not in {each.file for each in render_pages(matrix, plain, profile="quick")}
    assert pages_of_profiling(matrix, plain, profile="quick") == ()


def test_phases_are_ranked_by_their_share_and_add_up_to_the_training(matrix: Matrix) -> None:
    profile = profile_of(matrix, records())
    assert [each.name for each in profile.phases] == [
        *("update", "acting", "environment", "conversion", "other")
    ]
    assert [each.share.value for each in profile.phases] == pytest.approx(list(SHARES.values()))
    assert profile.missed < 1e-9
    assert profile.other == pytest.approx(0.02)
    assert profile.adds_up
    assert profile.layer("PyTorch").value == pytest.approx(0.8)
    assert (profile.phases[2].stretches, profile.phases[3].stretches) == (512, 0)


def test_what_phases_take_together_is_a_figure_of_sums_and_no_sum_of_figures(matrix: Matrix) -> None:
    pairs = ((0.1, 0.4), (0.1, 0.4), (0.4, 0.1), (0.4, 0.1), (0.1, 0.1))
    found = [
        record("torchforge-phases", 2.0, seed, {("pytorch", "acting"): a, ("pytorch", "update"): b})
        for seed, (a, b) in enumerate(pairs, start=1)
    ]
    profile = profile_of(matrix, found)
    assert [each.share.value for each in profile.phases] == pytest.approx([0.1, 0.1])
    assert profile.layer("PyTorch").value == pytest.approx(0.5)
    assert profile.share_of("acting", "update").value == pytest.approx(0.5)


def test_the_worst_process_decides_whether_enough_has_a_name(matrix: Matrix) -> None:
    worse = {**SHARES, ("pytorch", "update"): 0.4, ("python", "other"): 0.07}
    profile = profile_of(matrix, records(last=worse))
    assert profile.other == pytest.approx(0.07)
    assert not profile.adds_up


def test_the_clock_has_no_cost_against_another_run(matrix: Matrix) -> None:
    def led(each: Record, nonce: str) -> Record:
        return msgspec.structs.replace(each, referee=referee_facts(nonce=nonce * 16))

    assert profile_of(matrix, [led(each, "0") for each in records()]).cost is not None
    apart = [led(each, "1" if each.implementation == "torchforge-phases" else "0") for each in records()]
    assert profile_of(matrix, apart).cost is None


def test_a_recommendation_is_measured_without_an_instrumented_run_beside_it(tmp_path: Path) -> None:
    other = (BENCHMARK + IMPLEMENTATIONS).replace("phases-ppo", "phases-sac").replace("-arrays", "-foreach")
    both = example_matrix(tmp_path, MATRIX + BENCHMARK + IMPLEMENTATIONS + other)
    plain = [
        record(name, times(centre, seed, 1)[0], seed, benchmark="phases-sac")
        for seed in range(1, 6)
        for name, centre in (("pytorch", 4.0), ("torchforge", 2.0), ("torchforge-foreach", 1.0))
    ]
    line = next(line for line in page_of(both, [*records(), *plain]).splitlines() if "by foreach" in line)
    assert NOT_MEASURED not in line
    assert re.search(r"\| (49|50)\.\d % \(", line)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({("pytorch", "update"): 0.42}, "3 % of the time is missing"),
        ({("pytorch", "update"): 0.48}, "3 % too much"),
        ({("pytorch", "update"): 0.4, ("python", "other"): 0.07}, "7 % have no name"),
    ],
)
def test_a_division_that_does_not_add_up_is_not_to_be_trusted(
    matrix: Matrix, changed: Mapping[tuple[str, str], float], why: str
) -> None:
    found = records({**SHARES, **changed})
    assert not profile_of(matrix, found).adds_up, why
    assert "not to be trusted" in page_of(matrix, found)
    assert "not to be trusted" not in page_of(matrix, records())


def test_the_worst_process_decides_whether_phases_add_up(matrix: Matrix) -> None:
    found = records(last={**SHARES, ("pytorch", "update"): 0.3})
    assert profile_of(matrix, found).missed == pytest.approx(0.15)


def test_the_clocks_cost_is_the_instrumented_total_over_the_uninstrumented_one(matrix: Matrix) -> None:
    cost = profile_of(matrix, records()).cost
    assert cost is not None
    assert cost.value == pytest.approx(2.1 / 2.0, rel=0.03)
    assert cost.low is not None
    alone = [each for each in records() if each.implementation != "torchforge"]
    assert profile_of(matrix, alone).cost is None


def test_crossings_are_shown_for_a_rollout_and_for_a_gradient_step(matrix: Matrix) -> None:
    page = page_of(matrix, records())
    assert "calls a rollout of 1,024 environment steps" in page
    assert "| environment step         |     512 | 128 " in page
    assert "| all                      |     516 | 129 " in page


def test_a_recommendation_has_its_estimate_beside_the_measured_effect(matrix: Matrix) -> None:
    rows = [line for line in page_of(matrix, records()).splitlines() if line.startswith("|")]
    arrays = next(line for line in rows if "without a list" in line)
    assert "less than 1 % of the time" in arrays
    found = re.search(r"\| (-?\d+\.\d) % \((-?\d+\.\d) to (-?\d+\.\d)\)", arrays)
    assert found is not None
    # 1.9 s instead of 2 s, with a scatter of one percent.
    assert float(found[2]) < float(found[1]) < float(found[3])
    assert float(found[1]) == pytest.approx(5, abs=2)
    assert "torchforge-arrays against torchforge" in arrays
    # Nobody ran it, nobody can, and what the phases allow.
    assert NOT_MEASURED in next(line for line in rows if "compile for PPO" in line)
    assert NOT_MEASURED in next(line for line in rows if "a GPU" in line)
    assert "at most 18.0 %: environment, conversion" in next(
        line for line in rows if "many environment" in line
    )


def test_a_variant_of_other_work_has_both_times_and_no_ratio(matrix: Matrix) -> None:
    other = [
        record("torchforge", times(1.5, seed, 1)[0], seed, case="32-environments") for seed in range(1, 5)
    ]
    page = page_of(matrix, [*records(), *other])
    line = next(line for line in page.splitlines() if "32 environments or more" in line)
    assert re.search(
        r"\| 1\.5\d s \(.*\) instead of 2\.0\d s \(.*\): not ranked +\| +4 \| work differs:", line
    )
    # Totals are those of the training that is divided.
    assert "| torchforge        | 3.0" in page
    assert "| torchforge        | 2.5" not in page
    alone = next(line for line in page_of(matrix, records()).splitlines() if "32 environments or" in line)
    assert f"| {NOT_MEASURED} " in alone


def test_an_effect_of_too_few_processes_says_so(matrix: Matrix) -> None:
    few = [each for each in records() if each.cell.seed <= 2]
    rows = [line for line in page_of(matrix, few).splitlines() if line.startswith("|")]
    assert "n<5: not ranked" in next(line for line in rows if "without a list" in line).replace("\\", "")
    assert "n<5: not ranked" in next(line for line in rows if line.count(" s (") == 2).replace("\\", "")


def test_all_eleven_recommendations_are_there_and_name_what_the_matrix_has() -> None:
    _, found = recommendations()
    assert [each.number for each in found] == list(range(1, 12))
    benchmarks = load_matrix(Path(__file__).parents[4] / "matrix.yaml").benchmarks
    for each in found:
        named = [name for name in (each.base, each.variant, each.profiled) if name is not None]
        assert set(named) <= set(benchmarks[each.benchmark].implementations if each.benchmark else ()), each
        assert (each.variant is None) != (each.why is None)
        if each.benchmark is not None and each.variant_case is not None:
            found_in = benchmarks[each.benchmark]
            assert each.variant_case in list(found_in.cases)[1:]
            assert each.variant_case not in found_in.implementations[str(each.variant)].without
            assert str(each.remark).startswith("work differs: ")


def test_every_instrumented_run_of_the_matrix_divides_one_that_is_there_and_is_unranked() -> None:
    benchmarks = load_matrix(Path(__file__).parents[4] / "matrix.yaml").benchmarks
    for benchmark in (benchmarks["phases-ppo"], benchmarks["phases-sac"]):
        names = [name for name in benchmark.implementations if name.endswith("-phases")]
        assert names == ["pytorch-phases", "torchforge-phases"]
        for name in names:
            assert name.removesuffix("-phases") in benchmark.implementations
            assert benchmark.implementations[name].differs


def test_times_that_nobody_may_rank_make_no_recommendation(matrix: Matrix) -> None:
    unknown = [
        msgspec.structs.replace(
            each, execution=msgspec.structs.replace(each.execution, kind=type(each.execution.kind)("unknown"))
        )
        for each in records()
    ]
    page = page_of(matrix, unknown)
    assert "These times are unranked" in page
    assert "Recommendations" not in page


@given(st.dictionaries(st.sampled_from(sorted(SHARES)), st.floats(0, 1e300), min_size=1))
@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bar_lies_outside_whatever_a_record_says(
    matrix: Matrix, shares: Mapping[tuple[str, str], float]
) -> None:
    [instrumented] = [
        msgspec.structs.replace(
            each,
            measurement=msgspec.structs.replace(
                each.measurement,
                metrics={"training_seconds": 2.0}
                | {f"phase_{layer}_{name}_seconds": value for (layer, name), value in shares.items()},
            ),
        )
        for each in [record("torchforge-phases", 2.0, 1, SHARES)]
        if each.measurement is not None
    ]
    _, plot = pages_of_profiling(matrix, [instrumented], profile="quick")
    root = ElementTree.fromstring(plot.text)  # noqa: S314 (our own)
    for shape in root.iter(f"{SVG}rect"):
        assert float(str(shape.get("x"))) + float(str(shape.get("width"))) <= float(str(root.get("width")))


def test_the_command_writes_the_report_and_its_plot_beside_the_tables_to_a_file_and_to_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example_matrix(tmp_path, MATRIX + BENCHMARK + IMPLEMENTATIONS)
    for each in records():
        Store(tmp_path / "results").add(each)
    where = ["--matrix", str(tmp_path / "matrix.yaml"), "--results", str(tmp_path / "results")]
    assert main(["report", "phases", *where]) == 0
    folder = tmp_path / "results/tables/quick"
    beside = (folder / "profiling.md").read_text(encoding="utf-8")
    assert "The bottleneck of torchforge" in beside
    assert main(["report", "phases", *where, "--output", str(tmp_path / "one.md")]) == 0
    assert (tmp_path / "one.md").read_text(encoding="utf-8") == beside
    plots = [each / "phases-ppo-shares.svg" for each in (folder, tmp_path)]
    assert plots[0].read_text(encoding="utf-8") == plots[1].read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", "phases", *where, "--output", "-"]) == 0
    assert capsys.readouterr().out == beside


def test_the_command_says_what_to_run_where_nothing_was_instrumented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example_matrix(tmp_path, MATRIX + BENCHMARK + IMPLEMENTATIONS)
    Store(tmp_path / "results").add(record("torchforge", 2.0))
    where = ["--matrix", str(tmp_path / "matrix.yaml"), "--results", str(tmp_path / "results")]
    assert main(["report", "phases", *where]) == 9
    assert "--only 'phases-*' --profile quick" in capsys.readouterr().err
    assert not (tmp_path / "results/tables").exists()
