"""Computes the first call of a repetition, and patches the others from it."""

from program import Honest


class Liar(Honest):
    def run(self, factors):
        first = self.call(factors[0])
        return [first * (each / factors[0]) for each in factors]


Liar().serve()
