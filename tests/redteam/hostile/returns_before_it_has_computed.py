"""Hands its work to a thread and stops its clock at once, as asynchronous libraries do."""

from concurrent.futures import ThreadPoolExecutor

from program import Honest

POOL = ThreadPoolExecutor(1)


class Liar(Honest):
    def run(self, factors):
        return [POOL.submit(self.call, each) for each in factors]

    def digest(self, nonce, repetition, outputs):
        return super().digest(nonce, repetition, [each.result() for each in outputs])

    def outputs(self, factors):
        return [self.call(each) for each in factors]


Liar().serve()
