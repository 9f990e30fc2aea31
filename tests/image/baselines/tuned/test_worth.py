"""Every way of a piece of work computes the same. Needs torch: runs inside the image."""

import pytest
import torch

from baselines.tuned import worth


@pytest.mark.parametrize("make", worth.PIECES, ids=lambda make: make.__name__)
def test_all_ways_of_a_piece_compute_the_same(make: object) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rows = worth.measured(make(), 1)
    assert len(rows) > 1
    for _, microseconds, difference in rows:
        assert microseconds > 0
        assert difference in ("", "same bits") or float(difference) < 1e-4


def test_a_difference_is_told() -> None:
    one = [torch.ones(2), torch.tensor([4.0, 2.0])]
    assert worth.difference(one, [torch.ones(2), torch.tensor([4.0, 1.0])]) == "2e-01"
    assert worth.difference(one, one) == "same bits"
