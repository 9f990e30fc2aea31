"""Minari's datasets in and out, by Minari itself: `make interoperability` runs this with the packages that it locks."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import minari
import numpy as np
import pytest
from gymnasium import spaces
from torchforge.data import DataLoader, MmapDataset, write_dataset
from torchforge.minari import from_minari, to_minari

STEPS = 12


class Maze(gymnasium.Env):
    """Spaces of several parts, of every kind that is numbers; an episode ends after some steps."""

    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-9.0, 9.0, (2, 3), np.float32),
            "keys": spaces.MultiBinary(4),
            "goal": spaces.Tuple((spaces.Discrete(5, start=2), spaces.MultiDiscrete([3, 4]))),
            "dark": spaces.Box(0, 1, (2,), np.bool_),
        }
    )
    action_space = spaces.Dict({"move": spaces.Box(-1.0, 1.0, (2,), np.float64), "jump": spaces.Discrete(2)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        reward = float(action["jump"]) + self.steps / 7
        return self.observation_space.sample(), reward, self.steps == 5, False, {}


ENVIRONMENTS = {"cartpole": lambda: gymnasium.make("CartPole-v1", max_episode_steps=4), "maze": Maze}


@pytest.fixture(autouse=True)
def own_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Minari's folder is the test's own, and what Minari recommends of authors is not shown."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def collected(environment, dataset_id, data_format):
    """What Minari's own collector writes, of a random policy."""
    collector = minari.DataCollector(environment, data_format=data_format)
    collector.action_space.seed(3)
    collector.reset(seed=3)
    for _ in range(STEPS):
        *_, terminated, truncated, _ = collector.step(collector.action_space.sample())
        if terminated or truncated:
            collector.reset()
    dataset = collector.create_dataset(dataset_id)
    collector.close()
    return dataset


def flattened(name, value):
    """The parts of what a space has, by the names of their columns."""
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, tuple):
        children = enumerate(value)
    else:
        return {name: np.asarray(value)}
    parts = {}
    for key, part in children:
        parts |= flattened(f"{name}.{key}", part)
    return parts


def all_rows(files):
    batches = list(DataLoader(MmapDataset(files), 7))
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def assert_same_steps(rows, dataset):
    """Rows are Minari's steps, in all of their parts."""
    begin = 0
    for episode in dataset.iterate_episodes():
        steps = len(episode.rewards)
        part = {name: array[begin : begin + steps] for name, array in rows.items()}
        for name, values in flattened("observation", episode.observations).items():
            np.testing.assert_array_equal(part[name], values[:-1])
            np.testing.assert_array_equal(part[f"next_{name}"], values[1:])
        for name, values in flattened("action", episode.actions).items():
            np.testing.assert_array_equal(part[name], values)
        np.testing.assert_array_equal(part["reward"], episode.rewards)
        np.testing.assert_array_equal(part["terminated"], episode.terminations)
        np.testing.assert_array_equal(part["truncated"], episode.truncations)
        assert set(part["episode"]) == {episode.id}
        begin += steps
    assert begin == len(rows["reward"]) > 0


def assert_same_episodes(ours, theirs):
    assert ours.total_episodes == theirs.total_episodes
    assert ours.total_steps == theirs.total_steps
    for mine, other in zip(ours.iterate_episodes(), theirs.iterate_episodes(), strict=True):
        for name in ("observations", "actions"):
            parts = flattened("", getattr(other, name))
            found = flattened("", getattr(mine, name))
            assert found.keys() == parts.keys()
            for key, values in found.items():
                np.testing.assert_array_equal(values, parts[key])
                assert values.dtype == parts[key].dtype
        for name in ("rewards", "terminations", "truncations"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))


@pytest.mark.parametrize("data_format", ["arrow", "parquet", "hdf5"])
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_the_collector_wrote_is_read_whole_and_minari_reads_it_back(name, data_format, tmp_path):
    theirs = collected(ENVIRONMENTS[name](), f"{name}/theirs-v0", data_format)
    files = from_minari(theirs, tmp_path / "ours")
    assert files == [tmp_path / "ours" / "00000.arrow"]
    assert_same_steps(all_rows(files), theirs)
    to_minari(
        MmapDataset(files),
        f"{name}/ours-v0",
        theirs.observation_space,
        theirs.action_space,
        data_format=data_format,
        author="a test",
    )
    ours = minari.load_dataset(f"{name}/ours-v0")
    assert ours.storage.metadata["data_format"] == data_format
    assert ours.storage.metadata["author"] == {"a test"}
    assert_same_episodes(ours, theirs)


