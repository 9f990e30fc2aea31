"""An implementation that answers the referee honestly; the liars beside it change one thing each.

The work: y = sin(x * f), for a vector x and a factor f of each call's own.
"""

import argparse
import json
import pathlib
import sys
import time
from dataclasses import dataclass

import numpy as np

CALLS, LENGTH = 4, 20_000
X = np.linspace(0.0, 1.0, LENGTH)
_WORD = 2**64 - 1


def number(nonce, index):
    value = (int(nonce, 16) + (index + 1) * 0x9E3779B97F4A7C15) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)


@dataclass
class Honest:
    """What each method does is what a liar does another way."""

    first: int = 0
    repetition: int = 0
    each: int = 1
    """The digest covers one call of so many."""

    def covered(self, nonce, repetition):
        return slice((number(nonce, repetition * CALLS) >> 16) % self.each, None, self.each)

    def factor(self, nonce, index):
        return 1.0 + number(nonce, index) / 2**54

    def call(self, factor):
        return np.sin(X * factor)

    def prepare(self, factors):
        """Between the timed parts."""

    def run(self, factors):
        return [self.call(each) for each in factors]

    def clock(self):
        return time.perf_counter()

    def claim(self, seconds):
        return seconds

    def claim_between(self, seconds):
        return seconds

    def digest(self, nonce, repetition, outputs):
        return f"{sum(int(output.view(np.uint64).sum()) for output in outputs) & _WORD:016x}"

    def outputs(self, factors):
        """For the files that the referee asks for."""
        return self.run(factors)

    def counts(self):
        return {"elements": LENGTH}

    def memory(self):
        return {"vmhwm_bytes": None, "cgroup_peak_bytes": None}

    def factors(self, nonce, repetition):
        return [self.factor(nonce, repetition * CALLS + call) for call in range(CALLS)]

    def round(self, nonce, first, repetitions):
        began = time.perf_counter()
        seconds, digests = [], []
        self.first = first
        for repetition in range(first, first + repetitions):
            self.repetition = repetition
            factors = self.factors(nonce, repetition)
            self.prepare(factors)
            start = self.clock()
            outputs = self.run(factors)
            seconds.append((self.clock() - start) / CALLS)
            digests.append(self.digest(nonce, repetition, outputs[self.covered(nonce, repetition)]))
        between = time.perf_counter() - began - sum(seconds) * CALLS
        return {
            "metrics": {"seconds": [self.claim(each) for each in seconds]},
            "counts": self.counts(),
            "digests": digests,
            "memory": self.memory(),
            "between_seconds": max(0.0, self.claim_between(between)),
        }

    def say(self, event):
        print(json.dumps(event), flush=True)

    def serve(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--case")
        parser.add_argument("--parameters", type=json.loads)
        parser.add_argument("--seed", type=int)
        parser.add_argument("--input")
        parser.add_argument("--output", type=pathlib.Path)
        parser.add_argument("--referee", action="store_true")
        options = parser.parse_args()
        self.each = options.parameters.get("each", 1)
        self.say({"event": "ready"})
        for line in sys.stdin:
            order = json.loads(line)
            case, nonce, repetitions = order["case"], order["nonce"], order["repetitions"]
            if order["event"] == "go":
                self.say({"event": "done", "case": case, **self.round(nonce, order["first"], repetitions)})
                continue
            for repetition in repetitions:
                folder = options.output / case / str(repetition)
                folder.mkdir(parents=True)
                outputs = self.outputs(self.factors(nonce, repetition))
                np.save(folder / "y.npy", np.stack(outputs[self.covered(nonce, repetition)]))
            self.say({"event": "written", "case": case})


if __name__ == "__main__":
    Honest().serve()
