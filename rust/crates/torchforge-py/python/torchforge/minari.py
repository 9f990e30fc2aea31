"""Datasets of Minari, written into Arrow files and made out of them; needs the packages minari and pillow.

    files = from_minari(minari.load_dataset("D4RL/door/human-v2"), "door")
    loader = DataLoader(MmapDataset(files), batch_size=256, shuffle=True, seed=1)

    to_minari(MmapDataset(files), "door/ours-v0", observation_space, action_space)
    minari.load_dataset("door/ours-v0")

A row is one step: `observation`, `action`, `reward`, `next_observation`, `terminated`, `truncated`, and `episode`, its
episode's number. A space of several parts has a column for each, such as `observation.goal`. Minari's own code reads and
writes its files, so all of its formats are understood.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from torchforge.data import AnyPath, Batch, DataLoader, MmapDataset, write_dataset

try:
    import gymnasium
    import minari
    from gymnasium import spaces
    from minari.data_collector import EpisodeBuffer
except ImportError as error:
    raise ImportError(
        f"torchforge.minari needs Minari ({error}); install it with: pip install 'minari[arrow,hdf5]' pillow"
    ) from error

__all__ = ["from_minari", "to_minari"]

Array: TypeAlias = NDArray[Any]
Space: TypeAlias = gymnasium.Space[Any]

_NUMBERS = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
_ROWS_AT_A_TIME = 4096


def from_minari(
    dataset: minari.MinariDataset | AnyPath, folder: AnyPath, *, file_bytes: int = 256 << 20
) -> list[Path]:
    """Write the steps of a Minari dataset into Arrow files, and return their paths in order.

    One episode and one file's rows are in memory at a time. Minari's `infos` are left out.

    Args:
        dataset: what `minari.load_dataset` returned, or the folder that holds a dataset's metadata.json.
        folder: of the files, made where it is missing. Files of an earlier call are replaced or removed.
        file_bytes: a file gets no further episode from this size on.

    Raises:
        OSError: a file cannot be written.
        ValueError: a space has parts that are no numbers, such as text, or the dataset has no step.
    """
    if isinstance(dataset, str | os.PathLike):
        dataset = minari.MinariDataset(Path(dataset))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    pending: list[Batch] = []
    for episode in dataset.iterate_episodes():
        rows = _rows(episode, dataset.observation_space, dataset.action_space)
        if len(rows["episode"]):
            pending.append(rows)
        if sum(array.nbytes for rows in pending for array in rows.values()) >= file_bytes:
            paths.append(_written(pending, folder, len(paths)))
            pending = []
    if pending:
        paths.append(_written(pending, folder, len(paths)))
    if not paths:
        raise ValueError("the Minari dataset has no step: give one with at least one")
    for left in folder.glob("*.arrow"):
        if left.stem.isdigit() and left not in paths:
            left.unlink()
    return paths


def to_minari(
    dataset: MmapDataset,
    dataset_id: str,
    observation_space: Space,
    action_space: Space,
    *,
    data_format: str = "arrow",
    **described: Any,
) -> minari.MinariDataset:
    """Make a Minari dataset, which `minari.load_dataset(dataset_id)` finds in its own folder.

    One episode is in memory at a time. An episode ends where a step terminated or was truncated, or where the number in
    the column `episode` changes. Images are kept as they are, not as JPEG.

    Args:
        dataset: its columns are those that `from_minari` writes; `episode` may be missing, others may be there as well.
        dataset_id: Minari's name, such as "cartpole/random-v0".
        observation_space: of the environment, whose parts the columns are.
        action_space: likewise.
        data_format: "arrow", "parquet" or "hdf5".
        described: what else `minari.create_dataset_from_buffers` takes, such as `env`, `author` and `description`.

    Raises:
        ValueError: a column is missing or does not fit its space, or Minari has a dataset of this name.
    """
    wanted: dict[str, tuple[int, ...]] = {"reward": (), "terminated": (), "truncated": ()}
    for name, space in (
        ("observation", observation_space),
        ("next_observation", observation_space),
        ("action", action_space),
    ):
        wanted |= {column: part.shape or () for column, part in _parts(name, space)}
    for column, shape in wanted.items():
        if column not in dataset.columns:
            raise ValueError(f"the dataset has no column '{column}': it has {', '.join(dataset.columns)}")
        if dataset.columns[column].shape != shape:
            found = dataset.columns[column].shape
            raise ValueError(f"column '{column}' has rows of shape {found}, and the space's is {shape}")
    buffers = (_buffer(rows, observation_space, action_space) for rows in _episodes(dataset))
    return minari.create_dataset_from_buffers(
        dataset_id,
        buffers,  # written one after another: Minari never looks at more than one
        observation_space=observation_space,
        action_space=action_space,
        data_format=data_format,
        jpeg_encoding=False,
        **described,
    )


def _rows(episode: Any, observation_space: Space, action_space: Space) -> Batch:
    """The steps of an episode as columns."""
    steps = len(episode.rewards)
    observations = dict(_leaves("observation", observation_space, episode.observations))
    rows = {name: array[:steps] for name, array in observations.items()}
    rows |= {f"next_{name}": array[1 : steps + 1] for name, array in observations.items()}
    rows |= dict(_leaves("action", action_space, episode.actions))
    rows["reward"] = np.asarray(episode.rewards, np.float64)
    rows["terminated"] = np.asarray(episode.terminations).astype(np.uint8)
    rows["truncated"] = np.asarray(episode.truncations).astype(np.uint8)
    rows["episode"] = np.full(steps, episode.id, np.int64)
    return rows


def _written(pending: list[Batch], folder: Path, number: int) -> Path:
    path = folder / f"{number:05}.arrow"
    write_dataset(path, _joined(pending))
    return path


def _episodes(dataset: MmapDataset) -> Iterator[Batch]:
    """The rows of one episode after another."""
    pending: list[Batch] = []
    last: int | None = None
    for batch in DataLoader(dataset, _ROWS_AT_A_TIME):
        ends = (batch["terminated"] != 0) | (batch["truncated"] != 0)
        if "episode" in batch:
            numbers = batch["episode"]
            if last is not None and pending and numbers[0] != last:
                yield _joined(pending)
                pending = []
            ends[:-1] |= numbers[1:] != numbers[:-1]
            last = int(numbers[-1])
        begin = 0
        for end in np.flatnonzero(ends) + 1:
            pending.append({name: array[begin:end] for name, array in batch.items()})
            yield _joined(pending)
            pending = []
            begin = int(end)
        if begin < len(ends):
            pending.append({name: array[begin:] for name, array in batch.items()})
    if pending:
        yield _joined(pending)


def _joined(pending: list[Batch]) -> Batch:
    return {name: np.concatenate([rows[name] for rows in pending]) for name in pending[0]}


def _buffer(rows: Batch, observation_space: Space, action_space: Space) -> EpisodeBuffer:
    """An episode as Minari keeps it: one observation more than actions."""
    observations = {
        name: np.concatenate([rows[name], rows[f"next_{name}"][-1:]])
        for name, _ in _parts("observation", observation_space)
    }
    return EpisodeBuffer(
        observations=_nested("observation", observation_space, observations),
        actions=_nested("action", action_space, rows),
        rewards=rows["reward"],
        terminations=rows["terminated"] != 0,
        truncations=rows["truncated"] != 0,
    )


def _children(space: Space) -> Iterable[tuple[str | int, Space]] | None:
    """The parts of a space that has several."""
    if isinstance(space, spaces.Dict):
        return space.spaces.items()
    if isinstance(space, spaces.Tuple):
        return enumerate(space.spaces)
    return None


def _parts(name: str, space: Space) -> Iterator[tuple[str, Space]]:
    """The column and space of each part that is numbers."""
    children = _children(space)
    if children is not None:
        for key, part in children:
            yield from _parts(f"{name}.{key}", part)
    elif isinstance(space, _NUMBERS):
        yield name, space
    else:
        kinds = ", ".join(kind.__name__ for kind in _NUMBERS)
        raise ValueError(
            f"'{name}' is a space {space}, which is no array of numbers: give {kinds}, or Dict or Tuple of these"
        )


def _leaves(name: str, space: Space, values: Any) -> Iterator[tuple[str, Array]]:
    """The column of each part, out of what Minari read."""
    children = _children(space)
    if children is not None:
        for key, part in children:
            yield from _leaves(f"{name}.{key}", part, values[key])
        return
    for column, part in _parts(name, space):
        shape = part.shape or ()
        array = np.ascontiguousarray(values, part.dtype)
        yield column, (array.astype(np.uint8) if array.dtype == np.bool_ else array).reshape(-1, *shape)


def _nested(name: str, space: Space, columns: Mapping[str, Array]) -> Any:
    """The parts of a space as Minari nests them."""
    children = _children(space)
    if children is None:
        return columns[name].astype(space.dtype, copy=False)
    nested = {key: _nested(f"{name}.{key}", part, columns) for key, part in children}
    return nested if isinstance(space, spaces.Dict) else tuple(nested.values())
