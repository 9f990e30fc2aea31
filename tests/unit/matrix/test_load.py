"""A matrix is either valid as a whole, or every one of its faults is said at once, with its line."""

import contextlib
import copy
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Side, Slurm, load_matrix
from runner.matrix.expressions import ExpressionError, evaluate, names_in
from runner.system.errors import MatrixError

ROOT = Path(__file__).parents[3]
SHIPPED = (ROOT / "matrix.yaml").read_text(encoding="utf-8")


def load(tmp_path: Path, text: str):
    path = tmp_path / "matrix.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return load_matrix(path)


def faults_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(MatrixError) as caught:
        load(tmp_path, text)
    return caught.value.what


def line_of(needle: str, text: str = SHIPPED) -> int:
    return 1 + next(index for index, line in enumerate(text.splitlines()) if needle in line)


def test_the_shipped_matrix_is_valid_and_names_its_references():
    matrix = load_matrix(ROOT / "matrix.yaml")
    assert matrix.benchmarks["gae"].reference.name == "numpy"
    assert matrix.benchmarks["dqn"].reference.name == "pytorch"
    assert matrix.limits["default"].memory_bytes == 4 * 2**30


def test_sides_are_said_and_not_guessed_from_names(tmp_path):
    text = SHIPPED.replace(
        "      numpy-tuned: {", "      rust-like: {command: [theirs]}\n      numpy-tuned: {", 1
    )
    sides = {name: each.side for name, each in load(tmp_path, text).benchmarks["gae"].implementations.items()}
    assert sides == {
        "numpy": Side.REFERENCE,
        "rust-like": Side.PEER,
        "numpy-tuned": Side.REFERENCE,
        "rust": Side.KERNEL,
        "torchforge": Side.OURS,
        "torchrl": Side.PEER,
        "torchrl-vec": Side.PEER,
        "rlox": Side.PEER,
        "numba": Side.PEER,
        "jax": Side.PEER,
    }


def test_all_faults_are_reported_together_each_with_line_key_and_suggestion(tmp_path):
    text = (
        SHIPPED.replace("image: peers, emulated:", "image: pears, platforms: [amd46], emulated:", 1)
        .replace("rust: 1.96.0", "rust: 1.96", 1)
        .replace("title: DQN", "titel: DQN on CartPole-v1", 1)
    )
    what = faults_of(tmp_path, text)
    peers = line_of("torchrl: {command")
    assert (
        f'line {peers}, benchmarks.gae.implementations.torchrl.image: no image "pears"; did you mean "peers"?'
        in what
    )
    assert (
        f"line {line_of('rust: 1.96.0')}, toolchains.trixie.rust: 1.96 must be text; put it in quotes" in what
    )
    assert (
        f'line {line_of("title: DQN")}, benchmarks.dqn.titel: unknown key "titel"; did you mean "title"?'
        in what
    )
    assert "nothing was started" in what


def test_semantic_faults_are_found_in_the_parts_that_have_the_right_form(tmp_path):
    text = (
        SHIPPED.replace("reference: true, determinism: portable", "determinism: portable", 1)
        .replace("environment_steps: steps", "environment_steps: stepps", 1)
        .replace("platforms: [amd64]", "platforms: [amd46]", 1)
    )
    what = faults_of(tmp_path, text)
    assert "benchmarks.gae.implementations: exactly one needs reference: true; none is marked" in what
    assert '"stepps" is not a whole number in case "CartPole-v1"; did you mean "steps"?' in what
    assert 'no platform "amd46"; did you mean "amd64"?' in what


ARM = "  arm64: {architecture: arm64}\n"


@pytest.mark.parametrize(
    ("platforms", "fault"),
    [
        (
            "  a: {architecture: arm64, host: board}\n",
            'platforms.a.host: "board" does not have the right form',
        ),
        ("  a: {architecture: arm64, host: 'ssh://-oProxyCommand=x'}\n", "does not have the right form"),
        (
            "  a: {architecture: arm64, host: 'ssh://me@board:22', slurm: {partition: short}}\n",
            "platforms.a.slurm: its cells run on one host or on a Slurm fleet; keep one of host and slurm",
        ),
        (
            "  a: {architecture: arm64, host: 'ssh://board'}\n  b: {architecture: arm64, host: 'ssh://board'}\n",
            'platforms.b.host: "a" names this host already; keep one platform for each machine',
        ),
        ("  a: {architecture: arm64, slurm: {partition: -x}}\n", "platforms.a.slurm.partition"),
    ],
)
def test_a_platform_has_one_place_that_no_other_has(tmp_path, platforms, fault):
    what = faults_of(tmp_path, SHIPPED.replace(ARM, ARM + platforms, 1))
    assert fault in what
    line = line_of(ARM.strip()) + platforms.count("\n")
    assert f"line {line}, platforms." in what


