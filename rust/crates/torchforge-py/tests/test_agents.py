"""The agents: what they learn, keep and refuse. Run: python -m unittest discover -s tests."""

import contextlib
import io
import json
import signal
import tempfile
import threading
import unittest
from pathlib import Path

import gymnasium
import numpy as np
from torchforge.agents import DQN, PPO, SAC

# Small, so that a test takes moments; learning begins within the steps below.
SMALL = {
    DQN: {"learning_starts": 30, "batch_size": 8, "buffer_size": 100},
    PPO: {"rollout_steps": 16, "num_envs": 2},
    SAC: {"learning_starts": 30, "batch_size": 8, "buffer_size": 100},
}
STEPS = {DQN: 150, PPO: 96, SAC: 40}
OURS = {DQN: "CartPole-v1", PPO: "CartPole-v1", SAC: "Pendulum-v1"}


def theirs(kind):
    """Gymnasium's own environment, as this agent takes it."""
    return (lambda: gymnasium.make("CartPole-v1")) if kind is PPO else gymnasium.make(OURS[kind])


def trained(kind, env=None, **more):
    return kind(env or OURS[kind], seed=1, **{**SMALL[kind], **more}).learn(STEPS[kind])


def weights(agent):
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "weights.safetensors")
        return (Path(folder) / "weights.safetensors").read_bytes()


