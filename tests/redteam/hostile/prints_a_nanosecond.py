"""Does all of the work and claims a nanosecond for it."""

from program import Honest


class Liar(Honest):
    def claim(self, seconds):
        return 1e-9


Liar().serve()
