"""The replay buffer in a file. Run: python -m unittest discover -s tests (with torchforge importable)."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torchforge

WIDTH = 3

# Goes on where the file ends, and says now and then how many it has pushed.
PUSHES_UNTIL_IT_IS_KILLED = """
import sys
import numpy as np
import torchforge

ring = torchforge.DiskReplayBuffer.open(sys.argv[1])
number = int(sys.argv[2])
while True:
    row = np.full(3, number, np.float32)
    ring.push(row, row + 0.5, -number, number, number % 2 == 1, number % 3 == 1)
    number += 1
    if number % 23 == 0:
        print(number, flush=True)
"""


def push(ring, number):
    row = np.full(WIDTH, number, np.float32)
    ring.push(row, row + 0.5, -number, number, number % 2 == 1, number % 3 == 1)


class DiskReplayBuffer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ring"

    def held(self, ring):
        """The numbers of all transitions that are held, each of which must be whole."""
        if len(ring) == 0:
            return []
        drawn = ring.sample(30 * len(ring))
        numbers = drawn.rewards
        np.testing.assert_array_equal(drawn.observations, np.repeat(numbers[:, None], WIDTH, axis=1))
        np.testing.assert_array_equal(drawn.next_observations, drawn.observations + 0.5)
        np.testing.assert_array_equal(drawn.actions[:, 0], -numbers)
        np.testing.assert_array_equal(drawn.terminated, numbers % 2 == 1)
        np.testing.assert_array_equal(drawn.truncated, numbers % 3 == 1)
        found = np.unique(numbers).astype(int).tolist()
        self.assertEqual(len(found), len(ring), "a transition was never drawn")
        return found

    def test_what_was_pushed_is_there_when_the_file_is_opened_again(self):
        with torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH) as ring:
            for number in range(15):
                push(ring, number)
            self.assertEqual(self.held(ring), list(range(15)))
        with torchforge.DiskReplayBuffer.open(self.path) as ring:
            self.assertEqual(self.held(ring), list(range(15)))
            ring.verify()
            for number in range(15, 100):
                push(ring, number)
            held = self.held(ring)
            self.assertGreaterEqual(len(ring), ring.capacity)
            self.assertGreaterEqual(ring.capacity, 20)
            self.assertEqual(held, list(range(100 - len(ring), 100)))

    def test_a_killed_process_loses_at_most_the_block_that_was_not_sealed(self):
        ring = torchforge.DiskReplayBuffer.create(self.path, 300, WIDTH)
        capacity, block, left = ring.capacity, ring.block_rows, []
        ring.close()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        for round_ in range(4):
            first = left[-1] + 1 if left else 0
            program = [sys.executable, "-c", PUSHES_UNTIL_IT_IS_KILLED, str(self.path), str(first)]
            with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as child:
                for _ in range(3 + 7 * round_):
                    said = int(child.stdout.readline())
                child.kill()
            with torchforge.DiskReplayBuffer.open(self.path) as ring:
                ring.verify()
                left = self.held(ring)
            self.assertGreater(left[-1] + 1 + block, said)
            self.assertGreaterEqual(len(left), min(capacity, left[-1] + 1))
        self.assertGreater(left[0], 0, "the ring never went round")

    def test_what_is_sealed_or_flushed_is_in_the_file_before_the_ring_is_closed(self):
        copy = self.path.with_name("copy")
        with torchforge.DiskReplayBuffer.create(self.path, 80, WIDTH) as ring:
            kept = 0
            for number, keep in enumerate((ring.seal, ring.flush)):
                push(ring, number)
                copy.write_bytes(self.path.read_bytes())
                with torchforge.DiskReplayBuffer.open(copy) as left:
                    self.assertEqual(len(left), kept, "what was not sealed is not there")
                keep()
                kept = number + 1
                copy.write_bytes(self.path.read_bytes())
                with torchforge.DiskReplayBuffer.open(copy) as left:
                    self.assertEqual(self.held(left), list(range(kept)))

    def test_many_at_once_are_kept_as_one_by_one(self):
        numbers = np.arange(50, dtype=np.float32)
        rows = np.repeat(numbers[:, None], WIDTH, axis=1)
        with torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH) as ring:
            ring.extend(rows, rows + 0.5, -numbers[:, None], numbers, numbers % 2 == 1, numbers % 3 == 1)
            held = self.held(ring)
            self.assertEqual(held, list(range(50 - len(ring), 50)))

    def test_a_seed_repeats_the_draws_and_out_is_written_where_it_lies(self):
        with torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH, seed=5) as ring:
            for number in range(20):
                push(ring, number)
            first = ring.sample(32)
            numbers, view = first.rewards.copy(), first.rewards
            self.assertIs(ring.sample(32, out=first), first)
            self.assertFalse(np.array_equal(view, numbers))
            ring.seed(5)
            np.testing.assert_array_equal(ring.sample(32).rewards, numbers)
        with torchforge.DiskReplayBuffer.open(self.path, seed=5) as ring:
            np.testing.assert_array_equal(ring.sample(32).rewards, numbers)

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        with torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH) as ring:
            push(ring, 0)
            row = np.zeros(WIDTH, np.float32)
            with self.assertRaisesRegex(ValueError, r"observation has shape \[1\] and must have \[3\]"):
                ring.push(row[:1], row, 0, 0, False, False)
            with self.assertRaisesRegex(ValueError, "reward is nan and must be a finite number"):
                ring.push(row, row, 0, np.nan, False, False)
            with self.assertRaisesRegex(ValueError, "out is a minibatch of 2 transitions .* must be of 3"):
                ring.sample(3, out=ring.sample(2))
            with self.assertRaisesRegex(
                MemoryError, f"batch_size is {1 << 50}, for which there is no memory"
            ):
                ring.sample(1 << 50)
            self.assertEqual(self.held(ring), [0])
            with self.assertRaisesRegex(OSError, "another buffer has the file open"):
                torchforge.DiskReplayBuffer.open(self.path)
        for call in (len, torchforge.DiskReplayBuffer.seal, lambda ring: ring.sample(1)):
            with self.assertRaisesRegex(ValueError, "the ring is closed; open its file again"):
                call(ring)
        with self.assertRaisesRegex(ValueError, "capacity is 0 and must be a whole number from 1"):
            torchforge.DiskReplayBuffer.create(self.path, 0, WIDTH)
        with torchforge.DiskReplayBuffer.open(self.path) as ring:
            self.assertEqual(self.held(ring), [0], "a call that was refused replaced the file")

    def test_a_file_that_is_no_ring_is_refused_with_the_place_and_what_was_expected_there(self):
        with self.assertRaisesRegex(OSError, "ring: opening failed"):
            torchforge.DiskReplayBuffer.open(self.path)
        with self.assertRaisesRegex(OSError, "making it failed"):
            torchforge.DiskReplayBuffer.create(self.path / "none", 20, WIDTH)
        torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH).close()
        whole = self.path.read_bytes()
        for damaged, said in (
            (b"", "the file ends at offset 0"),
            (whole[:-1], "expected all blocks of the buffer"),
            (b"X" + whole[1:], "offset 0: expected the word TFREPLAY"),
            (whole[:17] + b"\1" + whole[18:], "offset 64: expected the checksum of the header"),
        ):
            self.path.write_bytes(damaged)
            with self.assertRaisesRegex(ValueError, said):
                torchforge.DiskReplayBuffer.open(self.path)

    def test_a_block_that_was_changed_is_found_by_verification(self):
        with torchforge.DiskReplayBuffer.create(self.path, 20, WIDTH) as ring:
            for number in range(20):
                push(ring, number)
        damaged = bytearray(self.path.read_bytes())
        damaged[damaged.index(np.full(WIDTH, 7, np.float32).tobytes())] ^= 1
        self.path.write_bytes(damaged)
        with (
            torchforge.DiskReplayBuffer.open(self.path) as ring,
            self.assertRaisesRegex(ValueError, "checksum"),
        ):
            ring.verify()


if __name__ == "__main__":
    unittest.main()
