"""Works on inputs that it made before the window opened."""

from program import Honest


class Liar(Honest):
    def factor(self, nonce, index):
        return 7.0


Liar().serve()
