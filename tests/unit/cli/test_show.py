"""One record on one screen, whichever folder it lies in."""

import json
import re

import pytest
from example_records import json_of, make_record
from msgspec import UNSET, structs

from runner.cli.main import main
from runner.records.measured import GateCheck
from runner.records.record import record_of, seal
from runner.records.refereed import RefereeFacts, WindowFacts
from runner.records.store import Store
from runner.report.record_page import record_page
from runner.system.errors import UsageError
from tools.pack_publication import pack

GOOD = make_record(seed=1, minute=1, metrics={"seconds": [0.001, 0.003, 0.002]})
FAILED = make_record(
    seed=2,
    minute=2,
    failure=("deadline", "60 s passed"),
    stderr_tail="first line\n\x1b[31mlast line\n",
)

REFUSED = GateCheck(check="counts", passed=False, detail="elements 1, expected 128", share=None)


@pytest.fixture
def folder(tmp_path):
    for record in (GOOD, FAILED):
        Store(tmp_path).add(record)
    return tmp_path


@pytest.mark.parametrize("packed", [False, True])
def test_a_record_of_either_form_is_shown_by_its_start(folder, packed, capsys):
    if packed:
        pack(folder)
    pages = []
    for words in (
        [f"{folder}#{GOOD.identifier[:15]}"],
        [f"{folder}#{GOOD.content_sha256[:10]}"],
        ["--results", str(folder), GOOD.identifier],
    ):
        assert main(["show", *words]) == 0
        pages.append(capsys.readouterr().out)
    assert pages == [record_page(GOOD) + "\n"] * 3


def test_a_file_of_a_record_is_shown(folder, capsys):
    [path] = folder.glob(f"records/gae/{GOOD.identifier}.json")
    assert main(["show", str(path)]) == 0
    assert GOOD.identifier in capsys.readouterr().out


def test_the_page_has_the_figures_and_where_they_came_from():
    page = record_page(GOOD)
    assert "seconds   2.00 ms   1.00 ms  3.00 ms  3" in page
    for text in (
        "gae, T=128, numpy, seed 1",
        "Example CPU 9000, 2 CPUs, 8.00 GiB",
        str(GOOD.image.config_digest),
        str(GOOD.content_sha256),
        "process 50.0 MiB, cgroup 60.0 MiB",
        "gate: 2 of 2 checks passed",
    ):
        assert text in page
    assert "failure" not in page


def test_the_page_of_a_failure_has_its_reason_and_the_end_of_its_log():
    page = record_page(structs.replace(FAILED, gate=(REFUSED,)))
    assert "no measurement" in page
    assert "gate: 0 of 1 checks passed\n  refused: counts: elements 1, expected 128" in page
    assert "failure: deadline: 60 s passed\n  | first line" in page
    assert "last line" in page
    assert "\x1b" not in page


def test_json_is_the_whole_record_in_ascii(folder, capsys):
    assert main(["show", "--json", f"{folder}#{FAILED.identifier}"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out) == json_of(FAILED)


@pytest.mark.parametrize("prefix", ["2026", "zzz", ""])
def test_a_start_that_names_no_record_or_two_is_an_error(folder, prefix, capsys):
    assert main(["show", f"{folder}#{prefix}"]) == UsageError.exit_code
    assert "to do:" in capsys.readouterr().err


@pytest.mark.parametrize("packed", [False, True])
def test_a_place_without_a_prefix_says_how_many_records_it_has_and_how_one_is_named(folder, packed, capsys):
    if packed:
        pack(folder)
    assert main(["show", str(folder)]) == UsageError.exit_code
    said = " ".join(capsys.readouterr().err.split())
    assert f"{folder} holds 2 records, and show prints one" in said
    assert "needs #PREFIX" in said
    assert f"to do: give {folder}#PREFIX, such as {folder}#{FAILED.identifier};" in said


def test_the_name_of_a_publication_without_a_prefix_is_no_prefix_of_a_record(capsys):
    assert main(["show", "2026-11-24-sac-threads"]) == UsageError.exit_code
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r"2026-11-24-sac-threads holds [1-9]\d* records, and show prints one", said)
    assert "give 2026-11-24-sac-threads#PREFIX, such as 2026-11-24-sac-threads#2026" in said


def test_a_results_directory_without_records_has_none_to_name(tmp_path, capsys):
    (tmp_path / "records").mkdir()
    assert main(["show", str(tmp_path)]) == UsageError.exit_code
    assert "holds 0 records" in capsys.readouterr().err


def test_two_places_are_an_error(folder, capsys):
    assert main(["show", f"{folder}#{GOOD.identifier}", "--results", str(folder)]) == UsageError.exit_code
    assert "named twice" in capsys.readouterr().err


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e15])
def test_a_page_stays_one_screen_whatever_a_record_holds(value):
    data = {key: each for key, each in FAILED.plain().items() if key != "content_sha256"}
    data["measurement"] = {
        "event": "measurement",
        "case": "T=128",
        "metrics": {f"m{number}": [value] for number in range(1000)},
        "counts": {f"c{number}": 2**53 - 1 for number in range(1000)},
        "memory": {"vmhwm_bytes": None, "cgroup_peak_bytes": None},
    }
    data["gate"] = [{**REFUSED.plain(), "detail": "x\n" * 5000}] * 5000
    data["launch"] = {**data["launch"], "stderr_tail": "line\n" * 5000}
    data["command"] = ["word\n"] * 5000
    page = record_page(record_of(seal(data)))
    assert page.count("\n") < 60
    assert max(map(len, page.splitlines())) <= 201


def test_what_the_referee_saw_stands_on_the_page():
    window = WindowFacts(
        repetitions=100,
        seconds=0.25,
        cpu_seconds=0.24,
        between_seconds=0.01,
        preemptions=7,
        stolen_seconds=0.0,
    )
    referee = RefereeFacts(
        nonce="9f1e2e6dcd540ab7",
        asked=(137, 181),
        windows=(structs.replace(window, repetitions=1, preemptions=UNSET, stolen_seconds=None), window),
        void_windows=2,
        channel_seconds=4e-4,
        ready_seconds=1.5,
        vmhwm_bytes=2**20,
    )
    lines = record_page(structs.replace(GOOD, referee=referee)).splitlines()
    (ranked,) = [line.split() for line in lines if line.startswith("ranked")]
    assert ranked == ["ranked", "100", "250", "ms", "240", "ms", "10.0", "ms", "7", "0", "ns"]
    (first,) = [line for line in lines if line.startswith("round 1")]
    assert first.split()[-2:] == ["unknown", "unknown"]
    assert any("nonce 9f1e2e6dcd540ab7" in line and "2 windows opened again" in line for line in lines)
    assert "outputs asked for of repetitions 137, 181" in lines
    assert not any(line.startswith("ranked") for line in record_page(GOOD).splitlines())
