"""Claims fewer repetitions than were asked for."""

from program import Honest


class Liar(Honest):
    def round(self, nonce, first, repetitions):
        return super().round(nonce, first, max(0, repetitions - 1))


Liar().serve()
