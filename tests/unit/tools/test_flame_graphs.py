"""Flame graphs: what becomes of a sampler's stacks, and what is drawn of them."""

import xml.etree.ElementTree as ET

from tools.flame_graphs import drawn, read_stacks

TRAIN = "main (baselines/benchmarks/training.py);train (baselines/ours/trainer.py)"
STACKS = f"""\
{TRAIN};step (baselines/ours/trainer.py);0x0 (torchforge/_torchforge.abi3.so);0x1 (torchforge/_torchforge.abi3.so) 30
{TRAIN};Linear.forward (torch/nn/modules/linear.py);at::linear (libtorch_cpu.so.2.6.0);0x1 (libopenblas.so.0) 60
{TRAIN};rare & <small> (baselines/ours/trainer.py) 1
{TRAIN} 9
0x1 (libc.so.6);thread_main (libtorch_cpu.so.2.6.0) 7
<module> (gymnasium/__init__.py) 5
"""


def test_a_stack_begins_at_the_training_and_a_library_is_one_frame() -> None:
    stacks = read_stacks(STACKS)
    train = stacks.training
    assert (train.samples, stacks.outside) == (100, 12)
    assert {name: (each.layer, each.samples) for name, each in train.called.items()} == {
        "step (baselines/ours/trainer.py)": ("python", 30),
        "Linear.forward (torch/nn/modules/linear.py)": ("pytorch", 60),
        "rare & <small> (baselines/ours/trainer.py)": ("python", 1),
    }
    (rust,) = train.called["step (baselines/ours/trainer.py)"].called.values()
    assert (rust.name, rust.layer, rust.samples, rust.called) == ("_torchforge.abi3.so", "rust", 30, {})
    (library,) = train.called["Linear.forward (torch/nn/modules/linear.py)"].called.values()
    (below,) = library.called.values()
    # What PyTorch calls is its own time.
    assert [(each.name, each.layer) for each in (library, below)] == [
        ("libtorch_cpu.so.2.6.0", "pytorch"),
        ("libopenblas.so.0", "pytorch"),
    ]


def test_frames_are_as_wide_as_their_samples_and_lie_above_their_callers() -> None:
    picture = ET.fromstring(drawn(read_stacks(STACKS), "a & b", "samples"))  # noqa: S314 - our own
    places = {}
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        title, rect = group[0], group[1]
        places[str(title.text)] = tuple(float(rect.attrib[name]) for name in ("x", "y", "width"))
    train, step, forward = (
        places[name]
        for name in (
            "train (baselines/ours/trainer.py): 100.0 %",
            "step (baselines/ours/trainer.py): 30.0 %",
            "Linear.forward (torch/nn/modules/linear.py): 60.0 %",
        )
    )
    assert (train[0], forward[2] + 0.5, step[2] + 0.5) == (0.0, 720.0, 360.0)
    assert train[1] > step[1] == forward[1] > places["libtorch_cpu.so.2.6.0: 60.0 %"][1]
    assert "rare & <small> (baselines/ours/trainer.py): 1.0 %" in places


def test_a_narrow_frame_is_left_out() -> None:
    rare = f"{TRAIN} 999\n{TRAIN};rare (baselines/ours/trainer.py) 1\n"
    assert "rare" not in drawn(read_stacks(rare), "a", "b")
