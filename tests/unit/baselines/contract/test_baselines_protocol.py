import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from baselines.contract import protocol

SCHEMA = Path(__file__).parents[4] / "runner" / "schemas" / "measurement.schema.json"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


@dataclass(frozen=True, kw_only=True)
class Parameters:
    length: int
    environment: str
    seconds_limit: float | None = None

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError("'length' must be at least 1")


def parsed(*arguments: str) -> protocol.Request:
    return protocol.request(protocol.parser("").parse_args(arguments))


def case(**parameters: object) -> protocol.Case:
    return protocol.Case(name="T=8", parameters=parameters)


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_each_case_gets_the_parameters_that_follow_it() -> None:
    request = parsed(
        "--case",
        "a",
        "--parameters",
        '{"x":1}',
        "--case",
        "b",
        "--parameters",
        "{}",
        "--seed",
        "3",
        "--input",
        "in",
    )
    assert [(each.name, each.parameters) for each in request.cases] == [("a", {"x": 1}), ("b", {})]
    assert (request.seed, request.input_directory, request.output_directory) == (3, Path("in"), None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--case", "a"], "1 --case but 0 --parameters"),
        (["--case", "a", "--parameters", "{"], "not JSON"),
        (["--case", "a", "--parameters", "[]"], "not a JSON object"),
        (["--case", "a", "--parameters", "{}", "--case", "a", "--parameters", "{}"], "named twice"),
        (["--case", "../a", "--parameters", "{}"], "cannot name a folder"),
        (["--case", "..", "--parameters", "{}"], "cannot name a folder"),
    ],
)
def test_a_faulty_command_line_is_refused_in_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed(*arguments)
    assert complaint in refusal(capsys)


def test_an_output_directory_that_cannot_be_made_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(SystemExit):
        protocol.made_directory(tmp_path / "taken" / "results")
    assert "name another with --output" in refusal(capsys)


def test_an_output_directory_that_is_there_and_cannot_be_written_into_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A file system that takes no files, from whomever: root may write into every other directory.
    with pytest.raises(SystemExit):
        protocol.made_directory(Path("/proc"))
    assert "written into" in refusal(capsys)


@pytest.mark.parametrize("limit", [float("nan"), -1.0])
def test_a_limit_of_seconds_that_is_no_time_is_an_error(limit: float) -> None:
    with pytest.raises(ValueError, match="seconds_limit"):
        protocol.Repetitions(calls=1, warmup=0, repetitions=1, seconds_limit=limit)


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", str(2**32)])
def test_a_seed_is_a_whole_number_that_numpy_takes(seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed("--seed", seed)
    assert "--seed" in capsys.readouterr().err


def test_parameters_become_the_dataclass_and_an_integer_passes_as_seconds() -> None:
    wanted = Parameters(length=8, environment="x", seconds_limit=1)
    assert protocol.checked(case(length=8, environment="x", seconds_limit=1), Parameters) == wanted
    assert protocol.checked(case(length=8, environment="x"), Parameters).seconds_limit is None


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"length": 8}, "missing parameter 'environment'"),
        ({"length": 8, "environment": "x", "lenght": 8}, "unknown parameter 'lenght'"),
        ({"length": "8", "environment": "x"}, "'length' must be int, not str"),
        ({"length": True, "environment": "x"}, "'length' must be int, not bool"),
        ({"length": 8.0, "environment": "x"}, "'length' must be int, not float"),
        ({"length": 8, "environment": "x", "seconds_limit": "1"}, "'seconds_limit' must be float, not str"),
        ({"length": 0, "environment": "x"}, "'length' must be at least 1"),
    ],
)
def test_faulty_parameters_are_refused_in_one_line(
    parameters: dict[str, object], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        protocol.checked(case(**parameters), Parameters)
    assert complaint in refusal(capsys)


def test_the_order_of_the_cases_depends_on_the_seed_alone() -> None:
    pairs = [part for name in "abcdef" for part in ("--case", name, "--parameters", "{}")]
    orders = [
        [each.name for each in parsed(*pairs, "--seed", str(seed)).in_seeded_order()] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list("abcdef")


def test_progress_is_printed_at_most_once_a_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 0.5, 1.0, 1.9, 2.0])
    monkeypatch.setattr(protocol.time, "monotonic", lambda: next(now))
    progress = protocol.Progress(total=4, unit="case")
    for done in range(4):
        progress.report(done)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["done"] for event in events] == [1, 3]
    for event in events:
        VALIDATOR.validate(event)


def test_a_measurement_is_what_the_schema_wants(capsys: pytest.CaptureFixture[str]) -> None:
    protocol.print_measurement(
        protocol.measurement(case(), metrics={"seconds": [1e-6]}, counts={"elements": 8})
    )
    event = json.loads(capsys.readouterr().out)
    VALIDATOR.validate(event)
    assert event["memory"]["vmhwm_bytes"] > 2**20


def test_a_figure_that_is_not_a_number_is_never_printed() -> None:
    event = protocol.measurement(case(), metrics={"seconds": float("nan")}, counts={"elements": 8})
    with pytest.raises(ValueError, match="JSON"):
        protocol.print_measurement(event)


def test_the_process_is_older_than_its_first_line_and_younger_than_this_machine() -> None:
    age = protocol.seconds_since_process_start()
    assert age is not None
    assert 0 < age < 86_400


def test_an_emulator_without_a_start_time_leaves_the_age_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    stat.write_text("1 (python3 (x) y) R " + "0 " * 40)
    monkeypatch.setattr(protocol, "Path", lambda _: stat)
    assert protocol.seconds_since_process_start() is None


@pytest.mark.parametrize(("text", "threads"), [(None, 1), ("1", 1), ("4", 4)])
def test_the_limit_of_threads_is_one_unless_told(
    text: str | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORGE_BENCH_THREADS", raising=False)
    if text is not None:
        monkeypatch.setenv("FORGE_BENCH_THREADS", text)
    assert protocol.threads() == threads


@pytest.mark.parametrize("text", ["0", "-1", "all", ""])
def test_a_limit_of_threads_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORGE_BENCH_THREADS", text)
    with pytest.raises(SystemExit, match="2"):
        protocol.threads()
    assert "FORGE_BENCH_THREADS" in refusal(capsys)
