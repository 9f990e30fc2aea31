"""`calls` by the module `torchforge`: functions that are there for this measurement, and take arguments as its others do.

The package offers them to nobody, so they stand in its compiled half alone.
"""

from torchforge import _torchforge

from baselines.benchmarks import calls
from baselines.contract import protocol

COURSE = calls.Course(
    calls={
        "echo": _torchforge.call_without_arrays,
        "element": _torchforge.call_with_an_array,
        "sum": _torchforge.call_with_five_arrays,
        "copy": _torchforge.call_returning_an_array,
    }
)

if __name__ == "__main__":
    calls.run(protocol.parser(__doc__).parse_args(), COURSE)
