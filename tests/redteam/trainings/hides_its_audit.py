"""Has the known seed's work done before, and with another seed calls most of the work preparation."""

import time

from training import Honest


class Liar(Honest):
    def begin(self, seed):
        self.seed, self.prepared = seed, self.trained(seed)

    def train(self, seed):
        return self.prepared if seed == self.seed else self.late

    def go(self, order):
        heard = time.perf_counter()
        if order.get("seed", self.seed) != self.seed:
            self.late = self.trained(order["seed"])
        before = time.perf_counter() - heard
        answer = super().go(order)
        answer["between_seconds"] += before
        return answer


Liar().serve()