def test_a_folder_is_read_like_the_dataset_in_it_and_its_files_are_as_large_as_asked(tmp_path):
    theirs = collected(Maze(), "maze/small-v0", "arrow")
    files = from_minari(theirs.storage.data_path, tmp_path / "small", file_bytes=1)
    assert [path.name for path in files] == ["00000.arrow", "00001.arrow", "00002.arrow"]
    assert_same_steps(all_rows(files), theirs)
    assert from_minari(theirs, tmp_path / "small") == files[:1]
    assert sorted((tmp_path / "small").iterdir()) == files[:1], "files of the earlier call"


def test_images_come_back_as_they_were(tmp_path):
    space = spaces.Box(0, 255, (40, 50, 3), np.uint8)
    frames = np.random.default_rng(1).integers(0, 256, (4, *space.shape), np.uint8)
    flags = np.array([0, 0, 1], np.uint8)
    columns = {"observation": frames[:-1], "next_observation": frames[1:], "action": np.arange(3)}
    columns |= {"reward": np.ones(3), "terminated": flags, "truncated": 0 * flags}
    write_dataset(tmp_path / "frames.arrow", columns)
    made = to_minari(MmapDataset(tmp_path / "frames.arrow"), "frames/ours-v0", space, spaces.Discrete(3))
    np.testing.assert_array_equal(made[0].observations, frames)


@pytest.mark.parametrize("marked_by", ["flags", "numbers"])
def test_episodes_end_at_flags_and_where_their_number_changes_however_long_they_are(marked_by, tmp_path):
    lengths = (5_000, 1, 3_191, 4_096, 3)  # two of them end where a reading of rows ends
    ends = np.cumsum(lengths)
    places = np.arange(int(ends[-1]), dtype=np.float32)
    never = np.zeros(len(places), np.uint8)
    columns = {
        "observation": places,
        "next_observation": places + 1,
        "action": never.astype(np.int64),
        "reward": places.astype(np.float64),
        "terminated": never.copy(),
        "truncated": never,
    }
    if marked_by == "flags":
        columns["terminated"][ends[:-1] - 1] = 1
    else:
        columns["episode"] = np.repeat(np.arange(len(lengths)), lengths)
    write_dataset(tmp_path / "long.arrow", columns)
    box = spaces.Box(-np.inf, np.inf, (), np.float32)
    dataset = MmapDataset(tmp_path / "long.arrow")
    made = to_minari(dataset, "long/ours-v0", box, spaces.Discrete(2), data_format="hdf5")
    assert [len(episode) for episode in made.iterate_episodes()] == list(lengths)
    last = np.concatenate([episode.observations[-1:] for episode in made.iterate_episodes()])
    np.testing.assert_array_equal(last, ends)


def test_what_does_not_fit_is_named_and_nothing_is_made(tmp_path):
    path = tmp_path / "few.arrow"
    write_dataset(path, {"observation": np.zeros((2, 4), np.float32), "reward": np.zeros(2)})
    box, discrete = spaces.Box(0, 1, (4,)), spaces.Discrete(2)
    with pytest.raises(ValueError, match="no column 'terminated': it has observation, reward"):
        to_minari(MmapDataset(path), "few/ours-v0", box, discrete)
    whole = {"terminated": np.ones(2, np.uint8), "truncated": np.ones(2, np.uint8), "action": np.zeros(2)}
    whole |= {"observation": np.zeros((2, 3)), "next_observation": np.zeros((2, 3)), "reward": np.ones(2)}
    write_dataset(path, whole)
    with pytest.raises(ValueError, match=r"'observation' has rows of shape \(3,\), and .* \(4,\)"):
        to_minari(MmapDataset(path), "few/ours-v0", box, discrete)
    with pytest.raises(ValueError, match=r"'observation\.word' is a space Text.* no array of numbers"):
        to_minari(MmapDataset(path), "few/ours-v0", spaces.Dict(word=spaces.Text(3)), discrete)
    assert minari.list_local_datasets() == {}
