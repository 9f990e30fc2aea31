"""Does no work, claims a nanosecond, and computes what is asked for when it is asked."""

from program import CALLS, Honest


class Liar(Honest):
    def run(self, factors):
        return [None] * CALLS

    def claim(self, seconds):
        return 1e-9

    def digest(self, nonce, repetition, outputs):
        return "0" * 16

    def outputs(self, factors):
        return [self.call(each) for each in factors]


Liar().serve()