def test_a_platform_may_be_another_machine_and_an_architecture_stands_for_all_that_have_it(tmp_path):
    machines = """  epyc: {architecture: amd64, host: "ssh://me@epyc.example:2222/run/podman/podman.sock"}
  fleet: {architecture: amd64, slurm: {partition: short, constraint: "avx512&big"}}
"""
    matrix = load(tmp_path, SHIPPED.replace(ARM, ARM + machines, 1))
    assert matrix.platforms["epyc"].host == "ssh://me@epyc.example:2222/run/podman/podman.sock"
    assert matrix.platforms["fleet"].slurm == Slurm(partition="short", constraint="avx512&big")
    assert [name for name, each in matrix.platforms.items() if each.is_here] == ["amd64", "arm64"]
    compiled = matrix.benchmarks["dqn"].implementations["pytorch-compile"]
    assert compiled.platforms == ("amd64", "epyc", "fleet")
    why = compiled.left_out("arm64", "CartPole-v1", "default", "trixie", emulated=False)
    assert why == "offered on amd64, epyc, fleet only"


def test_a_library_may_be_left_out_where_execution_is_emulated_alone():
    torchrl = load_matrix(ROOT / "matrix.yaml").benchmarks["gae"].implementations["torchrl"]
    found = [
        torchrl.left_out("arm64", "T=128", "default", "trixie", emulated=emulated)
        for emulated in (False, True)
    ]
    assert found == [None, "not run emulated: it would take minutes and rank nothing"]


