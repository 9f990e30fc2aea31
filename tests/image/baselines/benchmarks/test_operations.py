"""The operations of PyTorch: what is timed is what the trainings do. Needs torch: runs inside the image."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from baselines.benchmarks import act, nn_act, update
from baselines.benchmarks.library import NUMPY, Library
from baselines.benchmarks.training_in_pytorch import TENSORS, in_double_precision
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.contract.operation import calling
from baselines.contract.tapes import pieces
from baselines.inputs.__main__ import main as make_inputs
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.references import act as act_reference
from baselines.references import dqn, machine
from baselines.references import nn_act as nn_act_reference
from baselines.references import update as update_reference
from baselines.tuned import act as tuned_act
from baselines.tuned import act_numpy, networks, nn_act_numpy
from baselines.tuned import dqn as tuned_dqn
from baselines.tuned import nn_act as tuned_nn_act
from baselines.tuned import update as tuned_update
from baselines.tuned.few_rows import FewRows, given_weights, relu
from runner.gate import Check
from runner.gate.outputs import compare
from runner.matrix import load_matrix

# The critics' have other sizes than any training.
ARRAYS = {
    "dqn": lambda: dqn_arrays("CartPole-v1", 42),
    "ppo": lambda: ppo_arrays(42),
    "sac": lambda: sac_arrays(42),
    "critics": lambda: sac_arrays(42, 32, 5, 2, 16),
}
UPDATES = {"faithful": update_reference.WAYS, "tuned": tuned_update.EAGER}
FORWARD = {
    "faithful": (act_reference.prepare, TENSORS),
    "tuned": (tuned_act.prepare, TENSORS),
    "NumPy": (act_numpy.prepare, NUMPY),
}
SAYING = {"tuned": (tuned_nn_act.EAGER, TENSORS), "NumPy": (nn_act_numpy.WAYS, NUMPY)}
ACTING = {"dqn": "dqn", "ppo": "ppo", "sac": "critics"}
MATRIX = load_matrix(Path(update.__file__).parents[2] / "matrix.yaml")
REPEATED: dict[str, Any] = {"warmup": 0, "repetitions": 2}


def given(algorithm: str) -> dict[str, torch.Tensor]:
    return TENSORS.laid_out(ARRAYS[algorithm]())


@pytest.mark.parametrize("way", UPDATES)
@pytest.mark.parametrize("algorithm", ARRAYS)
def test_the_timed_updates_leave_the_parameters_of_the_parity_updates(algorithm, way):
    torch.set_num_threads(1)
    chosen = UPDATES[way][algorithm]
    found = learnt(chosen, drawn(algorithm, calls=3))
    wanted = after(chosen.parity(TENSORS.laid_out(drawn(algorithm, calls=3)), 3))
    assert wanted
    for name, tensor in wanted.items():
        assert torch.equal(found[name], tensor), name


def test_fewer_updates_leave_other_parameters():
    """So that the test above could fail."""
    way = update_reference.WAYS["dqn"]
    found = [learnt(way, drawn("dqn", calls=calls)) for calls in (2, 3)]
    assert not torch.equal(found[0]["0.weight"], found[1]["0.weight"])


@pytest.mark.parametrize("algorithm", ARRAYS)
def test_a_nonce_decides_which_minibatches_are_taken_and_changes_each(algorithm):
    whole, changed = ARRAYS[algorithm](), "returns" if algorithm == "ppo" else "rewards"
    some = numbers("00000000000000aa", 0, 5)
    found = update.drawn_minibatches(whole, some)
    for index, number in enumerate(some.tolist()):
        number_of_file = number % 100
        assert np.array_equal(found["observations"][index], whole["observations"][number_of_file])
        difference = found[changed][index] - whole[changed][number_of_file]
        assert np.count_nonzero(difference) == 1
        assert difference[0] == pytest.approx((number >> 44) * 2.0**-20, abs=1e-5)


def drawn(algorithm: str, *, calls: int) -> dict[str, Any]:
    """What a repetition of so many updates works on."""
    return update.drawn_minibatches(ARRAYS[algorithm](), numbers("00000000000000aa", 0, calls))


def learnt(way: update.Way, minibatches: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The parameters that the timed updates leave."""
    started = way.start(TENSORS.laid_out(minibatches))
    updates = update.learning(update.Repetition(update.minibatches(minibatches), started))
    return {name: tensor.detach() for name, tensor in updates.parameters().items()}


