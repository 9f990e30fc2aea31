//! What agents with a replay buffer share: acting, and keeping what came of it.

mod memory;

use torchforge_data::{Batch, Transition};
use torchforge_env::{ActionSpace, Environment, Pcg64};
use torchforge_nn::{Element, Windows};

pub(crate) use memory::{Beta, Memory, Sizes};

use crate::training::Unfinished;
use crate::{Archive, Episode, Stream, TrainingError, TruncationTrace};

/// What an action consists of.
type Value<E> = <<E as Environment>::ActionSpace as ActionSpace>::Value;

/// An environment, the episode under way in it, and the transitions that came of it.
pub(crate) struct Experience<E: Environment> {
    environment: E,
    memory: Memory<Value<E>>,
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
    /// Takes all memory of a training of `steps`, drawn uniformly, and begins the first episode: the environment is reset
    /// with `seed`.
    pub(crate) fn new(
        environment: E,
        capacity: usize,
        steps: u64,
        batch: usize,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        Self::with_memory(environment, capacity, steps, batch, seed, Memory::uniform)
    }

    /// The same with the memory that `memory` makes.
    pub(crate) fn with_memory(
        mut environment: E,
        capacity: usize,
        steps: u64,
        batch: usize,
        seed: u64,
        memory: impl FnOnce(Sizes) -> Result<Memory<Value<E>>, TrainingError>,
    ) -> Result<Self, TrainingError> {
        let (observation, action) = (environment.observation_len(), environment.action_space().width());
        let sizes = Sizes { capacity, steps, batch, observation, action };
        let mut observation = vec![0.0; observation];
        environment.reset(Some(seed), &mut observation)?;
        Ok(Self {
            memory: memory(sizes)?,
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
        self.memory.push(Transition {
            observation: &self.observation,
            next_observation: &self.next_observation,
            action,
            reward: step.reward as f32,
            terminated: step.terminated,
            truncated: step.truncated,
        })?;
        if step.truncated && !step.terminated {
            self.truncations.look(self.memory.newest(), &self.next_observation);
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
        self.memory.visit(archive);
    }

    /// Draws a minibatch of all transitions that are kept.
    pub(crate) fn sample(&mut self) -> Result<&Batch<Value<E>>, TrainingError> {
        self.memory.sample(&mut self.sampling, self.steps)?;
        Ok(self.memory.batch())
    }

    /// What was drawn last, with what an update of windows needs and answers.
    pub(crate) fn drawn(&mut self) -> (&Batch<Value<E>>, Option<Windows<'_>>) {
        self.memory.drawn()
    }

    /// What was drawn last was learnt from.
    pub(crate) fn learnt(&mut self) -> Result<(), TrainingError> {
        Ok(self.memory.learnt()?)
    }

    /// What was drawn last.
    pub(crate) fn batch(&self) -> &Batch<Value<E>> {
        self.memory.batch()
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
        self.memory.len() as u64
    }

    /// Transitions held at most.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// What became of transitions whose episode was cut off.
    pub(crate) fn truncations(&self) -> TruncationTrace {
        self.truncations
    }
}
