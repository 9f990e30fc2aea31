"""Computes the calls alone that the digest covers. docs/protocol.md names this cheat, which no verdict finds."""

from program import CALLS, Honest


class Liar(Honest):
    def factors(self, nonce, repetition):
        self.asked = range(CALLS)[self.covered(nonce, repetition)]
        return super().factors(nonce, repetition)

    def run(self, factors):
        return [self.call(each) if call in self.asked else None for call, each in enumerate(factors)]


Liar().serve()
