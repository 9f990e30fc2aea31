//! Transitions as arrays of somebody's own.

use super::{Error, check_len};

/// Transitions as arrays of somebody's own, borrowed, one slice a field: what a buffer holds, or where a minibatch goes.
#[derive(Debug)]
pub struct Rows<'a, A, O = f32> {
    /// (rows, observation length).
    pub observations: &'a mut [O],
    /// (rows, observation length).
    pub next_observations: &'a mut [O],
    /// (rows, action length).
    pub actions: &'a mut [A],
    /// (rows).
    pub rewards: &'a mut [f32],
    /// 1 where the task ended, otherwise 0; (rows).
    pub terminations: &'a mut [f32],
    /// 1 where the episode was cut off, otherwise 0; (rows).
    pub truncations: &'a mut [f32],
}

/// One of them.
#[derive(Debug)]
pub struct Row<'a, A, O> {
    pub observation: &'a mut [O],
    pub next_observation: &'a mut [O],
    pub action: &'a mut [A],
    pub reward: &'a mut f32,
    pub terminated: &'a mut f32,
    pub truncated: &'a mut f32,
}

impl<'a, A, O> Rows<'a, A, O> {
    /// An error unless every field has as many rows as there are rewards.
    pub(super) fn check(&self, observation_len: usize, action_len: usize) -> Result<(), Error> {
        let size = self.rewards.len();
        for (what, values, found) in [
            ("observations", observation_len, self.observations.len()),
            ("next observations", observation_len, self.next_observations.len()),
            ("actions", action_len, self.actions.len()),
            ("terminations", 1, self.terminations.len()),
            ("truncations", 1, self.truncations.len()),
        ] {
            check_len(what, size * values, found)?;
        }
        Ok(())
    }

    /// Each in turn.
    #[inline]
    pub(super) fn each(
        self,
        observation_len: usize,
        action_len: usize,
    ) -> impl ExactSizeIterator<Item = Row<'a, A, O>> {
        (self.observations.chunks_exact_mut(observation_len))
            .zip(self.next_observations.chunks_exact_mut(observation_len))
            .zip(self.actions.chunks_exact_mut(action_len))
            .zip(self.rewards.iter_mut().zip(self.terminations).zip(self.truncations))
            .map(|(((observation, next_observation), action), ((reward, terminated), truncated))| Row {
                observation,
                next_observation,
                action,
                reward,
                terminated,
                truncated,
            })
    }
}
