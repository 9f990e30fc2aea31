//! Minibatches with storage of their own.

use torchforge_data::{Batch, ReplayBuffer};
use torchforge_env::Pcg64;
use torchforge_referee::Error;

use super::rings::Observations;
use super::{Parameters, Tape, Workload, failed};
use crate::Failure;

pub(super) struct Minibatches {
    of: Parameters,
    ring: ReplayBuffer<u32>,
    generator: Pcg64,
    sums: Vec<u64>,
}

impl Minibatches {
    pub(super) fn new(of: Parameters, tape: &Tape) -> Result<Self, Failure> {
        let ring = Observations::of(tape).ring(&of, 0)?;
        Ok(Self { of, ring, generator: Pcg64::new(0), sums: Vec::with_capacity(of.calls) })
    }
}

impl Workload for Minibatches {
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        self.generator = Pcg64::new(numbers.first().copied().unwrap_or_default());
        self.sums.clear();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for _ in 0..self.of.calls {
            let mut batch = Batch::new(self.of.batch, self.of.row_bytes, 1).map_err(failed)?;
            self.ring.sample(&mut self.generator, &mut batch).map_err(failed)?;
            self.sums.push(batch.rewards().iter().map(|&reward| reward as u64).sum());
        }
        Ok(())
    }

    fn sums(&self) -> Result<Vec<u64>, Error> {
        Ok(self.sums.clone())
    }
}
