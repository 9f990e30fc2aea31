"""`act` as `tuned/dqn.py` acts: by NumPy."""

from baselines.benchmarks import act
from baselines.benchmarks.library import NUMPY
from baselines.contract import protocol
from baselines.tuned.few_rows import FewRows, given_weights, relu


def prepare(given: act.Given) -> act.Forward:
    """The forward pass that is timed: of a vector, which takes less time than a row."""
    online = FewRows(given_weights(given, "online", "0", "2", "4"), relu)
    return lambda observation: online(observation[0])[None]


if __name__ == "__main__":
    act.run(protocol.parser(__doc__).parse_args(), prepare, NUMPY)
