"""A matrix may be any file whatever: it is read within bounds, or refused with a message that a terminal can show."""

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import load_matrix
from runner.matrix.expressions import ExpressionError, evaluate, names_in
from runner.system.errors import MatrixError

ROOT = Path(__file__).parents[3]
SHIPPED = (ROOT / "matrix.yaml").read_text(encoding="utf-8")
# Generous: many tests may share two processors.
SECONDS = 20.0


def refusal(path: Path) -> str:
    """What is said of the file at ``path``; in processor time, others may be running."""
    started = time.thread_time()
    with pytest.raises(MatrixError) as caught:
        load_matrix(path)
    assert time.thread_time() - started < SECONDS
    message = str(caught.value)
    assert all(each.isprintable() or each == "\n" for each in message)
    assert len(message) < 100_000
    return message


def refused(tmp_path: Path, content: bytes | str) -> str:
    path = tmp_path / "matrix.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return refusal(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a matrix is keys and their values; this is empty"),
        (b"\0", "not YAML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (SHIPPED.encode("utf-16"), "not UTF-8"),
        (b"- a\n- b\n", "this is a list"),
        (b"'text'", "this is one value"),
        (b"a: b: c", "not YAML"),
        (b"version: 1\n\tplatforms: {}", "not YAML"),
        (b"[" * 100_000, "nested too deeply"),
        (b"a:\n" + b"".join(b" " * i + b"- \n" for i in range(1, 400)), "matrix.yaml has"),
        (b"? " * 50_000, "nested too deeply"),
        (b"a: &a [*a, *a]", "nested too deeply"),
        (b"a: " + b"1:" * 50_000 + b"1", "this number is too long"),
        (b"version: 0x" + b"f" * 30, "beyond 9223372036854775807"),
        (b"version: " + b"9" * 5000, "this number is too long"),
        (b"version: 1.0e+400", "not a finite number"),
        (b"version: .nan", "not a finite number"),
        (b"version: !!int ''", "this is no int"),
        (b"version: !!bool x", "this is no bool"),
        (b"version: !!timestamp x", "this is no timestamp"),
        (b"version: !!binary aGk=", "a value of the kind binary is of no use here"),
        (b"version: !!python/name:os.system", "is of no use here"),
        (b'version: "\\0"', "a character that is not text"),
        (b'version: "\\e[2J"', "a character that is not text"),
        (b'version: "\\u202e"', "a character that is not text"),
        (b'version: "\\ud800"', "not YAML"),
        (b"version: \xed\xa0\x80", "not UTF-8"),
        (b'"a\\0": 1', "a character that is not text"),
        (b"a" * 300 + b": 1", "is no name, or a very long one"),
        (b"{a: 1}: 1", "is no name, or a very long one"),
        (b"version: 2026-02-30", "this is no timestamp"),
        (b"a: 1\n" * 5_000, "given twice"),
        (b"a: &a " + b"x" * 19_000 + b"\nb: [" + b"*a," * 5_000 + b"]", "nested too deeply or too large"),
        ("\n".join(f"k{i}: 1" for i in range(15_000)).encode(), "100 faults or more"),
        (b"seeds: [" + b"1, a, " * 12_000 + b"]", "nested too deeply or too large"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
)
def test_what_is_no_matrix_is_refused_in_seconds_with_a_message(
    tmp_path: Path, content: bytes, said: str
) -> None:
    assert said in refused(tmp_path, content)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text("\ufeff" + SHIPPED, encoding="utf-8")
    assert load_matrix(path) == load_matrix(ROOT / "matrix.yaml")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    assert "larger than 262144 bytes" in refusal(path)


@pytest.mark.parametrize(
    "kind", ["directory", "pipe", "device", "endless device", "dangling link", "kernel file"]
)
def test_what_is_no_regular_file_is_refused_and_nothing_waits_for_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "matrix.yaml"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/null")
        case "endless device":
            path = Path("/dev/zero")
        case "dangling link":
            path.symlink_to(tmp_path / "nothing")
        case "kernel file":
            path = Path("/proc/self/environ")
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(refusal(path)), daemon=True)
    reader.start()
    reader.join(timeout=60)
    assert said, "still reading"


def test_aliases_that_repeat_a_long_text_do_not_fill_the_memory(tmp_path: Path) -> None:
    anchor = "a: &a '" + "x" * 19_000 + "'\n"
    assert "too large" in refused(tmp_path, anchor + "b: [" + ", ".join(["*a"] * 2000) + "]")


