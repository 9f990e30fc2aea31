"""Says that it is done before the referee said go."""

from program import Honest


class Liar(Honest):
    def say(self, event):
        super().say(event)
        if event["event"] == "ready":
            super().say({"event": "done", "case": "sine", **self.round("0" * 16, 0, 1)})


Liar().serve()
