//! Rings that are made and filled.

use torchforge_data::{ReplayBuffer, Transition};
use torchforge_referee::Error;

use super::{Parameters, Tape, Workload, failed};
use crate::Failure;

/// Rows of the tape as observations, each of which goes over into the next one.
pub(super) struct Observations {
    rows: Vec<Vec<f32>>,
}

impl Observations {
    pub(super) fn of(tape: &Tape) -> Self {
        Self { rows: (0..Tape::rows()).map(|row| tape.values(row)).collect() }
    }

    /// A new ring of so many transitions, filled from observation `first` on.
    pub(super) fn ring(&self, of: &Parameters, first: usize) -> Result<ReplayBuffer<u32>, Failure> {
        let mut ring = ReplayBuffer::new(of.rows, of.row_bytes, 1).map_err(failed)?;
        for step in 0..of.rows {
            let [now, next] = [step, step + 1].map(|step| &self.rows[(first + step) % self.rows.len()]);
            let transition = Transition {
                observation: now,
                next_observation: next,
                action: &[(step % 2) as u32],
                reward: (first + step) as f32,
                terminated: false,
                truncated: false,
            };
            ring.push(transition).map_err(failed)?;
        }
        Ok(ring)
    }
}

pub(super) struct Rings {
    of: Parameters,
    observations: Observations,
    /// The observation that each ring begins with.
    firsts: Vec<usize>,
    sums: Vec<u64>,
}

impl Rings {
    pub(super) fn new(of: Parameters, tape: &Tape) -> Self {
        let observations = Observations::of(tape);
        Self { of, observations, firsts: Vec::new(), sums: Vec::with_capacity(of.calls) }
    }
}

impl Workload for Rings {
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        self.firsts = numbers.iter().map(|number| (number % 1024) as usize).collect();
        self.sums.clear();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for &first in &self.firsts {
            let ring = self.observations.ring(&self.of, first)?;
            let rewards = (0..ring.len()).filter_map(|row| ring.row(row)).map(|of| of.reward as u64);
            self.sums.push(rewards.sum());
        }
        Ok(())
    }

    fn sums(&self) -> Result<Vec<u64>, Error> {
        Ok(self.sums.clone())
    }
}
