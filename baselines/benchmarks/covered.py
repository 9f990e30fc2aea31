"""The calls of a repetition that its digest covers, where all of them would take longer than the calls."""

from dataclasses import dataclass

from baselines.contract import protocol
from baselines.contract.numbers import Numbers


@dataclass(frozen=True, kw_only=True)
class Parameters(protocol.Repetitions):
    """A case whose digests cover one of `each` calls."""

    each: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("each")
        if self.each > self.calls:
            raise ValueError("'each' must be at most 'calls': a digest of nothing shows nothing")

    def covered(self, numbers: Numbers) -> slice:
        """Which calls they are: a repetition's first number decides where they begin."""
        return slice((int(numbers[0]) >> 16) % self.each, None, self.each)
