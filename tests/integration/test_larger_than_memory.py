"""A dataset of four times the memory limit, written and loaded in the pinned image."""

from conftest import HOST, docker

MEMORY = 128 * 2**20
# Frames of 84x84x4 bytes in shards of 16 MiB.
PROGRAM = """
import numpy as np
import torchforge

SHARDS, ROWS, BYTES = 32, 595, 84 * 84 * 4
paths = [f"/data/{shard}.arrow" for shard in range(SHARDS)]
for shard, path in enumerate(paths):
    frames = np.full((ROWS, BYTES), shard, np.uint8)
    frames[:, :8] = np.arange(shard * ROWS, (shard + 1) * ROWS)[:, None].view(np.uint8)
    torchforge.write_dataset(path, {"frame": frames})
dataset = torchforge.MmapDataset(paths)
for shuffle in (False, True):
    seen = []
    for batch in torchforge.DataLoader(dataset, 32, shuffle=shuffle, seed=1, workers=1):
        frames = batch["frame"]
        numbers = np.ascontiguousarray(frames[:, :8]).view(np.int64)[:, 0]
        assert (frames[:, 8:] == (numbers // ROWS).astype(np.uint8)[:, None]).all()
        seen.append(numbers)
        # A shuffled row is read from the disk alone, which a slow disk does for minutes.
        if shuffle and len(seen) == 64:
            break
    order = np.concatenate(seen)
    assert len(np.unique(order)) == (64 * 32 if shuffle else SHARDS * ROWS)
    assert (order[0] == 0) != shuffle
print(len(dataset) * BYTES)
"""


def test_a_dataset_of_four_times_the_memory_is_loaded_within_it(images: None) -> None:
    limits = ("--memory", str(MEMORY), "--memory-swap", str(MEMORY), "--cpus", "1")
    # Its volume is on the disk: a file system in memory would count within the limit.
    done = docker(
        *("run", "--rm", "--network", "none", "--user", "0", "--volume", "/data", *limits),
        *("--entrypoint", "python3", f"forge-bench:core-trixie-{HOST}", "-c", PROGRAM),
    )
    assert done.returncode == 0, (
        f"137 is the kernel's end for too much memory: {done.returncode} {done.stderr}"
    )
    assert int(done.stdout) >= 4 * MEMORY
