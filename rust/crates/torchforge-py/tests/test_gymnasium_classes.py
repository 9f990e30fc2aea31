"""The environments as Gymnasium's own classes. Run: python -m unittest discover -s tests."""

import copy
import pickle
import unittest
import warnings

import gymnasium
import numpy as np
import torchforge.envs
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import NormalizeObservation, RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordTogether

TASKS = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")
MODES = tuple(AutoresetMode)


def pair(task, mode, n=3):
    """Ours, and Gymnasium's `SyncVectorEnv` of the same task."""
    ours = gymnasium.make_vec(f"torchforge/{task}", num_envs=n, autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: gymnasium.make(task)] * n, autoreset_mode=mode)
    return ours, theirs


def unpickled(environment):
    return pickle.loads(pickle.dumps(environment))  # noqa: S301 - pickled in the same breath


class Alike(unittest.TestCase):
    def assert_alike(self, found, wanted):
        """The same bits, and dictionaries of the same keys with alike values."""
        if isinstance(wanted, tuple):
            for ours, theirs in zip(found, wanted, strict=True):
                self.assert_alike(ours, theirs)
        elif isinstance(wanted, dict):
            self.assertEqual(set(found), set(wanted))
            for key in wanted:
                self.assert_alike(found[key], wanted[key])
        elif isinstance(wanted, np.ndarray) and wanted.dtype != object:
            self.assertEqual((found.dtype, found.shape), (wanted.dtype, wanted.shape))
            self.assertEqual(found.tobytes(), wanted.tobytes())
        elif isinstance(wanted, np.ndarray):
            self.assertEqual(found.dtype, object)
            for ours, theirs in zip(found, wanted, strict=True):
                self.assert_alike(ours, theirs)
        else:
            self.assertEqual(found, wanted)


