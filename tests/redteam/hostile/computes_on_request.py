"""Skips all but the first repetitions of a round, and computes those that the referee asks for afterwards."""

from program import CALLS, Honest


class Liar(Honest):
    def run(self, factors):
        return super().run(factors) if self.repetition - self.first < 2 else [None] * CALLS

    def digest(self, nonce, repetition, outputs):
        return f"{repetition:016x}" if outputs[0] is None else super().digest(nonce, repetition, outputs)

    def outputs(self, factors):
        return [self.call(each) for each in factors]


Liar().serve()
