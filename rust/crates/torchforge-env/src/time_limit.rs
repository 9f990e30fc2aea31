//! Gymnasium's `TimeLimit` wrapper.

use crate::{Environment, Error, Step};

/// Truncates episodes after a number of steps. A step that also terminates reports both, as Gymnasium's.
#[derive(Debug, Clone)]
pub struct TimeLimit<E> {
    environment: E,
    limit: u32,
    elapsed: u32,
}

impl<E> TimeLimit<E> {
    /// Wraps `environment`; its episodes have at most `limit` steps. With a limit of 0 no episode can begin
    /// ([`Error::NoSteps`]).
    pub fn new(environment: E, limit: u32) -> Self {
        Self { environment, limit, elapsed: 0 }
    }

    /// The environment inside.
    pub fn inner(&self) -> &E {
        &self.environment
    }
}

impl<E: Environment> Environment for TimeLimit<E> {
    type Action = E::Action;
    type ActionSpace = E::ActionSpace;

    fn observation_len(&self) -> usize {
        self.environment.observation_len()
    }

    fn action_space(&self) -> &E::ActionSpace {
        self.environment.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        if self.limit == 0 {
            return Err(Error::NoSteps);
        }
        self.environment.reset(seed, observation)?;
        self.elapsed = 0;
        Ok(())
    }

    fn step(&mut self, action: &E::Action, observation: &mut [f32]) -> Result<Step, Error> {
        if self.elapsed >= self.limit {
            return Err(Error::NoEpisode);
        }
        let step = self.environment.step(action, observation)?;
        self.elapsed += 1;
        Ok(Step { truncated: step.truncated || self.elapsed >= self.limit, ..step })
    }

    /// The inner environment's, then the steps since the reset.
    fn snapshot(&self) -> Option<Vec<u64>> {
        let mut snapshot = self.environment.snapshot()?;
        snapshot.push(u64::from(self.elapsed));
        Some(snapshot)
    }

    fn restore(&mut self, snapshot: &[u64]) -> Result<(), Error> {
        let (&elapsed, inner) = snapshot.split_last().ok_or(Error::Snapshot)?;
        if elapsed > u64::from(self.limit) {
            return Err(Error::Snapshot);
        }
        self.environment.restore(inner)?;
        self.elapsed = elapsed as u32;
        Ok(())
    }
}
