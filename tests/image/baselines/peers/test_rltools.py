"""The training in RLtools plays Gymnasium's Pendulum. Needs what is compiled with it: runs inside the image `peers`."""

import numpy as np
import pytest

from baselines.benchmarks import training
from baselines.benchmarks.action_log import arrays_of
from baselines.benchmarks.replay import played, spans
from baselines.peers import sac_rltools
from baselines.references import sac

# Sizes that docker/rltools.sh compiles.
CASE = {
    "environment": "Pendulum-v1",
    "learning_starts": 1000,
    "batch": 256,
    "steps": 1203,
    "parity_updates": 1,
}


def trained(seed: int, **changed: object) -> training.Trained:
    return sac_rltools.train(sac_rltools.work.Parameters(**{**CASE, **changed}), seed)  # type: ignore[arg-type]


def test_gymnasium_plays_the_episodes_that_its_log_tells() -> None:
    found = trained(5)
    log = arrays_of(found.logs)
    # The last episode is cut off, and a next one never begins.
    assert log["0.resets"].tolist() == [0, 200, 400, 600, 800, 1000, 1200]
    assert log["0.seeds"].tolist() == [5, *[-1] * 6]
    assert len(set(log["0.actions"].ravel().tolist())) > 1150
    again = [each for span in spans(log) if (each := played("Pendulum-v1", log, span, 1)) is not None]
    assert [each[:2] for each in again] == [each[:2] for each in found.episodes]
    # A square of NumPy's may differ in its last bit.
    assert [each[2] for each in again] == pytest.approx([each.value for each in found.episodes], rel=1e-12)


def test_a_seed_decides_the_whole_training() -> None:
    one, same, other = (trained(seed, steps=1031) for seed in (1, 1, 2))
    assert one.episodes == same.episodes != other.episodes
    for name, each in one.weights.items():
        assert np.array_equal(each, same.weights[name]), name
        assert not np.array_equal(each, other.weights[name]), name


def test_its_actor_is_the_references() -> None:
    networks = sac.make_networks(3, 1)
    wanted = {name: each.shape for name, each in networks["actor"].state_dict().items()}
    assert {name: each.shape for name, each in trained(1, steps=1002).weights.items()} == wanted


def test_its_own_example_has_networks_of_its_own_widths() -> None:
    weights = trained(1, hidden=64, batch=100, learning_starts=200, steps=210).weights
    assert {name: each.shape for name, each in weights.items() if "fc2" in name} == {
        "fc2.weight": (64, 64),
        "fc2.bias": (64,),
    }


@pytest.mark.parametrize(
    "changed", [{"batch": 255}, {"hidden": 64}, {"environment": "MountainCarContinuous-v0"}]
)
def test_what_was_not_compiled_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(SystemExit, match="2"):
        trained(1, **changed)
