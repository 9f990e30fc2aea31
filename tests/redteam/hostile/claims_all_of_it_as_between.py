"""Claims a nanosecond, and the rest as work between its repetitions."""

from program import CALLS, Honest


class Liar(Honest):
    spent = 0.0

    def claim(self, seconds):
        self.spent += seconds * CALLS
        return 1e-9

    def claim_between(self, seconds):
        spent, self.spent = self.spent, 0.0
        return seconds + spent


Liar().serve()
