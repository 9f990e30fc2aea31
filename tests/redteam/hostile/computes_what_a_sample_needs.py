"""Computes one element in a hundred, as a lazy library does for who reads no more, and guesses the digest from them."""

import numpy as np

from program import CALLS, Honest, X

SHARE = 100


class Liar(Honest):
    def run(self, factors):
        return [np.sin(X[::SHARE] * each) for each in factors]

    def digest(self, nonce, repetition, outputs):
        return super().digest(nonce, repetition, [np.repeat(each, SHARE) for each in outputs])

    def outputs(self, factors):
        assert len(factors) == CALLS
        return [self.call(each) for each in factors]


Liar().serve()
