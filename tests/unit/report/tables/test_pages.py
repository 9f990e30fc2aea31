import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from example_records import (
    MACHINE,
    MATRIX,
    STATE,
    digest,
    dqn_records,
    example_matrix,
    gae_records,
    make_record,
    referee_facts,
    times,
)
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Matrix
from runner.records.record import Record
from runner.report.tables.folds import without_folds
from runner.report.tables.pages import render_benchmark, render_overview, render_pages

FEW = examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])


def page(matrix: Matrix, records: Sequence[Record], name: str, profile: str = "quick") -> str:
    pages = render_pages(matrix, records, profile=profile)
    return next(each.text for each in pages if each.file == f"{name}.md")


def row(text: str, *starts: str) -> list[str]:
    """The cells of the first row whose first cells are ``starts``."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if tuple(cells[: len(starts)]) == starts:
            return cells
    raise AssertionError(f"no row {starts} in\n{text}")


def gae(
    centre: float,
    implementation: str = "torchforge",
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    **changes: object,
) -> list[Record]:
    return [
        make_record(
            implementation=implementation,
            seed=seed,
            metrics={"seconds": times(centre, seed)},
            **changes,  # type: ignore[arg-type]
        )
        for seed in seeds
    ]


@pytest.mark.parametrize("name", ["overview", "summary", "gae", "dqn", "methodology"])
def test_pages_are_the_golden_ones(
    matrix: Matrix, assert_golden: Callable[[str, str], None], name: str
) -> None:
    assert_golden(f"{name}.md", page(matrix, gae_records() + dqn_records(), name))


def test_the_plot_beside_a_page_is_the_golden_one(
    matrix: Matrix, assert_golden: Callable[[str, str], None]
) -> None:
    pages = render_pages(matrix, gae_records() + dqn_records(), profile="quick")
    [plot] = [each.text for each in pages if each.file == "gae.svg"]
    assert_golden("gae.svg", plot)
    # A benchmark without a ranked ratio has no plot, and its page shows none.
    empty = render_pages(matrix, [], profile="quick")
    assert [each.ending for each in empty] == ["md"] * len(empty)
    assert "![" not in "".join(each.text for each in empty)


def test_a_page_begins_with_its_verdict(matrix: Matrix) -> None:
    records = gae(1e-3, "numpy") + gae(1e-6, "torchforge") + gae(2e-6, "rlox")
    title, _, verdict, *_ = page(matrix, records, "gae").splitlines()
    assert title.startswith("# ")
    assert verdict == "**Ours is faster than every competitor in 1 of 1 case of operations.**"
    verdict = page(matrix, records[:7], "gae").splitlines()[2]
    assert verdict == "**Nothing is ranked yet: a ratio needs five native processes of both sides.**"


def test_pages_without_any_record_are_the_golden_ones(
    matrix: Matrix, assert_golden: Callable[[str, str], None]
) -> None:
    pages = render_pages(matrix, [], profile="quick")
    assert [each.name for each in pages] == ["overview", "gae", "dqn", "methodology"]
    assert_golden("empty.md", "\n".join(each.text for each in pages if each.name != "methodology"))


def test_parts_are_rendered_alone_as_in_the_whole(matrix: Matrix) -> None:
    records = gae_records() + dqn_records()
    assert render_benchmark(matrix, records, "dqn", profile="quick") == page(matrix, records, "dqn")
    assert render_overview(matrix, records, profile="quick") == page(matrix, records, "overview")


def test_what_an_implementation_compiles_before_its_clock_starts_has_a_column_where_one_does(
    matrix: Matrix,
) -> None:
    plain = dqn_records()
    header = row(page(matrix, plain, "dqn"), "case", "implementation", "initialisation")
    assert "of it compiling" not in header
    compiled = [
        make_record(
            benchmark="dqn",
            case="CartPole-v1",
            implementation="rust",
            seed=seed,
            parameters={"environment": "CartPole-v1", "steps": 5000},
            metrics={
                "wall_seconds": 60.0,
                "initialisation_seconds": 50.0,
                "compile_seconds": 40.0,
                "training_seconds": 8.0,
            },
            counts={"environment_steps": 5000, "gradient_steps": 500},
            episodes=plain[0].episodes,
        )
        for seed in range(1, 6)
    ]
    others = [each for each in plain if each.implementation != "rust"]
    text = page(matrix, [*others, *compiled], "dqn")
    column = row(text, "case", "implementation", "initialisation").index("of it compiling")
    assert row(text, "CartPole-v1", "rust", "50.0 s (50.0 to 50.0)")[column] == "40.0 s (40.0 to 40.0)"
    assert row(text, "CartPole-v1", "rust", "8.00 s (8.00 to 8.00)")[3] == "60.0 s (60.0 to 60.0)"
    reference = next(line for line in text.splitlines() if "| pytorch " in line and "| 500 " in line)
    assert reference.split("|")[1:][column].strip() == "—"


@FEW
@given(data=st.data())
def test_the_order_of_the_records_changes_nothing(matrix: Matrix, data: st.DataObject) -> None:
    records = gae_records() + dqn_records()
    shuffled = data.draw(st.permutations(records))
    assert render_pages(matrix, shuffled, profile="quick") == render_pages(matrix, records, profile="quick")


@FEW
@given(seconds=st.floats(min_value=1e-9, max_value=1e3), seed=st.integers(min_value=6, max_value=99))
def test_the_times_of_a_failed_record_never_contribute(matrix: Matrix, seconds: float, seed: int) -> None:
    records = gae(1e-3, "numpy") + gae(1e-4)
    failed = gae(seconds, seeds=[seed], failure=("wrong-output", "off"))
    before = row(page(matrix, records, "gae"), "T=128", "torchforge")
    after = row(page(matrix, records + failed, "gae"), "T=128", "torchforge")
    assert after[2:6] == before[2:6]
    assert after[6].startswith("1 of 6 failed: wrong-output: off")


@FEW
@given(seconds=st.floats(min_value=1e-9, max_value=1e3), kind=st.sampled_from(["emulated", "unknown"]))
def test_times_that_are_not_native_are_never_ranked(matrix: Matrix, seconds: float, kind: str) -> None:
    parameters = {"batch": 1, "length": 128, "repetitions": 1 if kind == "emulated" else 9}
    records = [
        record
        for name, centre in (("numpy", 1.0), ("torchforge", seconds))
        for record in gae(centre, name, platform="arm64", execution=kind, parameters=parameters)
    ]
    text = page(matrix, records, "gae")
    assert row(text, "T=128", "torchforge")[4:6] == ["not ranked", "not ranked"]
    assert not re.search(r"[0-9]x|faster,|slower,", text)
    assert "| not ranked |" in text.split("### Memory")[1]
    assert "not ranked" in row(page(matrix, records, "overview"), "gae", "T=128")[2]


def test_an_emulated_cell_of_the_overview_says_that_its_gate_passed(matrix: Matrix) -> None:
    assert (
        row(page(matrix, gae_records(), "overview"), "gae", "T=128")[3] == "gate passed, emulated: not ranked"
    )


def test_a_slower_row_says_so_and_the_overview_lists_it(matrix: Matrix) -> None:
    records = gae(1e-4, "numpy") + gae(1e-3)
    assert " slower" in row(page(matrix, records, "gae"), "T=128", "torchforge")[4]
    overview = page(matrix, records, "overview")
    assert " slower" in row(overview, "gae", "T=128")[2]
    assert "- torchforge: gae T=128 on amd64" in overview


def test_a_beaten_reference_is_not_the_whole_headline(matrix: Matrix) -> None:
    records = gae(1e-2, "numpy") + gae(1e-4) + gae(1e-5, "rlox", target="peers", determinism="machine")
    cell = row(page(matrix, records, "overview"), "gae", "T=128")[2]
    assert "faster, torchforge" in cell
    assert "slower, against rlox" in cell


def test_the_headline_is_against_the_faster_of_the_references_variants(tmp_path: Path) -> None:
    tuned = "      numpy-tuned: {command: [python3, tuned], side: reference}\n      rust: {command: [torchforge, gae]"
    matrix = example_matrix(tmp_path, MATRIX.replace("      rust: {command: [torchforge, gae]", tuned))
    records = gae(1e-3, "numpy") + gae(5e-4, "numpy-tuned") + gae(1e-4)
    cell = row(page(matrix, records, "overview"), "gae", "T=128")[2]
    assert "against numpy-tuned" in cell
    assert "without" not in cell


def test_the_headline_goes_by_the_sides_that_the_matrix_says_whatever_the_names(tmp_path: Path) -> None:
    text = MATRIX.replace(
        "rust: {command: [torchforge, gae], side: kernel", "numpy-fast: {command: [x], side: ours"
    )
    text = text.replace(
        "torchforge: {command: [python3, torchforge], side: ours", "rust-other: {command: [y]"
    )
    records = gae(1e-3, "numpy") + gae(1e-4, "numpy-fast") + gae(1e-5, "rust-other")
    cell = row(page(example_matrix(tmp_path, text), records, "overview"), "gae", "T=128")[2]
    assert "faster, numpy-fast 102 µs against numpy 1.02 ms" in cell
    assert "slower, against rust-other" in cell


@pytest.mark.parametrize("left_out", [False, True])
def test_the_headline_names_variants_of_the_reference_that_have_no_time(
    tmp_path: Path, left_out: bool
) -> None:
    tuned = "      numpy-tuned: {command: [python3, tuned], side: reference}\n      rust: {command: [torchforge, gae]"
    text = MATRIX.replace("      rust: {command: [torchforge, gae]", tuned)
    if left_out:
        text = text.replace("quick: {native: {rep", "quick: {without: [numpy-tuned], native: {rep")
    matrix = example_matrix(tmp_path, text)
    records = gae(1e-3, "numpy") + gae(1e-4)
    cell = row(page(matrix, records, "overview"), "gae", "T=128")[2]
    assert re.search(r"against numpy 1\S* ms, without numpy-tuned$", cell), cell


def test_whoever_is_faster_at_other_work_is_not_passed_over(matrix: Matrix) -> None:
    slow, fast = (
        [
            make_record(
                benchmark="dqn",
                case="CartPole-v1",
                implementation=name,
                seed=seed,
                target=target,
                parameters={"environment": "CartPole-v1", "steps": 5000},
                metrics={"training_seconds": [seconds]},
            )
            for name, target, seconds in (
                ("pytorch", "core", 9.0),
                ("rust", "core", 1.0),
                ("sb3", "peers", other),
            )
            for seed in (1, 2, 3, 4, 5)
        ]
        for other in (9.5, 2.0)
    )
    assert row(page(matrix, fast, "overview"), "dqn", "CartPole-v1")[2].endswith("; other work: sb3 2.00 s")
    assert "other work" not in row(page(matrix, slow, "overview"), "dqn", "CartPole-v1")[2]


def test_what_a_profile_leaves_to_longer_ones_where_it_is_emulated_has_no_row_there_alone(
    tmp_path: Path,
) -> None:
    text = MATRIX.replace("quick: {native: {rep", "quick: {emulated_without: [rlox, T=2048], native: {rep")
    matrix = example_matrix(
        tmp_path,
        text.replace("platforms: [amd64], determinism: machine}\n  dqn", "determinism: machine}\n  dqn"),
    )
    emulated = {"batch": 1, "length": 128, "repetitions": 1}
    records = gae(1e-3, "numpy") + gae(
        1e-3, "numpy", platform="arm64", execution="emulated", parameters=emulated
    )
    amd64, arm64 = page(matrix, records, "gae").split("## arm64")
    assert "Not run: T=128: rust, torchforge, rlox; T=2048: all." in amd64
    assert "Not in this profile: T=2048, rlox." in arm64
    assert "| rlox" not in arm64


def test_what_was_not_run_is_said_in_one_line_and_why_it_is_absent(matrix: Matrix) -> None:
    records = gae(1e-3, "numpy") + gae(
        1e-3,
        "numpy",
        platform="arm64",
        execution="emulated",
        parameters={"batch": 1, "length": 128, "repetitions": 1},
    )
    amd64, arm64 = page(matrix, records, "gae").split("## arm64")
    assert "Not run: T=128: rust, torchforge, rlox; T=2048: all." in amd64
    assert "Absent, offered on amd64 only: rlox." in arm64
    assert "| not run" not in amd64 + arm64


def test_a_page_says_why_a_competitor_has_no_ratio(matrix: Matrix) -> None:
    def refereed(records: Sequence[Record], *, channel_seconds: float) -> list[Record]:
        referee = referee_facts(repetitions=9, channel_seconds=channel_seconds)
        return [msgspec.structs.replace(record, referee=referee) for record in records]

    reference, ours = gae(1e-3, "numpy"), gae(1e-5)
    told = "was too short to judge, or less than half of it was timed: T=128: torchforge."
    judged = page(matrix, refereed([*reference, *ours], channel_seconds=1e-3), "gae")
    assert "No ratio" not in judged
    # One process of five is enough.
    unjudged = [
        *refereed([*reference, *ours[:4]], channel_seconds=1e-3),
        *refereed(ours[4:], channel_seconds=0.1),
    ]
    text = page(matrix, unjudged, "gae")
    assert told in text
    assert "—" in row(text, "T=128", "torchforge")


def test_a_library_that_is_not_run_emulated_is_absent_there_and_expected_on_a_board(matrix: Matrix) -> None:
    benchmark = matrix.benchmarks["gae"]
    rlox = replace(benchmark.implementations["rlox"], platforms=None, emulated="too slow")
    changed = replace(benchmark, implementations={**benchmark.implementations, "rlox": rlox})
    matrix = replace(matrix, benchmarks={**matrix.benchmarks, "gae": changed})

    def on_arm64(execution: str, repetitions: int) -> str:
        sizes = {"batch": 1, "length": 128, "repetitions": repetitions}
        records = gae(1e-3, "numpy", platform="arm64", execution=execution, parameters=sizes)
        return page(matrix, records, "gae").split("## arm64")[1]

    assert "Absent, too slow: rlox." in on_arm64("emulated", 1)
    assert "Absent" not in on_arm64("native", 9)


def test_ratios_of_different_images_of_one_target_do_not_exist(matrix: Matrix) -> None:
    text = page(matrix, gae(1e-3, "numpy") + gae(1e-4, image="image 2", minute=1), "gae")
    assert row(text, "T=128", "numpy")[2] == "not run since the image, the machine or the matrix changed"
    assert row(text, "T=128", "torchforge")[4] == "—"


def test_processes_of_an_edited_command_are_not_pooled_with_those_of_the_old_one(matrix: Matrix) -> None:
    records = gae(1e-3, "numpy") + gae(1e-4) + gae(1e-5, seeds=[1, 2], command=["edited"], minute=1)
    found = row(page(matrix, records, "gae"), "T=128", "torchforge")
    assert found[3] == "2, 3 not run"


def test_records_of_another_machine_are_left_out_and_counted(matrix: Matrix) -> None:
    other = {**MACHINE, "cpu_model": "Older CPU"}
    records = gae(1e-3, machine=other) + gae(1e-4, minute=1)
    assert row(page(matrix, records, "gae"), "T=128", "torchforge")[3] == "5"
    assert "5 older records were left out" in page(matrix, records, "methodology")


def test_a_newer_record_of_a_cell_replaces_the_older_one(matrix: Matrix) -> None:
    records = gae(1e-3, failure=("deadline", "60 s passed")) + gae(1e-4, minute=1)
    assert "failed" not in " ".join(row(page(matrix, records, "gae"), "T=128", "torchforge"))


def test_records_of_another_profile_are_told_by_their_parameters(matrix: Matrix) -> None:
    smoke = {"batch": 1, "length": 128, "repetitions": 1}
    records = gae(1e-3, parameters=smoke, seeds=[1], profile="smoke")
    assert row(page(matrix, records, "gae", profile="smoke"), "T=128", "torchforge")[2] != "not run"
    assert "No cell of this platform was run." in page(matrix, records, "gae")


def test_a_reused_record_counts_under_the_profile_that_asks_for_the_same(matrix: Matrix) -> None:
    parameters = {"batch": 1, "length": 128, "repetitions": 1}
    records = gae(
        1e-3, seeds=[1], profile="smoke", execution="emulated", platform="arm64", parameters=parameters
    )
    assert row(page(matrix, records, "gae", profile="quick"), "T=128", "torchforge")[2] == "1.02 ms"


def test_seeds_that_were_not_run_are_counted(matrix: Matrix) -> None:
    assert row(page(matrix, gae(1e-3, seeds=[1, 3]), "gae"), "T=128", "torchforge")[3] == "2, 3 not run"


def test_a_training_s_missing_seed_has_a_row_and_one_that_was_never_run_has_none(matrix: Matrix) -> None:
    def not_run(implementation: str, records: Sequence[Record]) -> int:
        lines = page(matrix, records, "dqn").splitlines()
        return sum(
            bool(re.match(rf"\| CartPole-v1 +\| {implementation} +\| +\d+ \| not run ", each))
            for each in lines
        )

    records = dqn_records()
    some = [each for each in records if (each.implementation, each.seed) != ("rust", 2)]
    assert not_run("rust", some) == not_run("rust", records) + 1
    none = [each for each in records if each.implementation != "rust"]
    assert not_run("rust", none) == 0


def test_too_few_processes_are_marked(matrix: Matrix) -> None:
    records = gae(1e-3, "numpy", seeds=[1, 2]) + gae(1e-4, seeds=[1, 2])
    assert row(page(matrix, records, "gae"), "T=128", "torchforge")[4].endswith(r"n\<5: not ranked")
    assert row(page(matrix, records, "overview"), "gae", "T=128")[2] == "gate passed, n=2: not ranked"


def test_outliers_are_flagged_beside_n(matrix: Matrix) -> None:
    records = gae(1e-3, seeds=[1, 2, 3, 4]) + gae(9e-3, seeds=[5])
    assert row(page(matrix, records, "gae"), "T=128", "torchforge")[3] == "5 (1 outlier)"
    assert "outliers flagged, and kept, in T=128 torchforge" in page(matrix, records, "methodology")


def test_hostile_text_stays_in_its_cell(matrix: Matrix) -> None:
    records = gae(1e-3, failure=("exit-code", "a | b\n\n# `c` <script>\x1b[31m&amp; *d* _e_"))
    text = page(matrix, records, "gae")
    assert r"a \| b # \`c\` \<script\> \[31m\&amp; \*d\* \_e\_" in text
    assert len(row(text, "T=128", "torchforge")) == 8


def test_platforms_agree_only_where_bytes_are_the_same(matrix: Matrix) -> None:
    emulated = {
        "platform": "arm64",
        "execution": "emulated",
        "parameters": {"batch": 1, "length": 128, "repetitions": 1},
        "seeds": [1],
    }
    here = gae(1e-3)
    same, other = gae(1e-2, **emulated), gae(1e-2, outputs={"advantages.npy": digest("else")}, **emulated)  # type: ignore[arg-type]
    assert row(page(matrix, here + same, "gae"), "T=128", "torchforge")[7] == "same bytes"
    assert row(page(matrix, here + other, "gae"), "T=128", "torchforge")[7] == "differs"
    assert row(page(matrix, here, "gae"), "T=128", "torchforge")[7] == "—"


def test_files_outside_the_gate_must_agree_only_under_equal_parameters(matrix: Matrix) -> None:
    def trained(platform: str, weights: str, steps: int, **changes: str) -> Record:
        return make_record(
            benchmark="dqn",
            case="CartPole-v1",
            implementation="rust",
            platform=platform,
            parameters={"environment": "CartPole-v1", "steps": steps},
            metrics={"training_seconds": 1.0},
            outputs={"update.safetensors": digest("update"), "weights.safetensors": digest(weights)},
            episodes=[],
            **changes,  # type: ignore[arg-type]
        )

    native = trained("amd64", "one", 1000)
    emulated = trained("arm64", "two", 1000, execution="emulated")
    longer = trained("amd64", "one", 5000)
    assert row(page(matrix, [native, emulated], "dqn", "smoke"), "CartPole-v1", "rust")[8] == "differs"
    assert row(page(matrix, [longer, emulated], "dqn", "quick"), "CartPole-v1", "rust")[8] == "same bytes"


def test_files_of_the_gate_must_agree_where_the_parameters_that_they_depend_on_are_equal(
    tmp_path: Path,
) -> None:
    text = MATRIX.replace("scaled: 1.0e-4", "depends_on: [updates], scaled: 1.0e-4")
    for steps in (1000, 5000):
        text = text.replace(f"steps: {steps}}}", f"steps: {steps}, updates: 100}}")
    text = text.replace(
        "emulated: {steps: 1000, updates: 100}}\n      quick",
        "emulated: {steps: 1000, updates: 9}}\n      quick",
    )
    matrix = example_matrix(tmp_path, text)

    def trained(platform: str, updates: int, steps: int, bytes_: str, **changes: str) -> Record:
        return make_record(
            benchmark="dqn",
            case="CartPole-v1",
            implementation="rust",
            platform=platform,
            parameters={"environment": "CartPole-v1", "steps": steps, "updates": updates},
            metrics={"training_seconds": 1.0},
            outputs={"update.safetensors": digest(bytes_)},
            episodes=[],
            **changes,  # type: ignore[arg-type]
        )

    def said(profile: str, native: Record, emulated: Record) -> str:
        return row(page(matrix, [native, emulated], "dqn", profile), "CartPole-v1", "rust")[8]

    other = trained("arm64", 100, 1000, "two", execution="emulated")
    assert said("quick", trained("amd64", 100, 5000, "one"), other) == "differs"
    assert said("quick", trained("amd64", 100, 5000, "two"), other) == "same bytes"
    fewer = trained("arm64", 9, 1000, "two", execution="emulated")
    assert said("smoke", trained("amd64", 100, 1000, "one"), fewer) == "—"


def test_what_a_profile_leaves_to_longer_ones_has_no_rows_and_is_named(tmp_path: Path) -> None:
    text = MATRIX.replace("smoke: {native: {steps", "smoke: {without: [sb3], native: {steps")
    matrix = example_matrix(tmp_path, text)
    record = make_record(
        benchmark="dqn",
        case="CartPole-v1",
        implementation="rust",
        parameters={"environment": "CartPole-v1", "steps": 1000},
        metrics={"training_seconds": 1.0},
        episodes=[],
    )
    short = page(matrix, [record], "dqn", "smoke")
    assert "Not in this profile: sb3." in short
    assert "| sb3" not in short
    assert "| sb3" in page(matrix, [record, *dqn_records()], "dqn", "quick")


def test_other_work_is_ranked_with_nobody(matrix: Matrix) -> None:
    text = page(matrix, dqn_records(), "dqn")
    assert row(text, "CartPole-v1", "sb3")[5:7] == ["not the same work"] * 2
    # It is the fastest by far, and no competitor.
    assert row(text, "CartPole-v1", "rust")[6].endswith("faster: pytorch")
    assert "- sb3: the loss is smooth L1; gradients are clipped to a norm of 10" in text


def test_the_load_of_the_launch_before_is_no_other_work(matrix: Matrix) -> None:
    # Half of two processors, and the one that the run itself keeps busy.
    calm = page(matrix, gae(1e-3, state={**STATE, "load_1m": 1.9}), "methodology")
    assert "machine was loaded" not in calm
    assert "machine was loaded" in page(matrix, gae(1e-3, state={**STATE, "load_1m": 2.1}), "methodology")


def test_a_sample_between_launches_counts_in_place_of_averages_that_hold_the_launch_before(
    matrix: Matrix,
) -> None:
    echo = {**STATE, "load_1m": 3.1, "cpu_pressure_avg10": 40.0}
    idle = page(matrix, gae(1e-3, state={**echo, "busy_processors": 0.5}), "methodology")
    assert "machine was loaded" not in idle
    assert "CPU pressure" not in idle
    assert "processors busy" not in idle
    # More than a quarter of two processors.
    busy = page(matrix, gae(1e-3, state={**STATE, "busy_processors": 0.6}), "methodology")
    assert "5 of 5 launches began while other work kept more than a quarter of the processors busy" in busy


def test_the_circumstances_become_warnings(matrix: Matrix) -> None:
    state = {**STATE, "load_1m": 3.1, "swap_used_bytes": 5, "cpu_pressure_avg10": 40.0}
    limits = {"cpuset": None, "memory_bytes": 2**32, "pids": 256, "threads": 1, "enforced": ["threads"]}
    machine = {**MACHINE, "governor": "powersave", "swap_bytes": 2**30}
    text = page(matrix, gae(1e-3, state=state, limits=limits, machine=machine), "methodology")
    assert "5 of 5 launches began while the machine was loaded" in text
    assert "5 of 5 launches began under CPU pressure" in text
    assert "5 of 5 launches began with swap in use" in text
    assert "governor is powersave" in text
    assert "Swap is present (1.00 GiB)" in text
    assert "not enforced in every launch: cpuset, memory_bytes, swap, pids" in text


def on_two_machines(*throttled: int) -> list[Record]:
    """gae on a quiet machine and dqn on another one, whose counts of throttling begin at five."""
    quiet = {**MACHINE, "cpu_model": "A CPU", "governor": "performance", "hypervisor": False}
    training = {"environment": "CartPole-v1", "steps": 5000}
    return gae(1e-3, machine=quiet, state={**STATE, "throttle_count": 0}) + [
        make_record(
            benchmark="dqn",
            case="CartPole-v1",
            seed=seed,
            implementation="rust",
            parameters=training,
            metrics={"training_seconds": 1.0},
            machine={**MACHINE, "governor": "powersave"},
            state={**STATE, "throttle_count": count},
        )
        for seed, count in enumerate(throttled, start=1)
    ]


def test_a_warning_names_the_machines_that_it_is_about_by_the_pages_numbers(matrix: Matrix) -> None:
    text = page(matrix, on_two_machines(5, 5), "methodology")
    assert row(text, "machine") == ["machine", "1", "2"]
    assert row(text, "CPU") == ["CPU", "A CPU", "Example CPU 9000"]
    found = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    assert (
        "Machine 2: The CPU frequency governor is powersave, not performance: the frequency moves." in found
    )
    assert "Machine 2: The machine is virtual: neighbours may share its processor." in found
    assert "SMT is on." in found


def test_a_throttle_count_is_compared_with_those_of_its_own_machine_alone(matrix: Matrix) -> None:
    assert "throttled" not in page(matrix, on_two_machines(5, 5), "methodology")
    assert "Machine 2: The processor throttled" in page(matrix, on_two_machines(5, 6), "methodology")
    assert "throttled" not in page(matrix, on_two_machines(5, 0), "methodology"), "the system began again"


def test_what_is_null_is_shown_as_unknown(matrix: Matrix) -> None:
    machine = dict.fromkeys(MACHINE)
    state = dict.fromkeys(STATE)
    text = page(matrix, gae(1e-3, machine=machine, state=state), "methodology")
    for name in ("CPU", "memory", "swap", "caches", "SIMD", "governor", "turbo", "SMT"):
        assert row(text, name) == [name, "unknown"]
    assert "never pushed" in text


def test_caches_of_cores_that_differ_are_shown_with_each_size(matrix: Matrix) -> None:
    machine = {**MACHINE, "caches": {"L1d": "32K, 64K", "L2": "128K, 512K", "L3": "3072K"}}
    text = page(matrix, gae(1e-3, machine=machine), "methodology")
    assert row(text, "caches") == ["caches", "L1d 32K and 64K, L2 128K and 512K, L3 3072K"]


def test_memory_counts_the_largest_peak_of_a_launch_once(matrix: Matrix) -> None:
    records = [
        record
        for case, peak in (("T=128", 10), ("T=2048", 30))
        for record in gae(
            1e-3,
            case=case,
            vmhwm_bytes=peak * 2**20,
            parameters={"batch": 1, "length": int(case[2:]), "repetitions": 9},
        )
    ]
    memory = page(matrix, records, "gae").split("### Memory")[1]
    assert row(memory, "torchforge")[1:3] == ["30.0 MiB (30.0 to 30.0)", "1"]
    assert row(memory, "torchforge")[4] == "5"


def test_unknown_memory_is_not_ranked(matrix: Matrix) -> None:
    memory = page(matrix, gae(1e-3, vmhwm_bytes=None, cgroup_peak_bytes=None), "gae").split("### Memory")[1]
    assert row(memory, "torchforge")[1:] == ["unknown", "—", "unknown", "0"]


def test_limits_beside_the_first_have_rows_of_their_own_once_somebody_asked(tmp_path: Path) -> None:
    capped = "  avx2: {cpus: 1, memory: 4GiB, pids: 256, threads: 1, instructions: avx2}\nprofiles:"
    both = MATRIX.replace("profiles:", capped, 1).replace("  gae:\n", "  gae:\n    limits: [default, avx2]\n")
    matrix = example_matrix(tmp_path, both)
    ordinary = gae(1e-3, "numpy") + gae(1e-6)
    assert ", avx2" not in page(matrix, ordinary, "gae") + page(matrix, ordinary, "overview")

    records = ordinary + gae(2e-3, "numpy", under="avx2") + gae(1e-6, under="avx2")
    text = page(matrix, records, "gae")
    assert "## amd64\n" in text
    assert "## amd64, avx2\n" in text
    assert text.split("## arm64, avx2\n")[1].strip() == "No cell of this platform was run."
    overview = page(matrix, records, "overview")
    assert "against numpy 1.0" in row(overview, "gae", "T=128")[2]
    assert "against numpy 2.0" in row(overview, "gae, avx2", "T=128")[2]
    # A platform on which nothing was run has no column.
    assert len(row(overview, "gae, avx2", "T=128")) == 3
    # A benchmark that was not run has neither a row nor a page.
    assert "dqn" not in overview
    assert "avx2: avx2 at most" in page(matrix, records, "methodology")


def with_two_toolchains(tmp_path: Path) -> Matrix:
    second = "  forky: {suite: forky, rust: 1.97.1, python: 3.14.8, pytorch: 2.14.1}\nplatforms:"
    return example_matrix(tmp_path, MATRIX.replace("platforms:", second, 1))


def of_forky(centre: float, *names: str, **changes: Any) -> list[Record]:
    return gae(centre, *names, toolchain="forky", image="forky's", **changes)


def test_a_toolchain_beside_the_first_shows_nowhere_until_it_was_run(matrix: Matrix, tmp_path: Path) -> None:
    ordinary = gae(1e-3, "numpy") + gae(1e-6)
    for before, now in zip(
        render_pages(matrix, ordinary, profile="quick"),
        render_pages(with_two_toolchains(tmp_path), ordinary, profile="quick"),
        strict=True,
    ):
        assert now == before


def test_toolchains_that_were_run_are_columns_whose_ratios_are_each_of_one_run(tmp_path: Path) -> None:
    matrix = with_two_toolchains(tmp_path)
    records = [*gae(1e-3, "numpy"), *gae(1e-4), *of_forky(2e-4, "numpy"), *of_forky(1e-4)]
    text = page(matrix, records, "gae")
    assert "## amd64\n" in text
    assert "## amd64, forky\n" in text
    assert "| trixie: PyTorch 2.6.0" in text
    case, platform, trixie, forky, verdicts, _ = row(text.split("## Toolchains")[1], "T=128")
    assert (case, platform, verdicts) == ("T=128", "amd64", "the same")
    assert trixie.startswith(("9.9", "10.0"))
    assert "against numpy 1.0" in trixie
    assert forky.startswith(("1.9", "2.0"))
    assert "against numpy 20" in forky
    # What a page says first, and the overview's first column, is of the first toolchain alone.
    assert "in 1 of 1 case of operations" in text.split("**")[1]
    overview = page(matrix, records, "overview")
    assert row(overview, "benchmark", "case")[2:] == ["amd64", "amd64, forky"]
    assert "against numpy 20" in row(overview, "gae", "T=128")[3]
    assert "| forky " in page(matrix, records, "methodology")


@pytest.mark.parametrize(
    ("forky", "seeds", "said"),
    [(2e-3, (1, 2, 3, 4, 5), "the same"), (5e-5, (1, 2, 3, 4, 5), "differ"), (5e-5, (1,), "—")],
)
def test_another_toolchain_changes_a_verdict_only_where_both_are_ranked(
    tmp_path: Path, forky: float, seeds: tuple[int, ...], said: str
) -> None:
    records = [*gae(1e-3, "numpy"), *gae(1e-4)]
    records += [*of_forky(forky, "numpy", seeds=seeds), *of_forky(1e-4, seeds=seeds)]
    text = page(with_two_toolchains(tmp_path), records, "gae").split("## Toolchains")[1]
    assert row(text, "T=128")[4] == said


def test_bytes_of_ours_under_another_toolchain_are_compared(tmp_path: Path) -> None:
    matrix, both = with_two_toolchains(tmp_path), [*gae(1e-3, "numpy"), *gae(1e-4)]
    for outputs, said in ((None, "same bytes"), ({"advantages.npy": digest("else")}, "differs")):
        records = [*both, *of_forky(1e-3, "numpy"), *of_forky(1e-4, outputs=outputs)]
        assert row(page(matrix, records, "gae").split("## Toolchains")[1], "T=128")[5] == said


def test_pages_hold_no_html_but_their_folds(matrix: Matrix) -> None:
    for each in render_pages(matrix, gae_records() + dqn_records(), profile="quick"):
        assert each.ending == "svg" or not re.search(r"(?<!\\)<", without_folds(each.text))


def test_what_answers_stands_open_and_the_rest_of_a_platform_is_one_fold(matrix: Matrix) -> None:
    for name, answers, rest in (
        ("gae", "### Failed, amd64", "### Memory, amd64"),
        ("dqn", "### Where the time goes, amd64", "### Every seed, amd64"),
    ):
        text = page(matrix, gae_records() + dqn_records(), name)
        before, fold, behind = text.partition("<details>\n<summary>")
        assert answers in before
        assert rest in behind.partition("</details>")[0]
        assert fold
        assert text.count("<details>") == text.count("</details>") == text.count("Execution: ")


def test_a_page_without_its_folds_has_all_its_other_lines(matrix: Matrix) -> None:
    text = page(matrix, gae_records() + dqn_records(), "dqn")
    lines = [line for line in text.splitlines() if not re.match(r"</?(details|summary)>", line)]
    kept = without_folds(text)
    assert [line for line in kept.splitlines() if line] == [line for line in lines if line]
    assert "\n\n\n" not in kept


def test_the_bare_kernel_is_never_the_headline_over_python_peers(matrix: Matrix) -> None:
    records = gae(1e-3, "numpy") + gae(1e-6, "rust") + gae(1e-4, "torchforge")
    cell = row(page(matrix, records, "overview"), "gae", "T=128")[2]
    assert "torchforge" in cell
    assert "rust" not in cell
