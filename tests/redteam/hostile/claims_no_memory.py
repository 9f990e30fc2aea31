"""Says that it needs a byte of memory."""

from program import Honest


class Liar(Honest):
    def memory(self):
        return {"vmhwm_bytes": 1, "cgroup_peak_bytes": 1}


Liar().serve()
