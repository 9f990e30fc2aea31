"""Computes half of each vector; the rest is what was there before."""

import numpy as np

from program import LENGTH, Honest, X


class Liar(Honest):
    def call(self, factor):
        output = np.zeros(LENGTH)
        output[: LENGTH // 2] = np.sin(X[: LENGTH // 2] * factor)
        return output


Liar().serve()
