import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baselines.inputs.gae import GaeArrays
from baselines.references import gae as reference
from baselines.tuned import gae

steps = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0])),
    min_size=1,
    max_size=40,
)


@given(steps, st.integers(1, 3), st.floats(0.9, 1.0))
def test_the_tuned_variant_has_the_loops_bits(
    trajectory: list[tuple[float, float, float]], batch: int, gamma: float
) -> None:
    fields = [np.array(each, dtype=np.float64) for each in zip(*trajectory, strict=True)]
    # Rows that differ: each is turned by its own number.
    rows = [np.stack([np.roll(each, row) for row in range(batch)]) for each in fields]
    for arrays in (GaeArrays(*fields), GaeArrays(*rows)):
        copies = [each.copy() for each in arrays]
        found, wanted = gae.prepare(arrays)(gamma), reference.prepare(arrays)(gamma)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()
        assert all(map(np.array_equal, arrays, copies)), "a repetition changed its inputs"