@pytest.mark.parametrize("name", ["environment_steps_per_second", "milliseconds", "peak_bytes"])
def test_a_headline_that_no_gate_could_judge_is_a_fault(tmp_path, name):
    what = faults_of(tmp_path, SHIPPED.replace("headline: seconds", f"headline: {name}", 1))
    assert (
        f'line {line_of("headline: seconds")}, benchmarks.gae.headline: "{name}" is not a time in seconds'
        in what
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "advantages.npy: {rtol: 1.0e-6",
            "advantages.npy: {drift: 3, rtol: 1.0e-6",
            "benchmarks.gae.gate.outputs.advantages.npy.drift: needs scaled beside it",
        ),
        (
            "advantages.npy: {rtol: 1.0e-6",
            "advantages.npy: {rms: 3, rtol: 1.0e-6",
            "benchmarks.gae.gate.outputs.advantages.npy: give rms alone, without scaled, rtol and atol",
        ),
        (
            "headline: seconds\n    refereed: true\n    inputs: [python3, -m, baselines.inputs, env-step]",
            "headline: seconds\n    inputs: [python3, -m, baselines.inputs, env-step]",
            "benchmarks.ffi.gate.digest: only a referee asks for digests",
        ),
        (
            "replay: {actions: actions.safetensors",
            "replay: {actions: action.safetensors",
            "benchmarks.dqn.gate.replay.actions: gate.digest must cover action.safetensors; name it there",
        ),
        (
            "environment_steps: steps\n",
            "steps_of_it: steps\n",
            "benchmarks.dqn.gate.replay: counts must say how many environment_steps there are",
        ),
        (
            "CartPole-v1: &cart-pole {environment: CartPole-v1,",
            "CartPole-v1: &cart-pole {environment: 1,",
            "benchmarks.dqn.gate.replay: the case CartPole-v1 names no environment to replay",
        ),
        (
            "depends_on: [steps]",
            "depends_on: [stepps]",
            'no profile has the parameter "stepps"; did you mean "steps"?',
        ),
        ("thresholds: {CartPole-v1", "thresholds: {CartPole-v2", 'no case "CartPole-v2"; did you mean'),
        ("equivalence: {CartPole-v1", "equivalence: {CartPole-v2", 'no case "CartPole-v2"; did you mean'),
        (
            "kind: operation\n    decision: crossing",
            "kind: training\n    decision: crossing",
            "benchmarks.ffi.decision: only the page of an operation supports a decision",
        ),
        (
            "single: {environments: 1, vector: false, calls",
            "single: {vector: false, environments_: 1, calls",
            "benchmarks.ffi.decision: a call needs environments to step; case single has none",
        ),
        ("margin: 25", "margin: 478", "equivalence.CartPole-v1: every return from worst to best"),
        (
            "reference: true, determinism: portable",
            "reference: true, determinism: portable, differs: [it is late]",
            "benchmarks.gae.implementations.numpy.differs: a reference differs from nothing",
        ),
        (
            "reference: true, determinism: portable",
            "reference: true, determinism: portable, side: ours",
            "benchmarks.gae.implementations.numpy.side: a reference is on its own side",
        ),
        (
            "without: [Acrobot-v1,",
            "without: [Acrobat-v1,",
            'benchmarks.dqn.profiles.smoke.without.0: no case or implementation "Acrobat-v1"; did you mean "Acrobot-v1"?',
        ),
        (
            "without: [Acrobot-v1,",
            "without: [pytorch,",
            "nothing can be compared without the reference; keep it",
        ),
        ("batch: 1, length: 128,", "batch: 1, environments: 0, length: 128,", "less than the minimum of 1"),
        ("operations: multiply", "operations: multipli", 'no benchmark "multipli"; did you mean "multiply"?'),
        ("operations: multiply", "operations: copy", 'the benchmark "copy" does not count operations'),
        ("operations: multiply", "", "operations stand in each case and in roofline itself, or in neither"),
        ("copied: 256KiB", "copied: 256KB", '"copy" has no case "256KB"; did you mean "256KiB"?'),
        ("bytes: 4 * (9", "bytes: 4 * (nine", "benchmarks.update.roofline.cases.dqn.bytes"),
        ("bytes: 4 * (9", "bytes: -4 * (9", "benchmarks.update.roofline.cases.dqn.bytes: "),
        (
            "updates:\n      benchmark: update",
            "updates:\n      benchmark: updat",
            'no benchmark "updat"; did you mean "update"?',
        ),
        (
            "updates:\n      benchmark: update",
            "updates:\n      benchmark: copy",
            'the roofline of "copy" has no case "dqn"',
        ),
        (
            "count: gradient_steps\n      cases",
            "count: gradient_step\n      cases",
            'no count "gradient_step"; did you mean',
        ),
        (
            "cases: {CartPole-v1: dqn}",
            "cases: {CartPole-v2: dqn}",
            "benchmarks.dqn.updates.cases.CartPole-v2: no case",
        ),
        ("cases: {CartPole-v1: dqn}", "cases: {CartPole-v1: dqm}", 'has no case "dqm"; did you mean "dqn"?'),
        (
            "kind: operation\n    decision: crossing",
            "kind: operation\n    updates: {benchmark: update, count: environment_steps, cases: {single: dqn}}",
            "benchmarks.ffi.updates: only a training is made of updates",
        ),
        ("benchmark: ffi, case", "benchmark: fi, case", 'no benchmark "fi"; did you mean "ffi"?'),
        ("case: single, count", "case: singel, count", '"ffi" has no case "singel"; did you mean "single"?'),
        ("count: environment_steps, impl", "count: steps, impl", 'environment.count: no count "steps"'),
        (
            "implementations: {rust-gymnasium: ",
            "implementations: {rust-gymnasia: ",
            'no implementation "rust-gymnasia"; did you mean "rust-gymnasium"?',
        ),
        (
            "gymnasium: gymnasium-tuned}",
            "gymnasium: gymnasium-tune}",
            '"ffi" has no implementation "gymnasium-tune"; did you mean "gymnasium-tuned"?',
        ),
        ("        dqn:\n          operations: 2", "        dqm:\n          operations: 2", 'no case "dqm"'),
    ],
)
def test_what_a_benchmark_says_must_fit_the_rest(tmp_path, old, new, message):
    assert message in faults_of(tmp_path, SHIPPED.replace(old, new, 1))


