"""The operations of PyTorch: what is timed is what the trainings do. Needs torch: runs inside the image."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from baselines.benchmarks import act, update
from baselines.benchmarks.training_in_pytorch import in_double_precision
from baselines.contract import protocol
from baselines.contract.numbers import numbers
from baselines.contract.operation import calling
from baselines.contract.tapes import pieces
from baselines.inputs.__main__ import main as make_inputs
from baselines.inputs.parity import dqn_arrays, ppo_arrays, sac_arrays
from baselines.references import act as act_reference
from baselines.references import dqn, machine
from baselines.references import update as update_reference
from baselines.tuned import act as tuned_act
from baselines.tuned import update as tuned_update

ARRAYS = {
    "dqn": lambda: dqn_arrays("CartPole-v1", 42),
    "ppo": lambda: ppo_arrays(42),
    "sac": lambda: sac_arrays(42),
}
UPDATES = {"faithful": update_reference.WAYS, "tuned": tuned_update.EAGER}
FORWARD = {"faithful": act_reference.prepare, "tuned": tuned_act.prepare}
REPEATED: dict[str, Any] = {"warmup": 0, "repetitions": 2}


def given(algorithm: str) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(each) for name, each in ARRAYS[algorithm]().items()}


@pytest.mark.parametrize("way", UPDATES)
@pytest.mark.parametrize("algorithm", ARRAYS)
def test_the_timed_updates_leave_the_parameters_of_the_parity_updates(algorithm, way):
    torch.set_num_threads(1)
    chosen = UPDATES[way][algorithm]
    found = learnt(chosen, drawn(algorithm, calls=3))
    wanted = after(chosen.parity(drawn(algorithm, calls=3), 3))
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
    whole, changed = given(algorithm), "returns" if algorithm == "ppo" else "rewards"
    some = numbers("00000000000000aa", 0, 5)
    found = update.drawn_minibatches(whole, some)
    for index, number in enumerate(some.tolist()):
        number_of_file = number % 100
        assert torch.equal(found["observations"][index], whole["observations"][number_of_file])
        difference = found[changed][index] - whole[changed][number_of_file]
        assert torch.count_nonzero(difference) == 1
        assert difference[0] == pytest.approx((number >> 44) * 2.0**-20, abs=1e-5)


def drawn(algorithm: str, *, calls: int) -> dict[str, torch.Tensor]:
    """What a repetition of so many updates works on."""
    return update.drawn_minibatches(given(algorithm), numbers("00000000000000aa", 0, calls))


def learnt(way: update.Way, minibatches: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The parameters that the timed updates leave."""
    updates = update.learning(update.Repetition(minibatches, way.start(minibatches)))
    return {name: tensor.detach() for name, tensor in updates.parameters().items()}


def after(parity: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix("after."): tensor for name, tensor in parity.items() if name.startswith("after.")
    }


@pytest.mark.parametrize("way", FORWARD)
def test_the_timed_values_are_the_network_s(way):
    tensors = given("dqn")
    rows = tensors["observations"].flatten(0, 1)[:200].numpy()
    asked = act.observations(rows, numbers("00000000000000aa", 0, 200))
    values = torch.cat(calling(FORWARD[way](tensors))(asked)).detach()
    wanted = dqn.given_network(tensors, "online")(torch.from_numpy(np.concatenate(asked))).detach()
    torch.testing.assert_close(values, wanted, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(np.concatenate(asked), rows), "the nonce scales each observation"


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
        update.run(protocol.parser(None).parse_args(words), update_reference.WAYS)
    assert left.value.code == 2
    assert "make the inputs with baselines.inputs" in capsys.readouterr().err


def test_the_outputs_are_what_the_gate_reads(tmp_path, monkeypatch, capsys):
    parameters = json.dumps({"algorithm": "dqn", "calls": 2, **REPEATED})
    words = ["--case", "dqn", "--parameters", parameters, "--seed", "42"]
    monkeypatch.setattr("sys.argv", ["inputs", "update", *words, "--output", str(tmp_path / "in")])
    make_inputs()
    folders = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    update.run(protocol.parser(None).parse_args([*words, *folders]), update_reference.WAYS)
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert event["counts"] == {"updates": 2}
    found = load_file(tmp_path / "out" / "dqn" / "update.safetensors")
    exact = dqn.consecutive_updates(in_double_precision(given("dqn")), 2)
    assert {"loss", "gradient.0.weight", "parameter.0.weight", "after.0.weight"} <= found.keys()
    assert torch.equal(found["exact.0.weight"], exact["after.0.weight"])
