"""Datasets in files and their loader. Run: python -m unittest discover -s tests (with torchforge importable)."""

import os
import pickle
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np
from torchforge.data import _MOST_BLOCKS, DataLoader, MmapDataset, write_dataset

try:
    import torch
    from torchforge.torch import Batches
except ImportError:
    torch = None

FILES = Path(__file__).with_name("files")
ROWS = 100


def columns(rows=ROWS):
    numbers = np.arange(rows)
    return {
        "observation": np.repeat(numbers[:, None], 4, axis=1).astype(np.float32),
        "action": numbers.astype(np.int64),
        "frame": np.zeros((rows, 3, 2), np.uint8) + (numbers % 251).astype(np.uint8)[:, None, None],
    }


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "steps.arrow"
        write_dataset(self.path, columns(), block_rows=40)
        self.dataset = MmapDataset(self.path)

    def order(self, loader):
        return np.concatenate([batch["action"] for batch in loader]).tolist()

    def test_batches_in_the_file_s_order_are_views_of_it(self):
        wanted = columns()
        seen, bases = 0, set()
        for batch in DataLoader(self.dataset, 20):
            for name, array in batch.items():
                np.testing.assert_array_equal(array, wanted[name][seen : seen + 20])
                self.assertEqual(array.dtype, wanted[name].dtype)
                self.assertTrue(np.shares_memory(array, self.dataset._bytes[0]))
            seen += 20
            bases.add(id(batch["action"].base))
        self.assertEqual((seen, len(bases)), (ROWS, 1))

    def test_a_batch_that_goes_over_a_block_s_end_is_a_copy_of_the_same_rows(self):
        batches = list(DataLoader(self.dataset, 30))
        self.assertEqual(self.order(batches), list(range(ROWS)))
        shared = [np.shares_memory(batch["action"], self.dataset._bytes[0]) for batch in batches]
        self.assertEqual(shared, [True, False, False, True])

    def test_a_row_of_a_file_that_became_shorter_is_an_error_and_not_the_end_of_the_process(self):
        self.path.write_bytes(b"")
        with self.assertRaisesRegex(OSError, "steps.arrow"):
            self.dataset[0]
        with self.assertRaisesRegex(OSError, "steps.arrow"):
            next(iter(DataLoader(self.dataset, 20)))

    def test_other_threads_run_while_a_file_is_written(self):
        many, seen, done = np.zeros((1 << 16, 256), np.float32), False, threading.Event()

        def write():
            try:
                write_dataset(self.path.with_name("many.arrow"), {"observation": many})
            finally:
                done.set()

        writer = threading.Thread(target=write)
        writer.start()
        # The file has another name until it is whole, and one call writes all of it.
        while not done.is_set():
            seen = seen or any(self.path.parent.glob("many.arrow.*"))
        writer.join()
        self.assertTrue(self.path.with_name("many.arrow").exists())
        self.assertTrue(seen, "this thread never ran while the file was written")

    def test_shuffled_rows_come_whole_once_an_epoch_in_the_seed_s_order_for_any_workers(self):
        orders = []
        for workers in (0, 1, 3):
            loader = DataLoader(self.dataset, 7, shuffle=True, seed=5, workers=workers)
            for _ in range(2):
                batches = list(loader)
                for batch in batches:
                    np.testing.assert_array_equal(batch["observation"][:, 2], batch["action"])
                    np.testing.assert_array_equal(batch["frame"][:, 1, 1], batch["action"] % 251)
                orders.append(self.order(batches))
        self.assertEqual(sorted(orders[0]), list(range(ROWS)))
        self.assertNotEqual(orders[0], orders[1])
        self.assertEqual(orders[:2], orders[2:4])
        self.assertEqual(orders[:2], orders[4:])

    def test_batches_outlive_loader_and_dataset_and_are_never_filled_again(self):
        loader = DataLoader(self.dataset, 10, shuffle=True, workers=2)
        kept = [*loader, *DataLoader(self.dataset, 10)]
        copies = [batch["action"].copy() for batch in kept]
        for _ in range(3):
            list(loader)
        del loader, self.dataset
        for batch, copy in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(batch["action"], copy)

    def test_what_is_written_into_a_batch_never_reaches_the_file(self):
        before = self.path.read_bytes()
        for shuffle in (False, True):
            for batch in DataLoader(MmapDataset(self.path), 20, shuffle=shuffle):
                batch["observation"][:] = -1
        self.assertEqual(self.path.read_bytes(), before)
        self.assertEqual(self.order(DataLoader(self.dataset, 20)), list(range(ROWS)))

    def test_a_saved_state_goes_on_with_what_is_left(self):
        loader = DataLoader(self.dataset, 10, shuffle=True, seed=3)
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        state, rest = loader.state(), self.order(batches)
        other = DataLoader(self.dataset, 10, shuffle=True, seed=3, workers=1)
        other.resume(state)
        self.assertEqual(self.order(other), rest)
        self.assertEqual(len(rest), 60)
        with self.assertRaisesRegex(ValueError, "seed"):
            DataLoader(self.dataset, 10, shuffle=True, seed=4).resume(state)

    def test_a_state_between_any_two_batches_leads_to_those_that_are_left(self):
        for shuffle, workers, size in ((False, 0, 10), (False, 0, 30), (False, 2, 10), (True, 0, 10)):
            for taken in range(len(DataLoader(self.dataset, size)) + 1):
                loader = DataLoader(self.dataset, size, shuffle=shuffle, workers=workers)
                batches = iter(loader)
                seen = [next(batches) for _ in range(taken)]
                other = DataLoader(self.dataset, size, shuffle=shuffle)
                other.resume(loader.state())
                with self.subTest(shuffle=shuffle, workers=workers, size=size, taken=taken):
                    if taken == len(loader):
                        self.assertEqual(list(batches), [])
                        self.assertEqual(self.order(other), self.order(loader))
                    else:
                        rest = self.order(other)
                        self.assertEqual(self.order(batches), rest)
                        self.assertEqual(len(rest) + sum(len(each["action"]) for each in seen), ROWS)

    def test_a_pickled_dataset_opens_its_files_again_wherever_it_is_unpickled(self):
        here = Path.cwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.path.parent)
        for positioned in (False, True):
            sent = pickle.dumps(MmapDataset([self.path.name], positioned=positioned))
            self.assertLess(len(sent), 1000)
            os.chdir(here)
            self.assertEqual(self.order(DataLoader(pickle.loads(sent), 20)), list(range(ROWS)))  # noqa: S301
            os.chdir(self.path.parent)
        self.path.unlink()
        with self.assertRaisesRegex(OSError, "steps.arrow"):
            pickle.loads(sent)  # noqa: S301

    def test_a_pickled_loader_goes_on_with_what_is_left(self):
        loader = DataLoader(self.dataset, 10, shuffle=True, seed=3, workers=1)
        batches = iter(loader)
        for _ in range(4):
            next(batches)
        other = pickle.loads(pickle.dumps(loader))  # noqa: S301
        self.assertEqual(self.order(other), self.order(batches))
        self.assertEqual(self.order(other), self.order(loader))

    def test_an_iteration_that_another_one_ended_says_so(self):
        loader = DataLoader(self.dataset, 10)
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaises(RuntimeError):
            next(first)
        loader.resume(loader.state())
        with self.assertRaises(RuntimeError):
            next(second)
        self.assertEqual(self.order(loader), list(range(10, ROWS)))

    def test_several_files_are_one_dataset_and_may_be_read_without_the_map(self):
        for positioned in (False, True):
            dataset = MmapDataset([self.path, self.path], positioned=positioned)
            self.assertEqual(len(dataset), 2 * ROWS)
            self.assertEqual(self.order(DataLoader(dataset, 20)), 2 * list(range(ROWS)))
            self.assertEqual(len(DataLoader(dataset, 30, drop_last=True)), 6)

    def test_a_row_by_its_number_is_views_of_its_file(self):
        wanted, dataset = columns(), MmapDataset([self.path, self.path])
        for number in (0, 39, 40, ROWS - 1, ROWS, 2 * ROWS - 1, -1, -2 * ROWS):
            row = dataset[number]
            self.assertEqual(list(row), list(wanted))
            for name, array in row.items():
                self.assertEqual(array.dtype, wanted[name].dtype)
                np.testing.assert_array_equal(array, wanted[name][number % ROWS])
                self.assertTrue(any(np.shares_memory(array, file) for file in dataset._bytes))
        self.assertEqual([int(row["action"]) for row in self.dataset], list(range(ROWS)))
        for number in (np.uint8(39), np.int16(-1)):
            self.assertEqual(dataset[number]["action"], wanted["action"][number])

    def test_threads_read_rows_of_more_blocks_than_are_kept(self):
        rows = 1500
        write_dataset(self.path, {"number": np.arange(rows)}, block_rows=1)
        dataset, faults = MmapDataset(self.path), []

        def read(first):
            try:
                for row in [*range(first, rows), *range(first)] * 8:
                    if dataset[row]["number"] != row:
                        faults.append(f"row {row} has another number")
            except (KeyError, RuntimeError) as error:
                faults.append(repr(error))

        # Threads take turns as often as they can.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=read, args=(100 * number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.assertEqual(len(dataset._blocks), _MOST_BLOCKS)

    def test_what_is_written_into_a_row_never_reaches_the_file(self):
        before = self.path.read_bytes()
        self.dataset[7]["frame"][:] = 255
        self.assertEqual(self.path.read_bytes(), before)

    def test_a_row_that_cannot_be_lent_is_an_error_that_says_what_to_do(self):
        for number in (ROWS, -ROWS - 1):
            with self.assertRaisesRegex(IndexError, f"no row {number}; the dataset has {ROWS}"):
                self.dataset[number]
        for what in (1.0, "frame", slice(2)):
            with self.assertRaises(TypeError):
                self.dataset[what]
        with self.assertRaisesRegex(ValueError, "use a DataLoader"):
            MmapDataset(self.path, positioned=True)[0]

    def test_the_columns_and_checksums_can_be_asked_for(self):
        self.assertEqual(self.dataset.columns["frame"], (np.dtype(np.uint8), (3, 2)))
        self.assertEqual(self.dataset.verify(), 3)
        damaged = bytearray(self.path.read_bytes())
        place = damaged.index(columns()["action"][7:20].tobytes())
        damaged[place] ^= 1
        self.path.with_name("damaged.arrow").write_bytes(damaged)
        with self.assertRaisesRegex(ValueError, "checksum"):
            MmapDataset(self.path.with_name("damaged.arrow")).verify()

    def test_what_cannot_be_is_an_error_that_says_what_to_do(self):
        for wrong, said in (
            ({}, "give at least one"),
            ({"a": np.zeros(3), "b": np.zeros(2)}, "b has 2 rows and a has 3"),
            ({"a": np.zeros(3, np.bool_)}, "booleans to uint8"),
            ({"a": np.zeros((3, 4))[:, ::2]}, "a is not C-contiguous"),
            ({"a": np.array(1.0)}, "a has no axis of rows"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                write_dataset(self.path, wrong)
        with self.assertRaisesRegex(OSError, "missing.arrow"):
            MmapDataset(self.path.with_name("missing.arrow"))
        self.path.with_name("foreign.arrow").write_bytes(b"no dataset at all")
        with self.assertRaisesRegex(ValueError, "offset 0: expected"):
            MmapDataset(self.path.with_name("foreign.arrow"))
        for option in ("batch_size", "prefetch"):
            with self.assertRaisesRegex(ValueError, f"{option} is 0 and must be a whole number from 1"):
                DataLoader(self.dataset, **{"batch_size": 1, option: 0})
        with self.assertRaisesRegex(ValueError, "state"):
            DataLoader(self.dataset, 1).resume(b"short")

    def test_a_file_has_the_bytes_that_pyarrow_reads_without_a_copy(self):
        # tests/unit/test_dataset_files.py of the checkout opens this file with pyarrow.
        numbers = np.arange(10)
        written = {
            "observation": np.repeat(numbers[:, None], 4, axis=1).astype(np.float32),
            "action": numbers.astype(np.int64),
            "terminated": (numbers % 5 == 4).astype(np.uint8),
        }
        write_dataset(self.path, written, block_rows=8)
        self.assertEqual(self.path.read_bytes(), (FILES / "for_pyarrow.arrow").read_bytes())

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_pytorch_takes_batches_without_a_copy(self):
        loader = DataLoader(self.dataset, 20)
        for tensors in torch.utils.data.DataLoader(Batches(loader), batch_size=None):
            self.assertIsInstance(tensors["observation"], torch.Tensor)
            self.assertTrue(np.shares_memory(tensors["action"].numpy(), self.dataset._bytes[0]))
        with self.assertRaisesRegex(RuntimeError, "num_workers=0"):
            # TorchRL changes the way in which all of Python starts processes, so this says its own.
            workers = {"num_workers": 1, "multiprocessing_context": "fork"}
            next(iter(torch.utils.data.DataLoader(Batches(loader), batch_size=None, **workers)))


if __name__ == "__main__":
    unittest.main()