def test_a_key_given_twice_is_a_fault_and_not_the_last_one_winning(tmp_path):
    text = SHIPPED.replace("version: 1\n", "version: 1\nversion: 1\n", 1)
    assert "line 4, version: this key is given twice" in faults_of(tmp_path, text)


def test_a_profile_that_a_benchmark_says_nothing_about_is_a_fault(tmp_path):
    text = SHIPPED.replace(
        "profiles:\n  smoke:",
        "profiles:\n  nightly: {minutes: 1, seeds: {native: [1], emulated: [1]}, "
        "deadline_seconds: {native: 1, emulated: 1}}\n  smoke:",
        1,
    )
    assert 'says nothing about the profile "nightly"' in faults_of(tmp_path, text)


def test_a_profile_that_lists_its_benchmarks_needs_sizes_of_these_alone(tmp_path):
    listed = SHIPPED.replace("benchmarks: [dqn, ppo, sac]", "benchmarks: [dqn, ppo, sac, gae]", 1)
    found = faults_of(tmp_path, listed)
    assert 'benchmarks.gae.profiles: says nothing about the profile "libraries"' in found
    assert "ffi" not in found


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "version: [", "a: &a [*a]", "\t", "version: 1\n? {a: b}\n: c"]
)
def test_what_is_no_matrix_is_refused_without_a_traceback(tmp_path, text):
    assert "matrix.yaml has" in faults_of(tmp_path, text)


def test_python_objects_cannot_be_made_from_a_matrix(tmp_path):
    assert "fault" in faults_of(tmp_path, "version: !!python/object/apply:os.system ['true']")


def test_a_text_that_unfolds_without_end_is_refused(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    assert "too large" in faults_of(tmp_path, "\n".join(lines))


@given(st.text(max_size=200))
def test_any_text_is_either_a_matrix_or_a_matrix_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "matrix.yaml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(MatrixError):
        load_matrix(path)


def _paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _paths(each, (*path, key))


SHIPPED_DATA = yaml.safe_load(SHIPPED)
PATHS = sorted((path for path in _paths(SHIPPED_DATA) if path), key=str)
JUNK = st.sampled_from([None, True, -1, 1e400, "", "x", [], {}, [[]], {"x": None}, {"x": {}}, 10**30])


@examples(30)
@given(st.sampled_from(PATHS), JUNK)
def test_junk_at_any_place_of_a_matrix_never_gets_past_the_checks_as_a_crash(tmp_path_factory, place, junk):
    data = copy.deepcopy(SHIPPED_DATA)
    node = data
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = junk
    path = tmp_path_factory.mktemp("junk") / "matrix.yaml"
    # A thousand lines in Python's own way of writing YAML take longer than what is tested.
    path.write_text(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
    with contextlib.suppress(MatrixError):
        load_matrix(path)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "x" * 80])
def test_a_case_name_that_could_leave_its_directory_is_refused(tmp_path, name):
    text = SHIPPED.replace("T=128:", f'"{name}":', 1)
    assert "a name cannot look like this" in faults_of(tmp_path, text)


def test_counts_are_plain_arithmetic_over_parameters():
    text = "(steps - 1) // train_frequency - learning_starts // train_frequency"
    parameters = {"steps": 500_000, "train_frequency": 10, "learning_starts": 10_000}
    assert evaluate(text, parameters) == 48_999
    assert names_in(text) == set(parameters)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "steps.real",
        "2 ** 9999",
        "steps if 1 else 2",
        "'a' * 9",
        "1 / 2",
        "f()",
        "((",
        "1" * 300,
        "1 // 0",
    ],
)
def test_nothing_but_whole_number_arithmetic_is_evaluated(text):
    with pytest.raises(ExpressionError):
        evaluate(text, {"steps": 5})


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(0, 10**5))
def test_the_gradient_step_formula_counts_what_the_loop_does(steps, frequency, starts):
    steps = min(steps, 5000)
    starts = starts % 6000
    counted = sum(1 for step in range(steps) if step > starts and step % frequency == 0)
    formula = "(steps - 1) // f - starts // f"
    assert max(0, evaluate(formula, {"steps": steps, "f": frequency, "starts": starts})) == counted
