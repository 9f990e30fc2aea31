"""Computes once, and gives that answer ever after."""

from program import Honest


class Liar(Honest):
    answer = None

    def run(self, factors):
        self.answer = self.answer or super().run(factors)
        return self.answer


Liar().serve()
