"""The plan beside real images: which are there, how large they are, and what is known after a run."""

import json
from pathlib import Path

from conftest import FOREIGN, HOST, docker, forge_bench


def planned(results: Path, *arguments: str) -> dict:
    result = forge_bench("plan", "--json", "--profile", "smoke", "--results", str(results), *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_after_a_run_every_image_is_there_with_its_size_and_every_cell_is_reused(smoke):
    found = planned(smoke[0])
    assert found["counts"]["run"] == 0
    images = {each["tag"]: each for each in found["disk"]["images"]}
    assert set(images) >= {f"forge-bench:core-trixie-{HOST}", f"forge-bench:core-trixie-{FOREIGN}"}
    for tag, image in images.items():
        assert image["there"], tag
        size = docker("image", "inspect", "--format", "{{.Size}}", tag).stdout.strip()
        assert image["size_bytes"] == int(size)


def test_after_a_run_the_time_of_every_launch_is_known_per_platform(smoke):
    time = planned(smoke[0], "--fresh")["time"]
    assert time["unknown"] == 0
    assert set(time["platforms"]) == {"amd64", "arm64"}
    assert sum(each["seconds"] for each in time["platforms"].values()) > 0
    # Emulated launches are slower by far; each platform learns from its own.
    assert time["platforms"][FOREIGN]["seconds"] != time["platforms"][HOST]["seconds"]


def test_what_a_changed_program_costs_is_named_before_it_is_run(smoke, shipped_matrix):
    def edit(data: dict) -> None:
        data["benchmarks"]["gae"]["implementations"]["rust"]["command"].append("--changed")

    results, _ = smoke
    found = planned(results, "--matrix", str(shipped_matrix(edit)))
    running = [each for each in found["cells"] if each["decision"] == "run"]
    reasons = {(each["implementation"], each["why"].partition(" rust ")[0]) for each in running}
    assert {why for _, why in reasons} == {"its command changed", "measured beside"}
    assert ("rust", "its command changed") in reasons
    # Its ratio is of one run, so the others of its room run beside it; emulated ones have none.
    beside = [each for each in running if each["why"] != "its command changed"]
    assert {each["implementation"] for each in beside} >= {"numpy", "torchforge"}
    assert {each["platform"] for each in beside} == {HOST}
    assert found["time"]["unknown"] == 0
    assert found["disk"]["files"]["unknown"] == 0
