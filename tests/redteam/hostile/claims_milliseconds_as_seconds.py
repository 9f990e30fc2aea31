"""Takes milliseconds for seconds."""

from program import Honest


class Liar(Honest):
    def claim(self, seconds):
        return seconds * 1000


Liar().serve()
