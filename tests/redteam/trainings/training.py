"""A training that answers the referee honestly; the liars beside it change one thing each.

The work: weights that a seed decides, multiplied by themselves again and again.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np

STEPS, SIZE = 100, 150
_WORD = 2**64 - 1


class Honest:
    """What each method does is what a liar does another way."""

    def begin(self, seed):
        """Before `ready`, with the public seed."""

    def trained(self, seed):
        weights = np.random.default_rng(seed).random((SIZE, SIZE))
        for _ in range(120 * STEPS):
            weights = weights @ weights
            weights /= np.abs(weights).max()
        return weights

    def train(self, seed):
        return self.trained(seed)

    def serve(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--case")
        parser.add_argument("--parameters", type=json.loads)
        parser.add_argument("--seed", type=int)
        parser.add_argument("--input")
        parser.add_argument("--output", type=pathlib.Path)
        parser.add_argument("--referee", action="store_true")
        options = parser.parse_args()
        self.begin(options.seed)
        print(json.dumps({"event": "ready"}), flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            answer = self.go(order) if order["event"] == "go" else self.outputs(order, options.output)
            print(json.dumps({"case": order["case"], **answer}), flush=True)

    def go(self, order):
        heard = time.perf_counter()
        metrics, digests, seconds = {}, [], 0.0
        if order["repetitions"]:
            start = time.perf_counter()
            self.weights = self.train(order["seed"])
            seconds = time.perf_counter() - start
            metrics = {"training_seconds": seconds}
            digests = [f"{int(self.weights.view(np.uint64).sum()) & _WORD:016x}"]
        return {
            "event": "done",
            "metrics": metrics,
            "counts": {"environment_steps": STEPS},
            "digests": digests,
            "between_seconds": max(0.0, time.perf_counter() - heard - seconds),
        }

    def outputs(self, order, output):
        for repetition in order["repetitions"]:
            folder = output / order["case"] / str(repetition)
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / "weights.npy", self.weights)
            np.save(folder / "update.npy", np.ones(3))
            episodes = [{"step": STEPS - 1, "length": STEPS, "return": float(STEPS)}]
            (folder / "episodes.json").write_text(json.dumps(episodes))
        return {"event": "written"}


if __name__ == "__main__":
    Honest().serve()
