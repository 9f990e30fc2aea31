"""Starts its clock after half of the work."""

from program import Honest


class Liar(Honest):
    def claim(self, seconds):
        return seconds / 2


Liar().serve()
