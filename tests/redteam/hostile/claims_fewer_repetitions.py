"""Claims fewer repetitions than were asked for."""

from program import Honest


class Liar(Honest):
    def round(self, nonce, repetitions):
        return super().round(nonce, max(0, repetitions - 1))


Liar().serve()