class Learning(unittest.TestCase):
    def test_a_seed_gives_the_same_bytes_in_our_environment_and_in_gymnasiums(self):
        for kind in (DQN, PPO, SAC):
            with self.subTest(kind.__name__):
                first = weights(trained(kind))
                self.assertEqual(weights(trained(kind, f"torchforge/{OURS[kind]}")), first)
                self.assertEqual(weights(trained(kind, theirs(kind))), first)
                self.assertNotEqual(weights(kind(OURS[kind], seed=1, **SMALL[kind])), first)

    def test_dqn_learns_from_several_steps_and_from_its_largest_errors(self):
        options = {"n_step": 3}, {"prioritised": True}, {"prioritised": True, "alpha": 1.0}
        learnt = [
            weights(trained(DQN, **each)) for each in ({}, *options, {"prioritised": True, "beta": 1.0})
        ]
        self.assertEqual(len(set(learnt)), len(learnt))
        self.assertEqual(weights(trained(DQN, n_step=3)), learnt[1])
        # Only draws by errors know these.
        self.assertEqual(weights(trained(DQN, alpha=1.0, beta=1.0)), learnt[0])

    def test_an_environment_of_ones_own_with_other_numbers_is_learnt_in(self):
        class Corridor(gymnasium.Env):
            observation_space = gymnasium.spaces.Box(0.0, 9.0, (1,), np.float64)
            action_space = gymnasium.spaces.Discrete(2, start=1)

            def reset(self, *, seed=None, **_):
                super().reset(seed=seed)
                self.at = 5
                return np.array([5.0]), {}

            def step(self, action):
                self.at += {1: -1, 2: 1}[int(action)]
                return np.array([float(self.at)]), np.float32(1), self.at in (0, 9), False, {}

        ended = []
        agent = DQN(Corridor(), seed=1, **SMALL[DQN])
        agent.learn(300, callback=lambda progress: ended.extend(progress.episodes))
        self.assertGreater(len(ended), 3)
        self.assertTrue(all(each.length == each.total_reward for each in ended))

    def test_a_callback_sees_every_episode_and_stops_the_training_which_then_goes_on(self):
        for kind, at_once in ((DQN, 256), (PPO, 32)):
            calls = []

            def callback(progress, calls=calls):
                calls.append(progress)
                return len(calls) < 2

            options = {**SMALL[kind]}
            agent = kind("CartPole-v1", seed=1, **options)
            agent.learn(800, callback)
            with self.subTest(kind.__name__):
                self.assertEqual([each.environment_steps for each in calls], [at_once, 2 * at_once])
                self.assertIsNotNone(calls[-1].loss)
                self.assertGreater(calls[-1].gradient_steps, 0)
                agent.learn(800, lambda progress, calls=calls: calls.append(progress))
                self.assertEqual(calls[-1].environment_steps, 800)
                steps = [episode.step for each in calls for episode in each.episodes]
                self.assertGreater(len(steps), 10)
                self.assertEqual(steps, sorted(steps))
                self.assertEqual(weights(agent), weights(kind("CartPole-v1", seed=1, **options).learn(800)))

    def test_a_progress_bar_is_one_line_that_ends_with_the_training(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            DQN("CartPole-v1", seed=1, **SMALL[DQN]).learn(600, progress_bar=True)
        lines = said.getvalue().split("\r")
        self.assertEqual(len(lines), 4)
        self.assertRegex(lines[-1], r"^600 of 600 steps, mean return \d+\.\d\x1b\[K\n$")

    def test_an_interruption_ends_a_call_and_not_the_training(self):
        agent = DQN("CartPole-v1", seed=1, learning_starts=10**9)
        timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
        with self.assertRaises(KeyboardInterrupt):
            timer.start()
            agent.learn(10**9)
        timer.join()
        seen = []
        agent.learn(10**9, lambda progress: bool(seen.append(progress)))
        self.assertGreater(seen[0].environment_steps, 256)

    def test_what_an_environment_raises_is_raised(self):
        class Broken(gymnasium.Wrapper):
            steps = 0

            def step(self, action):
                self.steps += 1
                if self.steps == 20:
                    raise OSError("the world ended")
                return super().step(action)

        agent = DQN(Broken(gymnasium.make("CartPole-v1")), seed=1, **SMALL[DQN])
        with self.assertRaisesRegex(OSError, "the world ended"):
            agent.learn(100)


class Predicting(unittest.TestCase):
    def test_one_observation_and_several_have_the_same_actions(self):
        for kind in (DQN, PPO, SAC):
            agent = trained(kind)
            rows = np.random.default_rng(1).standard_normal((5, 3 if kind is SAC else 4)).astype(np.float32)
            together = agent.predict(rows)
            with self.subTest(kind.__name__):
                self.assertEqual(together.shape, (5, 1) if kind is SAC else (5,))
                self.assertEqual(together.dtype, np.float32 if kind is SAC else np.int64)
                alone = [agent.predict(row) for row in rows]
                self.assertEqual(together.tolist(), [np.asarray(each).tolist() for each in alone])
                self.assertTrue(all(gymnasium.make(OURS[kind]).action_space.contains(each) for each in alone))

    def test_actions_are_drawn_where_they_need_not_be_the_best(self):
        for kind, more in ((DQN, {"end_epsilon": 0.5}), (PPO, {}), (SAC, {})):
            agent = trained(kind, **more)
            rows = np.zeros((200, 3 if kind is SAC else 4), np.float32)
            with self.subTest(kind.__name__):
                self.assertEqual(len(np.unique(agent.predict(rows))), 1)
                self.assertGreater(len(np.unique(agent.predict(rows, deterministic=False))), 1)

    def test_what_is_learnt_later_is_predicted_later(self):
        agent = SAC("Pendulum-v1", seed=1, **SMALL[SAC])
        row = np.ones(3, np.float32)
        before = agent.predict(row)
        self.assertNotEqual(agent.learn(40).predict(row), before)


class Keeping(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "kept"

    def test_a_file_that_cannot_be_written_leaves_nothing(self):
        folder = self.path.with_name("models")
        folder.mkdir()
        with self.assertRaises(OSError):
            trained(DQN).save(folder)
        self.assertEqual(list(folder.parent.glob("*.part")), [])

    def test_saved_networks_predict_alike_and_are_learnt_with(self):
        for kind in (DQN, PPO, SAC):
            agent = trained(kind)
            agent.save(self.path)
            again = kind.load(self.path, OURS[kind], seed=2, **SMALL[kind])
            rows = np.random.default_rng(1).standard_normal((9, 3 if kind is SAC else 4))
            with self.subTest(kind.__name__):
                self.assertEqual(again.predict(rows).tolist(), agent.predict(rows).tolist())
                self.assertEqual(weights(again), weights(agent))
                self.assertNotEqual(weights(again.learn(STEPS[kind])), weights(agent))

    def test_a_checkpoint_goes_on_to_the_same_bytes(self):
        for kind, more in ((DQN, {"learning_starts": 200}), (PPO, {}), (SAC, {"learning_starts": 250})):
            whole, half, other = (kind(OURS[kind], seed=1, **{**SMALL[kind], **more}) for _ in range(3))
            half.learn(288, callback=lambda progress: progress.environment_steps < 256)
            half.save_checkpoint(self.path)
            other.load_checkpoint(self.path, 288)
            with self.subTest(kind.__name__):
                self.assertEqual(weights(other.learn(288)), weights(whole.learn(288)))

    def test_a_file_of_something_else_is_refused_and_changes_nothing(self):
        agent = trained(DQN)
        before = weights(agent)
        trained(PPO).save(self.path)
        with self.assertRaisesRegex(ValueError, "0.weight"):
            DQN.load(self.path, "CartPole-v1", seed=1)
        with self.assertRaisesRegex(ValueError, "cannot go on from"):
            agent.load_checkpoint(self.path, 150)
        agent.save_checkpoint(self.path)
        other = DQN("CartPole-v1", seed=2, **SMALL[DQN])
        with self.assertRaisesRegex(ValueError, "its seed is 1 and must be 2"):
            other.load_checkpoint(self.path, 150)
        with self.assertRaises(FileNotFoundError):
            DQN.load(self.path.with_name("absent"), "CartPole-v1", seed=1)
        with self.assertRaisesRegex(RuntimeError, "cannot take down its state"):
            trained(DQN, gymnasium.make("CartPole-v1")).save_checkpoint(self.path)
        self.assertEqual(weights(agent), before)


SMALL_CONTINUOUS_PPO = {"rollout_steps": 16, "minibatches": 4, "num_envs": 2}


class ContinuousPPO(unittest.TestCase):
    ROWS = np.random.default_rng(1).standard_normal((9, 3)).astype(np.float32)

    def made(self, env="Pendulum-v1", seed=1, **more):
        return PPO(env, seed=seed, **{**SMALL_CONTINUOUS_PPO, **more})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "kept"

    def kept(self, agent):
        """The tensors that `save` writes, by their names."""
        file = weights(agent)
        start = 8 + int.from_bytes(file[:8], "little")
        header = json.loads(file[8:start])
        dtypes = {"F32": np.float32, "F64": np.float64}
        return {
            name: np.frombuffer(
                file[start + of["data_offsets"][0] : start + of["data_offsets"][1]], dtypes[of["dtype"]]
            )
            for name, of in header.items()
            if name != "__metadata__"
        }

    def test_a_seed_gives_the_same_bytes_in_our_environment_and_in_gymnasiums(self):
        first = weights(self.made().learn(96))
        self.assertEqual(weights(self.made(lambda: gymnasium.make("Pendulum-v1")).learn(96)), first)
        self.assertNotEqual(weights(self.made()), first)

    def test_its_constants_are_those_of_cleanrls_continuous_file(self):
        seen = []
        PPO("Pendulum-v1", seed=1, epochs=1).learn(2048, callback=seen.append)
        self.assertEqual([each.environment_steps for each in seen], [2048], "one environment, one iteration")
        self.assertEqual(seen[0].gradient_steps, 32)

    def test_actions_lie_within_their_bounds(self):
        agent = self.made().learn(96)
        for deterministic in (True, False):
            actions = agent.predict(1000 * self.ROWS, deterministic=deterministic)
            self.assertEqual((actions.shape, actions.dtype), ((9, 1), np.float32))
            self.assertLessEqual(np.abs(actions).max(), 2)
        drawn = agent.predict(np.zeros((50, 3), np.float32), deterministic=False)
        self.assertGreater(len(np.unique(drawn)), 10)

    def test_observations_are_normalised_by_what_was_seen(self):
        agent = self.made().learn(96)
        kept = self.kept(agent)
        count, mean, variance = (kept[f"obs_rms.{name}"] for name in ("count", "mean", "var"))
        # 48 steps of the first environment and its reset, after Gymnasium's first count.
        np.testing.assert_allclose(count, 49 + 1e-4)
        plain = self.made(normalise=False).learn(96)
        self.assertNotIn("obs_rms.mean", self.kept(plain))
        normalised = ((self.ROWS - mean) / np.sqrt(variance + 1e-8)).astype(np.float32)
        hidden = np.clip(normalised, -10, 10)
        for layer in (0, 2, 4):
            weight = kept[f"actor_mean.{layer}.weight"].reshape(-1, hidden.shape[1])
            hidden = hidden @ weight.T + kept[f"actor_mean.{layer}.bias"]
            hidden = np.tanh(hidden) if layer < 4 else hidden
        np.testing.assert_allclose(agent.predict(self.ROWS), np.clip(hidden, -2, 2), rtol=1e-4, atol=1e-6)

    def test_saved_networks_predict_alike_and_are_learnt_with_from_the_same_statistics(self):
        for normalise in (True, False):
            agent = self.made(normalise=normalise).learn(96)
            agent.save(self.path)
            again = PPO.load(self.path, "Pendulum-v1", seed=2, normalise=normalise, **SMALL_CONTINUOUS_PPO)
            with self.subTest(normalise=normalise):
                self.assertEqual(again.predict(self.ROWS).tolist(), agent.predict(self.ROWS).tolist())
                self.assertEqual(weights(again), weights(agent))
                again.learn(96)
                self.assertNotEqual(weights(again), weights(agent))
                if normalise:
                    np.testing.assert_allclose(self.kept(again)["obs_rms.count"], 2 * 49 + 1e-4)

    def test_a_checkpoint_goes_on_to_the_same_bytes(self):
        whole, half, other = (self.made() for _ in range(3))
        half.learn(96, callback=lambda progress: progress.environment_steps < 64)
        half.save_checkpoint(self.path)
        other.load_checkpoint(self.path, 96)
        self.assertEqual(weights(other.learn(96)), weights(whole.learn(96)))

    def test_a_file_is_loaded_only_with_the_normalisation_that_it_was_saved_with(self):
        for saved, held in ((True, "statistics"), (False, "no statistics")):
            self.made(normalise=saved).learn(96).save(self.path)
            said = f"kept holds {held} of observations, and normalise is {not saved}; load it with normalise={saved}"
            with self.subTest(saved=saved), self.assertRaisesRegex(ValueError, said):
                PPO.load(self.path, "Pendulum-v1", seed=1, normalise=not saved, **SMALL_CONTINUOUS_PPO)

    def test_what_does_not_fit_is_refused(self):
        with self.assertRaisesRegex(TypeError, "there is no option normalise; the options are"):
            PPO("CartPole-v1", seed=1, normalise=True)
        trained(PPO).save(self.path)
        with self.assertRaisesRegex(ValueError, "actor_mean"):
            PPO.load(self.path, "Pendulum-v1", seed=1)
        kinds = iter(("Pendulum-v1", "CartPole-v1"))
        with self.assertRaisesRegex(ValueError, "CartPole.* has not continuous actions"):
            PPO(lambda: gymnasium.make(next(kinds)), seed=1, num_envs=2)


class Refusing(unittest.TestCase):
    def test_what_does_not_fit_is_named_with_its_value(self):
        box = gymnasium.make("Pendulum-v1")
        for call, error, expected in (
            (lambda: DQN("CartPole-v9", seed=1), ValueError, 'no environment "CartPole-v9"'),
            (
                lambda: DQN("Pendulum-v1", seed=1),
                ValueError,
                "env is 'Pendulum-v1', whose actions are continuous",
            ),
            (
                lambda: SAC("CartPole-v1", seed=1),
                ValueError,
                "env is 'CartPole-v1', whose actions are discrete",
            ),
            (lambda: DQN(box, seed=1), ValueError, "Pendulum.* has not discrete actions"),
            (lambda: PPO(box, seed=1), TypeError, "env is .* and must be a name, or a function"),
            (lambda: PPO("CartPole-v1", seed=1, num_envs=0), ValueError, "num_envs is 0"),
            (lambda: DQN("CartPole-v1", seed=-1), ValueError, "seed is -1"),
            (lambda: DQN("CartPole-v1", seed=1.0), TypeError, "seed is 1.0"),
            (
                lambda: DQN("CartPole-v1", seed=1, batch=1),
                TypeError,
                "there is no option batch; the options are",
            ),
            (lambda: DQN("CartPole-v1", seed=1, batch_size=-1), ValueError, "batch_size is -1"),
            (lambda: DQN("CartPole-v1", seed=1, batch_size=1.5), TypeError, "batch_size is 1.5"),
            (lambda: DQN("CartPole-v1", seed=1, buffer_size=1 << 62), ValueError, "memory"),
            (lambda: DQN("CartPole-v1", seed=1, gamma="much"), TypeError, "gamma is 'much'"),
            (lambda: DQN("CartPole-v1", seed=1, tau=float("nan")), ValueError, "tau is nan"),
            (lambda: DQN("CartPole-v1", seed=1, end_epsilon=2.0), ValueError, "end_epsilon is 2"),
            (lambda: DQN("CartPole-v1", seed=1, n_step=0), ValueError, "n-step"),
            (lambda: DQN("CartPole-v1", seed=1, prioritised=1), TypeError, "prioritised is 1 and must be"),
            (lambda: DQN("CartPole-v1", seed=1, prioritised=True, alpha=2.0), ValueError, "alpha is 2"),
            (lambda: DQN("CartPole-v1", seed=1, prioritised=True, beta=-1.0), ValueError, "beta is -1"),
            (
                lambda: PPO("CartPole-v1", seed=1, anneal_learning_rate=1),
                TypeError,
                "anneal_learning_rate is 1",
            ),
            (
                lambda: PPO("CartPole-v1", seed=1, minibatches=7),
                ValueError,
                "512 steps cannot be divided into 7",
            ),
            (lambda: PPO("CartPole-v1", seed=1).learn(511), ValueError, "total_steps is 511 .* from 512"),
            (lambda: DQN("CartPole-v1", seed=1).learn(0), ValueError, "total_steps is 0"),
            (
                lambda: trained(DQN).learn(151),
                ValueError,
                "total_steps is 151 and this training began with 150",
            ),
            (lambda: trained(DQN).predict([0.0, 1.0]), ValueError, r"observations has shape \[1, 2\]"),
            (lambda: trained(DQN).predict([0, 1, np.nan, 0]), ValueError, "observation holds nan"),
        ):
            with self.subTest(expected), self.assertRaisesRegex(error, expected):
                call()


if __name__ == "__main__":
    unittest.main()
