//! Where an agent keeps its transitions, and what it draws its minibatches into.

use torchforge_data::{
    Batch, NStep, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, ReplayBuffer, Rows, Transition,
};
use torchforge_env::Pcg64;
use torchforge_nn::{Element, Windows};

use crate::{Archive, TrainingError};

/// Transitions, and the minibatch drawn last.
#[allow(clippy::large_enum_variant, reason = "an agent has one of it")]
pub(crate) enum Memory<A> {
    /// Single steps, drawn uniformly.
    Uniform(ReplayBuffer<A>, Batch<A>),
    /// Windows of several steps, drawn by priority.
    Prioritised(Box<Prioritised<A>>),
}

/// Windows of several steps, and what the last update found for those that were drawn.
pub(crate) struct Prioritised<A> {
    replay: PrioritizedReplayBuffer<A>,
    batch: PrioritizedBatch<A>,
    errors: Vec<f32>,
    beta: Beta,
}

/// The exponent of importance-sampling weights, which rises linearly to 1 over a training.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beta {
    /// In the first step.
    pub(crate) first: f64,
    /// Environment steps of the whole training.
    pub(crate) steps: u64,
}

impl Beta {
    fn at(self, step: u64) -> f64 {
        (self.first + (1.0 - self.first) * (step as f64 / self.steps as f64)).min(1.0)
    }
}

/// Sizes of a memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) capacity: usize,
    /// Environment steps of the whole training, each of which pushes a transition.
    pub(crate) steps: u64,
    pub(crate) batch: usize,
    pub(crate) observation: usize,
    pub(crate) action: usize,
}

impl<A: Copy + Default> Memory<A> {
    pub(crate) fn uniform(of: Sizes) -> Result<Self, TrainingError> {
        let pushes = usize::try_from(of.steps).unwrap_or(usize::MAX);
        let replay = ReplayBuffer::for_pushes(of.capacity, pushes, of.observation, of.action)?;
        Ok(Self::Uniform(replay, Batch::new(of.batch, of.observation, of.action)?))
    }

    pub(crate) fn prioritised(
        of: Sizes,
        options: PriorityOptions,
        windows: NStep,
        beta: Beta,
    ) -> Result<Self, TrainingError> {
        let replay = PrioritizedReplayBuffer::new(of.capacity, of.observation, of.action, options, windows)?;
        let batch = PrioritizedBatch::new(of.batch, of.observation, of.action)?;
        let errors = vec![0.0; of.batch];
        Ok(Self::Prioritised(Box::new(Prioritised { replay, batch, errors, beta })))
    }

    pub(crate) fn push(&mut self, transition: Transition<'_, A>) -> Result<(), torchforge_data::Error> {
        match self {
            Self::Uniform(replay, _) => replay.push(transition),
            Self::Prioritised(of) => of.replay.push(transition),
        }
    }

    pub(crate) fn newest(&self) -> Option<Transition<'_, A>> {
        match self {
            Self::Uniform(replay, _) => replay.newest(),
            Self::Prioritised(of) => of.replay.newest(),
        }
    }

    /// Draws a minibatch in environment step `step`.
    pub(crate) fn sample(&mut self, rng: &mut Pcg64, step: u64) -> Result<(), torchforge_data::Error> {
        match self {
            Self::Uniform(replay, batch) => replay.sample(rng, batch),
            Self::Prioritised(of) => of.replay.sample(rng, of.beta.at(step), &mut of.batch),
        }
    }

    /// What was drawn last.
    pub(crate) fn batch(&self) -> &Batch<A> {
        match self {
            Self::Uniform(_, batch) => batch,
            Self::Prioritised(of) => of.batch.transitions(),
        }
    }

    /// What was drawn last, with what an update of windows needs and answers.
    pub(crate) fn drawn(&mut self) -> (&Batch<A>, Option<Windows<'_>>) {
        match self {
            Self::Uniform(_, batch) => (batch, None),
            Self::Prioritised(of) => {
                let Prioritised { batch, errors, .. } = &mut **of;
                let windows = Windows { discounts: batch.discounts(), weights: batch.weights(), errors };
                (batch.transitions(), Some(windows))
            }
        }
    }

    /// Gives what was drawn last the priorities that follow from its update.
    pub(crate) fn learnt(&mut self) -> Result<(), torchforge_data::Error> {
        if let Self::Prioritised(of) = self {
            of.replay.update_priorities(of.batch.stamps(), &of.errors)?;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Uniform(replay, _) => replay.len(),
            Self::Prioritised(of) => of.replay.len(),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        match self {
            Self::Uniform(replay, _) => replay.capacity(),
            Self::Prioritised(of) => of.replay.capacity(),
        }
    }

    pub(crate) fn visit(&mut self, archive: &mut Archive)
    where
        A: Element,
    {
        let mut place = [self.len() as u64, self.next_row() as u64];
        archive.numbers("replay.place", &mut place);
        let [len, next] = place.map(|row| usize::try_from(row).unwrap_or(usize::MAX));
        let resumed = match self {
            Self::Uniform(replay, _) => replay.resume_at(len, next),
            Self::Prioritised(of) => of.visit_priorities(archive, next),
        };
        if let Err(error) = resumed {
            archive.refuse(error);
        }
        let Rows { observations, next_observations, actions, rewards, terminations, truncations } = match self
        {
            Self::Uniform(replay, _) => replay.rows_mut(),
            Self::Prioritised(of) => of.replay.rows_mut(),
        };
        archive.numbers("replay.observations", observations);
        archive.numbers("replay.next_observations", next_observations);
        archive.numbers("replay.actions", actions);
        archive.numbers("replay.rewards", rewards);
        archive.numbers("replay.terminations", terminations);
        archive.numbers("replay.truncations", truncations);
    }

    fn next_row(&self) -> usize {
        match self {
            Self::Uniform(replay, _) => replay.next_row(),
            Self::Prioritised(of) => of.replay.next_row(),
        }
    }
}

impl<A: Copy + Default> Prioritised<A> {
    /// A priority for each row; the next transition goes into row `next`.
    fn visit_priorities(&mut self, archive: &mut Archive, next: usize) -> Result<(), torchforge_data::Error> {
        let mut highest = [self.replay.highest_priority()];
        archive.numbers("replay.highest_priority", &mut highest);
        let mut priorities: Vec<f64> = self.replay.priorities().collect();
        archive.list("replay.priorities", &mut priorities, self.replay.capacity());
        self.replay.resume_at(&priorities, next, highest[0])
    }
}
