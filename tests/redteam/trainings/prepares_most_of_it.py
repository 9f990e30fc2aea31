"""Has most of the work done before it says that it is ready."""

import training
from training import Honest


class Liar(Honest):
    def begin(self, seed):
        self.seed = seed

    def train(self, seed):
        if seed != self.seed:
            return self.trained(seed)
        training.STEPS //= 4
        weights = self.trained(seed)
        training.STEPS *= 4
        return weights


Liar().serve()
