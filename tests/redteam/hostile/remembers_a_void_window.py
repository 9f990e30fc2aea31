"""Spoils its first ranked window, and remembers what it computed there for the next."""

import time

from program import Honest


class Liar(Honest):
    def __init__(self):
        self.remembered = {}
        self.spoilt = False

    def call(self, factor):
        if factor in self.remembered:
            return self.remembered[factor]
        computed = super().call(factor)
        if len(self.remembered) < 400:
            self.remembered[factor] = computed
        return computed

    def claim_between(self, seconds):
        if not self.spoilt and self.first < 2**16:
            time.sleep(0.2)
            self.spoilt = True
        return seconds


Liar().serve()