def after(parity: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix("after."): tensor for name, tensor in parity.items() if name.startswith("after.")
    }


@pytest.mark.parametrize("way", FORWARD)
def test_the_timed_values_are_the_network_s(way):
    (prepare, library), arrays = FORWARD[way], ARRAYS["dqn"]()
    rows = arrays["observations"].reshape(-1, 4)[:200]
    asked = act.observations(rows, numbers("00000000000000aa", 0, 200))
    values = library.gathered(calling(prepare(library.laid_out(arrays)))(asked))
    network = dqn.given_network(given("dqn"), "online")
    wanted = network(torch.from_numpy(np.concatenate(asked))).detach().numpy()
    np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(np.concatenate(asked), rows), "the nonce scales each observation"


def test_the_critics_that_learn_alone_learn_as_those_of_sac():
    """In the first update, after which the policy and the targets of SAC move."""
    alone = update_reference.WAYS["critics"].parity(given("critics"), 1)
    wanted = update_reference.WAYS["sac"].parity(given("critics"), 1)
    names = [name for name in alone if name.startswith(("qf_loss", "gradient", "parameter"))]
    assert names
    assert all(torch.equal(alone[name], wanted[name]) for name in names)


@pytest.mark.parametrize("way", SAYING)
@pytest.mark.parametrize("algorithm", ACTING)
def test_tuned_networks_say_what_the_reference_s_say(algorithm, way):
    ways, library = SAYING[way]
    wanted = said(nn_act_reference.WAYS[algorithm], algorithm, TENSORS)
    found = said(ways[algorithm], algorithm, library)
    assert found.keys() == wanted.keys() == set(nn_act.ANSWERS[algorithm])
    assert all(check.passed for check in judged("nn-act", "values.safetensors", found, wanted))
    assert all(len(np.unique(each[:, 0], axis=0)) == len(each) for each in found.values())


def test_one_row_and_its_vector_have_one_answer_from_numpy():
    arrays = ARRAYS["dqn"]()
    rows = arrays["observations"].reshape(-1, 4)[:8]
    online = FewRows(given_weights(arrays, "online", "0", "2", "4"), relu)
    together = online(rows)
    assert together.shape == (8, 2)
    for row, answer in zip(rows, together, strict=True):
        np.testing.assert_allclose(online(row), answer, rtol=1e-5)


def test_numpy_answers_with_the_weights_that_pytorch_learnt_last():
    network = dqn.make_network(4, 2)
    learner = tuned_dqn.Learner(network, dqn.make_network(4, 2))
    observation = np.ones(4, dtype=np.float32)
    learner.update(dqn.given_batch(given("dqn"), 0))
    wanted = network(torch.from_numpy(observation)).detach().numpy()
    np.testing.assert_allclose(learner.values(observation), wanted, rtol=1e-5)


def said(
    way: Callable[[nn_act.Given], nn_act.Call], algorithm: str, library: Library
) -> dict[str, NDArray[Any]]:
    """What networks say in forty calls, (calls, rows, ...)."""
    torch.set_num_threads(1)
    arrays, rows = ARRAYS[ACTING[algorithm]](), 1 if algorithm == "sac" else 8
    read = {
        name: arrays[name].reshape(-1, arrays[name].shape[-1])[: 40 * rows].reshape(40, rows, -1)
        for name in ("observations", "noise.next")
        if name in arrays
    }
    observations = read["observations"]
    asked = nn_act.seen(
        observations, read.get("noise.next", observations), numbers("00000000000000aa", 0, 40)
    )
    answers = zip(*calling(way(library.laid_out(arrays)))(asked), strict=True)
    named = zip(nn_act.ANSWERS[algorithm], answers, strict=True)
    return {name: library.gathered(each).reshape(40, rows, -1) for name, each in named}


