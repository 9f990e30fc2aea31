//! What agents with a replay buffer share: acting, and keeping what came of it.

use torchforge_data::{Batch, ReplayBuffer, Transition};
use torchforge_env::{ActionSpace, Environment, Pcg64};

use torchforge_nn::Element;

use crate::training::Unfinished;
use crate::{Archive, Episode, Stream, TrainingError, TruncationTrace};

/// What an action consists of.
type Value<E> = <<E as Environment>::ActionSpace as ActionSpace>::Value;

/// An environment, the episode under way in it, and the transitions that came of it.
pub(crate) struct Experience<E: Environment> {
    environment: E,
    replay: ReplayBuffer<Value<E>>,
    batch: Batch<Value<E>>,
    sampling: Pcg64,
    observation: Vec<f32>,
    next_observation: Vec<f32>,
    episode: Unfinished,
    steps: u64,
    truncations: TruncationTrace,
}

impl<E: Environment> Experience<E>
where
    Value<E>: Copy + Default,
{
    /// Takes all memory and begins the first episode: the environment is reset with `seed`.
    pub(crate) fn new(
        mut environment: E,
        capacity: usize,
        batch: usize,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let (width, action_len) = (environment.observation_len(), environment.action_space().width());
        let mut observation = vec![0.0; width];
        environment.reset(Some(seed), &mut observation)?;
        Ok(Self {
            replay: ReplayBuffer::new(capacity, width, action_len)?,
            batch: Batch::new(batch, width, action_len)?,
            sampling: Stream::Replay.of(seed),
            next_observation: observation.clone(),
            observation,
            episode: Unfinished::default(),
            steps: 0,
            truncations: TruncationTrace::default(),
            environment,
        })
    }

    /// One environment step; the episode, if this step ended one.
    ///
    /// An ended episode is followed by the next one's first observation at once, while the replay buffer
    /// gets the real last observation. The value after a truncated episode still counts.
    pub(crate) fn step(&mut self, action: &[Value<E>]) -> Result<Option<Episode>, TrainingError> {
        let taken = self.environment.action_space().action(action, 0);
        let step = self.environment.step(taken, &mut self.next_observation)?;
        self.replay.push(Transition {
            observation: &self.observation,
            next_observation: &self.next_observation,
            action,
            reward: step.reward as f32,
            terminated: step.terminated,
            truncated: step.truncated,
        })?;
        if step.truncated && !step.terminated {
            self.truncations.look(self.replay.newest(), &self.next_observation);
        }
        let episode = self.episode.add(self.steps, step.reward, step.done());
        self.steps += 1;
        std::mem::swap(&mut self.observation, &mut self.next_observation);
        if step.done() {
            self.environment.reset(None, &mut self.observation)?;
        }
        Ok(episode)
    }

    /// Shows all of it to a checkpoint, of a training of `steps` steps.
    pub(crate) fn visit(&mut self, archive: &mut Archive, steps: u64)
    where
        Value<E>: Element,
    {
        archive.number("environment_steps", &mut self.steps, steps);
        archive.environment(&mut self.environment);
        archive.numbers("observation", &mut self.observation);
        self.episode.visit(archive, "episode", steps);
        archive.generator("random.replay", &mut self.sampling);
        self.truncations.visit(archive, steps);
        let mut place = [self.replay.len() as u64, self.replay.next_row() as u64];
        archive.numbers("replay.place", &mut place);
        let [len, next] = place.map(|row| usize::try_from(row).unwrap_or(usize::MAX));
        if let Err(error) = self.replay.resume_at(len, next) {
            archive.refuse(error);
        }
        let rows = self.replay.rows_mut();
        archive.numbers("replay.observations", rows.observations);
        archive.numbers("replay.next_observations", rows.next_observations);
        archive.numbers("replay.actions", rows.actions);
        archive.numbers("replay.rewards", rows.rewards);
        archive.numbers("replay.terminations", rows.terminations);
        archive.numbers("replay.truncations", rows.truncations);
    }

    /// Draws a minibatch of all transitions that are kept.
    pub(crate) fn sample(&mut self) -> Result<&Batch<Value<E>>, TrainingError> {
        self.replay.sample(&mut self.sampling, &mut self.batch)?;
        Ok(&self.batch)
    }

    /// What was drawn last.
    pub(crate) fn batch(&self) -> &Batch<Value<E>> {
        &self.batch
    }

    /// What the next action answers.
    pub(crate) fn observation(&self) -> &[f32] {
        &self.observation
    }

    /// The actions that a step takes.
    pub(crate) fn action_space(&self) -> &E::ActionSpace {
        self.environment.action_space()
    }

    /// Environment steps taken, counted where they are taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Transitions held now.
    pub(crate) fn rows(&self) -> u64 {
        self.replay.len() as u64
    }

    /// Transitions held at most.
    pub(crate) fn capacity(&self) -> usize {
        self.replay.capacity()
    }

    /// What became of transitions whose episode was cut off.
    pub(crate) fn truncations(&self) -> TruncationTrace {
        self.truncations
    }
}
