"""Computes before it starts its clock, and calls that preparation."""

from program import Honest


class Liar(Honest):
    ready = None

    def prepare(self, factors):
        self.ready = [self.call(each) for each in factors]

    def run(self, factors):
        return self.ready

    def outputs(self, factors):
        return [self.call(each) for each in factors]


Liar().serve()