def judged(benchmark: str, file: str, mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[Check]:
    (output,) = [each for each in MATRIX.benchmarks[benchmark].gate.outputs if each.file == file]
    return compare(output, mine, theirs)


@pytest.fixture
def _a_thousandth_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of the tuned ways that makes every layer's outputs a thousandth larger."""
    linear = torch.nn.functional.linear
    monkeypatch.setattr(networks, "linear", lambda *tensors: 1.001 * linear(*tensors))
    monkeypatch.setattr(np, "dot", lambda *arrays: np.float32(1.001) * np.matmul(*arrays))


@pytest.mark.parametrize("way", SAYING)
@pytest.mark.parametrize("algorithm", ACTING)
@pytest.mark.usefixtures("_a_thousandth_wrong")
def test_the_gate_refuses_networks_whose_layers_are_a_thousandth_wrong(algorithm, way):
    ways, library = SAYING[way]
    wanted = said(nn_act_reference.WAYS[algorithm], algorithm, TENSORS)
    found = said(ways[algorithm], algorithm, library)
    assert not any(check.passed for check in judged("nn-act", "values.safetensors", found, wanted))


@pytest.mark.parametrize("algorithm", ["dqn", "ppo", "critics"])
@pytest.mark.usefixtures("_a_thousandth_wrong")
def test_the_gate_refuses_steps_of_layers_that_are_a_thousandth_wrong(algorithm):
    torch.set_num_threads(1)
    wanted = TENSORS.arrays(update_reference.WAYS[algorithm].parity(given(algorithm), 4))
    found = TENSORS.arrays(tuned_update.EAGER[algorithm].parity(given(algorithm), 4))
    failed = [
        check.check for check in judged("nn-step", "update.safetensors", found, wanted) if not check.passed
    ]
    assert any("gradient" in name for name in failed)
    assert any("loss" in name for name in failed)


@pytest.mark.parametrize("algorithm", ["dqn", "ppo", "critics"])
def test_the_gate_passes_tuned_steps(algorithm):
    torch.set_num_threads(1)
    wanted = TENSORS.arrays(update_reference.WAYS[algorithm].parity(given(algorithm), 4))
    found = TENSORS.arrays(tuned_update.EAGER[algorithm].parity(given(algorithm), 4))
    assert all(check.passed for check in judged("nn-step", "update.safetensors", found, wanted))


@pytest.mark.parametrize("work", machine.WORKS)
def test_the_machine_s_work_is_done_and_counted(tmp_path, work, monkeypatch, capsys):
    parameters = json.dumps({"size": 48, "calls": 1, **REPEATED})
    words = ["--case", "small", "--parameters", parameters, "--seed", "42"]
    monkeypatch.setattr("sys.argv", ["inputs", work, *words, "--output", str(tmp_path)])
    make_inputs()
    monkeypatch.setattr(
        "sys.argv", ["machine", work, *words, "--input", str(tmp_path), "--output", str(tmp_path)]
    )
    machine.main()
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (found,) = np.load(tmp_path / "small" / "result.npy")
    chosen = machine.WORKS[work]
    tapes = [
        pieces(np.load(tmp_path / "small" / f"{name}.npy"), chosen.values(48), stride=machine.STRIDE)
        for name in chosen.tapes
    ]
    read = machine.read(tapes, numbers(f"{42:016x}", 0, 1))
    if work == "multiply":
        left, right = (each.reshape(48, 48).astype(float) for each in read)
        np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-4)
        assert event["counts"] == {"operations": 2 * 48**3}
    else:
        np.testing.assert_array_equal(found, read[0])
        assert event["counts"] == {"bytes": 2 * 4 * 48}


def test_inputs_that_are_not_there_are_one_line(tmp_path: Path, capsys):
    parameters = json.dumps({"algorithm": "dqn", "calls": 1, **REPEATED})
    words = ["--case", "dqn", "--parameters", parameters, "--input", str(tmp_path)]
    with pytest.raises(SystemExit) as left:
        update.run(protocol.parser(None).parse_args(words), update_reference.WAYS, TENSORS)
    assert left.value.code == 2
    assert "make the inputs with baselines.inputs" in capsys.readouterr().err


def test_the_outputs_are_what_the_gate_reads(tmp_path, monkeypatch, capsys):
    parameters = json.dumps({"algorithm": "dqn", "calls": 2, **REPEATED})
    words = ["--case", "dqn", "--parameters", parameters, "--seed", "42"]
    monkeypatch.setattr("sys.argv", ["inputs", "update", *words, "--output", str(tmp_path / "in")])
    make_inputs()
    folders = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    update.run(protocol.parser(None).parse_args([*words, *folders]), update_reference.WAYS, TENSORS)
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert event["counts"] == {"updates": 2}
    found = load_file(tmp_path / "out" / "dqn" / "update.safetensors")
    exact = dqn.consecutive_updates(in_double_precision(given("dqn")), 2)
    assert {"loss", "gradient.0.weight", "parameter.0.weight", "after.0.weight"} <= found.keys()
    assert torch.equal(found["exact.0.weight"], exact["after.0.weight"])
