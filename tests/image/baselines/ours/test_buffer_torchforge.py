"""The module's ring keeps and hands out what the reference's does. Needs the extension module: runs inside the image."""

from baselines.benchmarks.buffer_push import transition_sums
from baselines.benchmarks.buffer_sample import Drawn, membership
from baselines.inputs.transitions import Fields, made
from baselines.ours import buffer_torchforge
from baselines.references import buffer as reference


def test_it_keeps_what_the_reference_keeps() -> None:
    tape = made(30, 4, 1)
    mine, theirs = buffer_torchforge.Ring(20, 4), reference.Ring(20, 4)
    for ring in (mine, theirs):
        for row in range(30):
            ring.push(*ring.laid_out(Fields(*(field[row : row + 1] for field in tape))))
    assert (transition_sums(mine.read(slice(0, 20))) == transition_sums(theirs.read(slice(0, 20)))).all()


def test_what_it_draws_is_of_the_tape() -> None:
    tape, ring = made(50, 4, 1), buffer_torchforge.Ring(50, 4)
    ring.fill(tape)
    ring.seed(1)
    (drawn,) = ring.gathered([ring.sample(256, 0)])
    rows = membership(Drawn(*(field[None] for field in drawn)), tape)
    assert rows.min() >= 0
    assert len(set(rows.reshape(-1).tolist())) > 40