def test_many_wrong_names_that_are_alike_are_told_in_seconds(tmp_path: Path) -> None:
    counts = ", ".join(f"c{i}: {'x' * 90}{i}" for i in range(10))
    cases = "\n".join(f"      {'T' * 40}{i}: {{{'y' * 90}{i}: 1}}" for i in range(93))
    text = SHIPPED.replace("counts: {elements: batch * length}", f"counts: {{{counts}}}", 1)
    text = text.replace("    cases:\n", f"    cases:\n{cases}\n", 1)
    assert "100 faults or more" in refused(tmp_path, text)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "-x",
        "--seed",
        "gae\\n",
        "con",
        "NUL",
        "aux.txt",
        "com1",
        "a.",
        "\uff47ae",
        "g\u0430e",
        "a\\u2024b",
        "a:b",
        "a*",
        "..",
        ".",
    ],
)
def test_a_case_name_that_is_an_option_a_device_or_a_look_alike_is_refused(tmp_path: Path, name: str) -> None:
    text = SHIPPED.replace("T=128:", f'"{name}":', 1)
    message = refused(tmp_path, text)
    assert "a name cannot look like this" in message or "a name of a file cannot end in a dot" in message


def test_two_cases_that_are_one_directory_on_some_systems_are_a_fault(tmp_path: Path) -> None:
    text = SHIPPED.replace("T=512:", "t=128:", 1)
    assert 'benchmarks.gae.cases.t=128: on some systems this is the same file as "T=128"' in refused(
        tmp_path, text
    )


def test_two_output_files_that_are_one_on_some_systems_are_a_fault(tmp_path: Path) -> None:
    text = SHIPPED.replace("        returns.npy: {", "        Advantages.npy: {", 1)
    assert 'the same file as "advantages.npy"' in refused(tmp_path, text)


@examples(30)
@given(
    st.text(min_size=1, max_size=30)
    | st.sampled_from(["a\n", "../a", "a/b", "-a", "CON", "a" * 65, "\0"])
    | st.from_regex(r"[A-Za-z0-9=._-]{1,10}", fullmatch=True)
)
def test_whatever_is_taken_for_a_case_stays_one_component_and_no_option(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("name") / "matrix.yaml"
    key = name.encode("unicode_escape").decode().replace('"', '\\"').replace("\\'", "'")
    path.write_text(SHIPPED.replace("T=128:", f'"{key}":', 1), encoding="utf-8")
    try:
        matrix = load_matrix(path)
    except MatrixError:
        return
    for case in matrix.benchmarks["gae"].cases:
        assert Path(case).name == case
        assert not case.startswith("-")
        assert case.isascii()
        assert (Path("/store") / case).parent == Path("/store")


# --- expressions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "1 << 9999999999",
        "(1 << 60) * 99",
        "steps.bit_length()",
        "steps.__class__",
        "steps[0]",
        "f'{steps}'",
        "'a' * 99",
        "b'a'",
        "1.5",
        "True",
        "...",
        "-1",
        "lambda: 1",
        "[1 for x in 1]",
        "steps := 1",
        "await steps",
        "1 if 1 else 1",
        "1 and 1",
        "1 < 2",
        "(" * 99 + "1" + ")" * 99 + "+",
        "1" * 199,
        "9007199254740992",
        "steps * steps * steps * steps",
        "1\0",
        "import os",
        "{}",
        "*steps",
        "1e9",
        "1 / 1",
        "1 % 1",
        "1 @ 1",
        "~1",
        "",
    ],
)
def test_only_bounded_whole_number_arithmetic_has_a_value(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"steps": 2**50})


@given(st.text(alphabet="0123456789abx+-*/() \n\t_.,'\"[]{}:=<>!@#%^&|~\\\0é", max_size=210))
def test_any_text_is_an_expression_or_none(text: str) -> None:
    try:
        names = names_in(text)
        value = evaluate(text, dict.fromkeys(names, 3))
    except ExpressionError:
        return
    assert abs(value) < 2**53


def test_a_division_by_zero_is_a_fault_of_the_matrix_and_not_of_the_run(tmp_path: Path) -> None:
    text = SHIPPED.replace("environment_steps: steps", "environment_steps: 1 // (steps - 12000)", 1)
    assert 'division by zero in case "CartPole-v1"' in refused(tmp_path, text)


def test_a_division_that_is_by_zero_for_no_cell_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    text = "environment_steps: steps * train_frequency // (learning_starts - train_frequency + 0 * steps)"
    path.write_text(SHIPPED.replace("environment_steps: steps", text, 1), encoding="utf-8")
    assert load_matrix(path)


def test_a_count_below_zero_is_a_fault(tmp_path: Path) -> None:
    text = SHIPPED.replace("environment_steps: steps", "environment_steps: 0 - steps", 1)
    assert "the value is -12000 in case" in refused(tmp_path, text)


@pytest.mark.parametrize("calls", ["0", "-1", "1.5", "x", "true"])
def test_calls_are_a_whole_number_of_at_least_one(tmp_path: Path, calls: str) -> None:
    assert "benchmarks.gae.cases.T=128.calls" in refused(
        tmp_path, SHIPPED.replace("length: 128, calls: 256", f"length: 128, calls: {calls}", 1)
    )


@pytest.mark.parametrize("text", ["seeds: {native: [1.0]", "seeds: {native: [true]"])
def test_a_seed_that_is_whole_by_accident_is_refused(tmp_path: Path, text: str) -> None:
    assert "profiles.smoke.seeds.native" in refused(tmp_path, SHIPPED.replace("seeds: {native: [1]", text, 1))
