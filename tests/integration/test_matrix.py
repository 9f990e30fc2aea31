"""From matrix.yaml to tables, on both architectures."""

import json
from pathlib import Path

import pytest
from conftest import FOREIGN, HOST, ROOT, docker, forge_bench, left_behind

from runner.matrix import load_matrix
from runner.records.store import Store


def record_of(results: Path, **names: object) -> dict:
    found = [
        record.plain()
        for record in Store(results).records()
        if all(getattr(record.cell, key) == value for key, value in names.items())
    ]
    assert len(found) == 1, names
    return found[0]


def test_every_cell_of_the_smoke_profile_passes_its_gate_on_both_architectures(smoke):
    results, _ = smoke
    records = Store(results).records()
    assert {record.platform for record in records} == {"amd64", "arm64"}
    assert [record.failure for record in records if record.failed] == []
    kinds = {record.platform: record.execution.kind.value for record in records}
    assert kinds == {HOST: "native", FOREIGN: "emulated"}


def test_the_pages_are_rendered_and_emulated_times_are_marked_and_never_ranked(smoke):
    results, outcome = smoke
    tables = results / "tables" / "smoke"
    benchmarks = load_matrix(ROOT / "matrix.yaml").benchmarks.values()
    of_every_run = {each.name for each in benchmarks if not each.on_request}
    assert {path.stem for path in tables.glob("*.md")} == {
        "overview",
        "summary",
        "profiling",
        "methodology",
        *of_every_run,
    }
    overview = (tables / "overview.md").read_text()
    assert outcome.stdout.strip() == overview.strip()
    assert "emulated" in overview
    for name in ("gae.md", "dqn.md", "update.md"):
        _, _, foreign = (tables / name).read_text().partition(FOREIGN)
        assert "emulated" in foreign
    methodology = (tables / "methodology.md").read_text()
    for pin in ("1.96.0", "3.13.5", "2.6.0"):
        assert pin in methodology
    assert (
        record_of(results, benchmark="dqn", implementation="rust", platform=HOST)["image"]["config_digest"]
        in methodology
    )


@pytest.mark.parametrize("benchmark", ["dqn", "ppo"])
def test_rust_trains_to_the_same_bytes_on_both_architectures(smoke, benchmark):
    results, _ = smoke
    native = record_of(results, benchmark=benchmark, implementation="rust", platform=HOST)
    emulated = record_of(results, benchmark=benchmark, implementation="rust", platform=FOREIGN)
    assert native["parameters"] == emulated["parameters"]
    assert native["inputs"] == emulated["inputs"]
    assert native["outputs"] == emulated["outputs"]
    assert native["episodes"] == emulated["episodes"]


@pytest.mark.parametrize("case", ["dqn", "ppo", "sac"])
def test_rust_updates_to_the_same_bytes_on_both_architectures(smoke, case):
    results, _ = smoke
    native, emulated = (
        record_of(results, benchmark="update", implementation="rust", platform=platform, case=case)
        for platform in (HOST, FOREIGN)
    )
    assert native["inputs"] == emulated["inputs"]
    assert native["outputs"].keys() == {"1/drawn.safetensors", "1/update.safetensors"}
    assert native["outputs"] == emulated["outputs"]


def test_gae_inputs_and_rust_outputs_are_the_same_bytes_on_both_architectures(smoke):
    results, _ = smoke
    for case in ("T=128", "T=32768", "256x2048"):
        native = record_of(results, benchmark="gae", implementation="rust", platform=HOST, case=case)
        emulated = record_of(results, benchmark="gae", implementation="rust", platform=FOREIGN, case=case)
        assert native["inputs"] == emulated["inputs"]
        assert native["outputs"] == emulated["outputs"]


def test_a_second_call_runs_nothing(smoke):
    results, _ = smoke
    again = forge_bench("--profile", "smoke", "--results", str(results))
    assert again.returncode == 0
    assert "0 cells run" in again.stderr


@pytest.mark.alone
def test_a_deleted_image_is_built_again_and_no_cell_is_run(smoke):
    results, _ = smoke
    tag = f"forge-bench:core-trixie-{HOST}"
    assert docker("rmi", "--force", tag, f"forge-bench:{HOST}", "forge-bench:latest").returncode == 0
    again = forge_bench("--profile", "smoke", "--results", str(results))
    assert again.returncode == 0, again.stderr
    assert "0 cells run" in again.stderr
    assert docker("image", "inspect", tag, "forge-bench:latest").returncode == 0


def test_compare_gives_a_ratio_and_refuses_emulated_times(smoke, tmp_path):
    of_gae = ["compare", "--benchmark", "gae", "--case", "T=2048", "--format", "json"]
    common = [*of_gae, "--base", "numpy"]
    # The smoke profile has one repetition, in a window too short to say anything.
    short = forge_bench(*common, "--against", "rust", "--arch", HOST, "--results", str(smoke[0]))
    assert short.returncode == 9
    assert "not judged" in short.stderr
    quick = ["--profile", "quick", "--arch", HOST, "--seeds", "1", "--results", str(tmp_path)]
    # NumPy's windows are long enough to be judged, however busy this machine is. Those of Rust last some hundredths of a
    # second, and round trips to a container were seen to take milliseconds beside other tests.
    run = forge_bench(*quick, "--only", "gae/numpy/T=2048", "--only", "gae/numpy-tuned/T=2048")
    assert run.returncode == 0, run.stderr
    native = forge_bench(*common, "--against", "numpy-tuned", "--arch", HOST, "--results", str(tmp_path))
    assert native.returncode == 0, native.stderr
    found = json.loads(native.stdout)
    assert found["ratio"] > 0
    assert found["n"] == 1
    assert {"low", "high"} <= found.keys()
    ours = ("--base", "rust", "--against", "torchforge")
    emulated = forge_bench(*of_gae, *ours, "--arch", FOREIGN, "--results", str(smoke[0]))
    assert emulated.returncode == 9
    assert "emulated" in emulated.stderr


def test_no_container_is_left_behind(smoke):
    del smoke
    assert left_behind() == []