class Single(Alike):
    def test_gymnasiums_checker_says_of_ours_what_it_says_of_its_own(self):
        for task in TASKS:
            said = []
            for name in (f"torchforge/{task}", task):
                environment = gymnasium.make(name)
                self.assertIsInstance(environment, gymnasium.Env)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    check_env(environment.unwrapped, skip_render_check=True)
                said.append([str(each.message) for each in caught])
            with self.subTest(task):
                self.assertEqual(*said)

    def test_spaces_limits_and_thresholds_are_gymnasiums(self):
        for task in TASKS:
            ours, theirs = gymnasium.make(f"torchforge/{task}"), gymnasium.make(task)
            with self.subTest(task):
                self.assertEqual(ours.observation_space, theirs.observation_space)
                self.assertEqual(ours.action_space, theirs.action_space)
                for what in ("max_episode_steps", "reward_threshold", "nondeterministic"):
                    self.assertEqual(getattr(ours.spec, what), getattr(theirs.spec, what))

    def test_episodes_are_gymnasiums_with_wrappers_around_both(self):
        for task in TASKS:
            ours, theirs = (
                NormalizeObservation(RecordEpisodeStatistics(gymnasium.make(name)))
                for name in (f"torchforge/{task}", task)
            )
            self.assert_alike(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
            theirs.action_space.seed(5)
            for _ in range(600):
                action = theirs.action_space.sample()
                *found, said = ours.step(action)
                *wanted, expected = theirs.step(action)
                for a, b in zip(found, wanted, strict=True):
                    self.assert_alike(a, b)
                self.assertEqual(set(said), set(expected))
                if wanted[2] or wanted[3]:
                    self.assertEqual(said["episode"]["r"], expected["episode"]["r"])
                    self.assert_alike(ours.reset()[0], theirs.reset()[0])

    def test_a_limit_of_ones_own_counts_and_minus_one_lifts_it(self):
        short = gymnasium.make("torchforge/Pendulum-v1", max_episode_steps=5)
        endless = gymnasium.make("torchforge/Pendulum-v1", max_episode_steps=-1)
        for environment, expected in ((short, 5), (endless, 300)):
            environment.reset(seed=1)
            steps = 1
            while steps < 300 and not environment.step(np.zeros(1, dtype=np.float32))[3]:
                steps += 1
            self.assertEqual(steps, expected)

    def test_environments_without_a_seed_differ_and_go_on_where_they_are(self):
        one, other = (gymnasium.make("torchforge/CartPole-v1") for _ in range(2))
        self.assertNotEqual(one.reset()[0].tobytes(), other.reset()[0].tobytes())
        first, _ = one.reset(seed=1)
        self.assertNotEqual(one.reset()[0].tobytes(), first.tobytes())
        self.assertEqual(one.reset(seed=1)[0].tobytes(), first.tobytes())

    def test_a_copy_and_a_pickled_environment_go_on_with_the_same_episode(self):
        for task in TASKS:
            environment = gymnasium.make(f"torchforge/{task}")
            environment.reset(seed=1)
            environment.action_space.seed(2)
            environment.step(environment.action_space.sample())
            others = [copy.deepcopy(environment), unpickled(environment)]
            for _ in range(20):
                action = environment.action_space.sample()
                step = environment.step(action)
                for other in others:
                    self.assert_alike(other.step(action), step)
                if step[2]:
                    break
            episode = environment.reset()
            for other in others:
                self.assert_alike(other.reset(), episode)
        fresh = unpickled(torchforge.envs.Env("CartPole-v1"))
        self.assert_alike(fresh.reset(seed=1), torchforge.envs.Env("CartPole-v1").reset(seed=1))

    def test_a_state_that_is_none_is_refused_and_changes_nothing(self):
        environment = torchforge.make("CartPole-v1")
        environment.reset(seed=1)
        before = environment.snapshot()
        for wrong, error, expected in (
            (before[:-1], ValueError, "snapshot is .*: this is no state of this environment"),
            ([2, *before[1:]], ValueError, "this is no state of this environment"),
            ([-1], TypeError, r"snapshot is \[-1\] and must be a list that snapshot gave"),
            ("state", TypeError, "snapshot is 'state' and must be a list"),
        ):
            with self.assertRaisesRegex(error, expected):
                environment.restore(wrong)
        self.assertEqual(environment.snapshot(), before)

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        environment = torchforge.envs.Env("CartPole-v1")
        environment.reset(seed=1)
        twin = torchforge.envs.Env("CartPole-v1")
        twin.reset(seed=1)
        for call, error, expected in (
            (
                lambda: torchforge.envs.Env("CartPole-v9"),
                ValueError,
                "task is 'CartPole-v9' and must be one of",
            ),
            (
                lambda: torchforge.envs.Env("CartPole-v1", render_mode="human"),
                TypeError,
                "render_mode is 'human'",
            ),
            (lambda: environment.reset(seed=-1), ValueError, "seed is -1 and must be a whole number from 0"),
            (lambda: environment.reset(seed=1 << 64), ValueError, "seed is 18446744073709551616"),
            (lambda: environment.reset(seed=0.5), TypeError, "seed is 0.5"),
            (lambda: environment.reset(options={"low": -1}), ValueError, "options holds 'low'"),
            (lambda: environment.step(2), ValueError, "action is 2 and must be a whole number from 0 to 1"),
            (lambda: environment.step(-1), ValueError, "action is -1"),
            (lambda: environment.step("left"), TypeError, "action is 'left'"),
        ):
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                call()
        self.assert_alike(environment.step(0)[0], twin.step(0)[0])
        self.assert_alike(environment.reset()[0], twin.reset()[0])


class Together(Alike):
    def test_make_vec_gives_a_vector_environment_with_gymnasiums_spaces(self):
        for task in TASKS:
            ours, theirs = pair(task, AutoresetMode.NEXT_STEP)
            with self.subTest(task):
                self.assertIsInstance(ours, gymnasium.vector.VectorEnv)
                for what in (
                    "observation_space",
                    "action_space",
                    "single_observation_space",
                    "single_action_space",
                ):
                    self.assertEqual(getattr(ours, what), getattr(theirs, what))
                self.assertEqual(
                    (ours.num_envs, ours.spec.max_episode_steps), (3, theirs.envs[0].spec.max_episode_steps)
                )

    def test_steps_and_dictionaries_are_gymnasiums_in_every_mode(self):
        for task in TASKS:
            for mode in MODES:
                ours, theirs = pair(task, mode)
                with self.subTest((task, mode)):
                    for seed in (7, [3, 1, 4]):
                        self.assert_alike(ours.reset(seed=seed), theirs.reset(seed=seed))
                    theirs.action_space.seed(2)
                    for _ in range(600):
                        actions = theirs.action_space.sample()
                        wanted = theirs.step(actions)
                        self.assert_alike(ours.step(actions), wanted)
                        over = wanted[2] | wanted[3]
                        if mode is AutoresetMode.DISABLED and over.any():
                            for each in (ours, theirs):
                                each.reset(options={"reset_mask": over})

    def test_statistics_of_episodes_are_gymnasiums(self):
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            ours, theirs = map(RecordTogether, pair("CartPole-v1", mode))
            ours.reset(seed=1)
            theirs.reset(seed=1)
            theirs.action_space.seed(1)
            for _ in range(300):
                actions = theirs.action_space.sample()
                ours.step(actions)
                theirs.step(actions)
            self.assertGreater(len(theirs.return_queue), 10)
            self.assertEqual(list(ours.return_queue), list(theirs.return_queue))
            self.assertEqual(list(ours.length_queue), list(theirs.length_queue))

    def test_the_first_reset_draws_the_seeds_that_are_missing(self):
        environments = torchforge.envs.VectorEnv("CartPole-v1", 3)
        observations, _ = environments.reset(seed=[None, 5, None])
        alone, _ = torchforge.envs.Env("CartPole-v1").reset(seed=5)
        self.assert_alike(observations[1], alone)
        self.assertEqual(len(np.unique(observations, axis=0)), 3)
        self.assertEqual(len(np.unique(torchforge.envs.VectorEnv("CartPole-v1", 9).reset()[0], axis=0)), 9)

    def test_seeds_in_an_array_are_those_in_a_list(self):
        for seeds in (np.array([3, 1, 4]), np.array([3, 1, 4], np.uint64)):
            for environments in (
                torchforge.envs.VectorEnv("CartPole-v1", 3),
                torchforge.make_vec("CartPole-v1", 3),
            ):
                listed, _ = environments.reset(seed=seeds.tolist())
                self.assertEqual(environments.reset(seed=seeds)[0].tobytes(), listed.tobytes())
        with self.assertRaisesRegex(ValueError, "seed lists 2 seeds and must list 3"):
            environments.reset(seed=seeds[:2])
        one, _ = environments.reset(seed=np.array(3))
        self.assertEqual(environments.reset(seed=3)[0].tobytes(), one.tobytes())

    def test_seeds_are_told_as_by_gymnasiums(self):
        environments = torchforge.envs.VectorEnv("CartPole-v1", 3, autoreset_mode="Disabled")
        self.assertEqual(environments.np_random_seed, (-1, -1, -1))
        environments.reset(seed=1 << 63)
        self.assertEqual(environments.np_random_seed, (1 << 63, (1 << 63) + 1, (1 << 63) + 2))
        environments.reset()
        mask = np.array([False, True, True])
        environments.reset(seed=[7, 8, None], options={"reset_mask": mask})
        self.assertEqual(environments.np_random_seed, (1 << 63, 8, (1 << 63) + 2))

    def test_whole_numbers_of_every_width_and_list_are_actions(self):
        steps = []
        for actions in ([0, 1], np.array([0, 1], dtype=np.int8), np.array([0, 9, 1, 9])[::2]):
            environments = torchforge.envs.VectorEnv("CartPole-v1", 2)
            environments.reset(seed=1)
            steps.append(environments.step(actions)[0].tobytes())
        self.assertEqual(len(set(steps)), 1)

    def test_what_does_not_fit_is_named_and_no_environment_takes_a_step(self):
        carts, twin = (torchforge.envs.VectorEnv("CartPole-v1", 3) for _ in range(2))
        rods = torchforge.envs.VectorEnv("Pendulum-v1", 2)
        with self.assertRaisesRegex(RuntimeError, "call reset before step"):
            carts.step([0, 0, 0])
        carts.reset(seed=1)
        twin.reset(seed=1)
        rods.reset(seed=1)
        nan = np.array([[0.0], [np.nan]], dtype=np.float32)
        for call, error, expected in (
            (lambda: torchforge.envs.VectorEnv("CartPole-v1", 0), ValueError, "num_envs is 0 and must be"),
            (lambda: torchforge.envs.VectorEnv("CartPole-v1", -2), ValueError, "num_envs is -2"),
            (
                lambda: torchforge.envs.VectorEnv("CartPole-v1", 1 << 60),
                ValueError,
                "num_envs is 1152921504606846976",
            ),
            (lambda: torchforge.envs.VectorEnv("CartPole-v1", 1.5), TypeError, "num_envs is 1.5"),
            (
                lambda: torchforge.envs.VectorEnv("CartPole-v1", max_episode_steps=0),
                ValueError,
                "max_episode_steps is 0",
            ),
            (
                lambda: torchforge.envs.VectorEnv("CartPole-v1", autoreset_mode="Never"),
                ValueError,
                "autoreset_mode is 'Never' and must be NextStep or",
            ),
            (lambda: carts.reset(seed=[1, 2]), ValueError, "seed lists 2 seeds and must list 3"),
            (lambda: carts.reset(seed=[1, -2, 3]), ValueError, r"seed\[1\] is -2"),
            (
                lambda: carts.reset(seed="7"),
                TypeError,
                "seed is '7' and must be a whole number or a list of them",
            ),
            (lambda: carts.reset(options={"high": 1}), ValueError, "options holds 'high'"),
            (
                lambda: carts.reset(options={"reset_mask": [True] * 3}),
                ValueError,
                "reset_mask is not a NumPy array",
            ),
            (
                lambda: carts.step([0, 2, 0]),
                ValueError,
                r"actions\[1\] is 2 and must be a whole number from 0 to 1",
            ),
            (lambda: carts.step([0, 1, -1]), ValueError, r"actions\[2\] is -1"),
            (lambda: carts.step([0.0, 1.0, 1.0]), ValueError, "actions is not a NumPy array of int64"),
            (lambda: carts.step([0, 1]), ValueError, r"actions has shape \[2\] and must have \[3\]"),
            (lambda: carts.step(0), TypeError, "actions is 0 and must be an array"),
            (lambda: rods.step(nan), ValueError, r"actions\[1, 0\] is nan"),
            (
                lambda: rods.step(nan.astype(np.float64)),
                ValueError,
                "actions is not a NumPy array of float32",
            ),
        ):
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                call()
        self.assert_alike(carts.step([0, 1, 0])[0], twin.step([0, 1, 0])[0])


class Collect(Alike):
    def stepped(self, task, mode, actions):
        """The rollout as steps one by one give it."""
        environments = torchforge.envs.VectorEnv(task, len(actions[0]), autoreset_mode=mode)
        observation, _ = environments.reset(seed=4)
        seen, rows, ended, last = [], [], [], []
        for step, action in enumerate(actions):
            seen.append(observation)
            observation, *row, info = environments.step(action)
            rows.append(row)
            for index in np.flatnonzero(row[1] | row[2]):
                ended.append([step, index])
                last.append(info["final_obs"][index] if "final_obs" in info else observation[index])
        return (
            np.stack(seen),
            *map(np.stack, zip(*rows, strict=True)),
            observation,
            np.array(ended),
            np.stack(last),
        )

    def test_a_rollout_is_the_steps_one_by_one(self):
        random = np.random.default_rng(3)
        for task, mode in (
            ("CartPole-v1", "SameStep"),
            ("CartPole-v1", "NextStep"),
            ("Pendulum-v1", "SameStep"),
        ):
            actions = random.integers(2, size=(300, 3))
            if task == "Pendulum-v1":
                actions = random.uniform(-2, 2, (300, 3, 1)).astype(np.float32)
            wanted = self.stepped(task, mode, actions)
            replay = iter(actions)
            for policy in (actions, lambda _, replay=replay: next(replay)):
                environments = torchforge.envs.VectorEnv(task, 3, autoreset_mode=mode)
                environments.reset(seed=4)
                found = environments.collect(300, policy)
                self.assert_alike(found.actions, actions)
                for a, b in zip((found.observations, *found[2:]), wanted, strict=True):
                    self.assert_alike(a, b)

    def test_without_a_policy_actions_come_from_the_space(self):
        for task in TASKS:
            environments = gymnasium.make_vec(f"torchforge/{task}", num_envs=2)
            environments.reset(seed=1)
            environments.action_space.seed(9)
            found = environments.unwrapped.collect(50)
            self.assertEqual(found.rewards.shape, (50, 2))
            self.assertTrue(
                all(environments.single_action_space.contains(each) for each in found.actions[:, 0])
            )
            self.assertGreater(len(np.unique(found.actions)), 1)

    def test_given_arrays_are_written_and_returned(self):
        out = (
            np.ones((4, 2, 4), np.float32),
            np.zeros((4, 2)),
            np.ones((4, 2), np.bool_),
            np.ones((4, 2), np.bool_),
        )
        for policy in (np.zeros((4, 2), np.int64), lambda _: [0, 0]):
            environments = torchforge.envs.VectorEnv("CartPole-v1", 2)
            environments.reset(seed=1)
            found = environments.collect(4, policy, out=out)
            self.assertTrue(all(a is b for a, b in zip((found.observations, *found[2:5]), out, strict=True)))
            self.assertEqual(out[1].tolist(), [[1.0, 1.0]] * 4)
            self.assertFalse(out[2].any())

    def test_what_does_not_fit_is_named_and_changes_nothing(self):
        carts, twin = (torchforge.envs.VectorEnv("CartPole-v1", 2) for _ in range(2))
        halting = torchforge.envs.VectorEnv("CartPole-v1", 2, autoreset_mode="Disabled")
        for each in (carts, twin, halting):
            each.reset(seed=1)
        good = (
            np.zeros((3, 2, 4), np.float32),
            np.zeros((3, 2)),
            np.zeros((3, 2), np.bool_),
            np.zeros((3, 2), np.bool_),
        )
        actions = np.zeros((3, 2), np.int64)
        for call, error, expected in (
            (lambda: carts.collect(-1), ValueError, "n_steps is -1 and must be a whole number from 0"),
            (lambda: carts.collect(2.0), TypeError, "n_steps is 2.0"),
            (lambda: carts.collect(1 << 50), ValueError, "n_steps is 1125899906842624 and must be .* to"),
            (
                lambda: carts.collect(1 << 70),
                ValueError,
                "n_steps is 1180591620717411303424 and must be .* to",
            ),
            (
                lambda: carts.collect(2, actions),
                ValueError,
                "policy holds actions of 3 steps and n_steps is 2",
            ),
            (lambda: carts.collect(3, actions + 2), ValueError, r"actions\[0, 0\] is 2"),
            (lambda: halting.collect(3), RuntimeError, "autoreset mode Disabled"),
            (
                lambda: carts.collect(3, actions, out=(good[0][:2], *good[1:])),
                ValueError,
                r"out\[0\] has shape",
            ),
            (
                lambda: carts.collect(3, actions, out=(*good[:3], good[2])),
                ValueError,
                r"out\[3\] cannot be written",
            ),
            (
                lambda: carts.collect(3, actions, out=(good[0], good[0], *good[2:])),
                ValueError,
                r"out\[1\] is not",
            ),
        ):
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                call()
        self.assert_alike(carts.step([0, 1])[0], twin.step([0, 1])[0])

    def test_arrays_that_do_not_fit_are_refused_before_a_step_however_actions_are_chosen(self):
        carts, twin = (torchforge.envs.VectorEnv("CartPole-v1", 2) for _ in range(2))
        for each in (carts, twin):
            each.reset(seed=1)
            each.action_space.seed(3)
        good = (
            np.zeros((3, 2, 4), np.float32),
            np.zeros((3, 2)),
            np.zeros((3, 2), np.bool_),
            np.zeros((3, 2), np.bool_),
        )
        # Two arrays of different owners over one memory.
        memory = bytearray(6)
        one, other = (np.frombuffer(memory, np.bool_).reshape(3, 2) for _ in range(2))
        for out, error, expected in (
            (
                tuple(each[:2] for each in good),
                ValueError,
                r"out\[0\] has shape \[2, 2, 4\] and must have \[3",
            ),
            (tuple(np.concatenate([each, each]) for each in good), ValueError, r"out\[0\] has shape \[6"),
            ((*good[:2], *good[:2]), ValueError, r"out\[2\] is not a NumPy array of bool"),
            ((*good[:3], good[2]), ValueError, r"out\[3\] cannot be written"),
            ((*good[:2], one, other), ValueError, r"out\[3\] cannot be written .*shares memory"),
            (good[0], TypeError, "must be a tuple of 4 arrays"),
        ):
            for policy in (None, lambda _: [0, 1], np.zeros((3, 2), np.int64)):
                with self.subTest(expected, policy=policy), self.assertRaisesRegex(error, expected):
                    carts.collect(3, policy, out=out)
        found, wanted = carts.collect(3), twin.collect(3)
        for a, b in zip(found, wanted, strict=True):
            self.assert_alike(a, b)

    def test_before_a_reset_nothing_is_drawn(self):
        carts, twin = (torchforge.envs.VectorEnv("CartPole-v1", 2) for _ in range(2))
        for each in (carts, twin):
            each.action_space.seed(3)
        with self.assertRaisesRegex(RuntimeError, "call reset before step"):
            carts.collect(3)
        self.assertEqual(*(each.action_space.np_random.integers(1 << 30) for each in (carts, twin)))


if __name__ == "__main__":
    unittest.main()
