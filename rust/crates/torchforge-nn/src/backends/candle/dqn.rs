//! One update of deep Q-learning on candle.

use candle_core::{Device, Tensor};

use super::network::{Learner, Network};
use super::rows;
use crate::backends::{DqnBackend, no_state};
use crate::debug::debug_sizes;
use crate::dqn::{DqnSizes, check_constants, largest_difference};
use crate::{Activation, AdamOptions, DqnUpdate, Error, Minibatch, Mlp, NetworkState, Visit};

/// [`DqnUpdate`] on candle's tensors and its automatic differentiation.
pub struct CandleDqn {
    online: Learner,
    target: Network,
    gamma: f64,
    sizes: DqnSizes,
    layout: Mlp,
    values: Vec<f32>,
}

debug_sizes!(CandleDqn, sizes);

impl CandleDqn {
    fn learn(&mut self, minibatch: &Minibatch<'_>) -> candle_core::Result<f32> {
        let next = self
            .target
            .compute(&rows(minibatch.next_observations, self.sizes.observation)?)?
            .max_keepdim(1)?;
        let follows = rows(minibatch.terminations, 1)?.affine(-1.0, 1.0)?;
        let target = (rows(minibatch.rewards, 1)? + (next.affine(self.gamma, 0.0)? * follows)?)?;

        let actions = Tensor::from_slice(minibatch.actions, (self.sizes.batch, 1), &Device::Cpu)?;
        let values = self.online.network.record(&rows(minibatch.observations, self.sizes.observation)?)?;
        let loss = (values.gather(&actions, 1)? - target)?.sqr()?.mean_all()?;

        self.online.take(&mut loss.backward()?)?;
        self.online.step()?;
        loss.to_scalar()
    }

    fn mean(&self, minibatch: &Minibatch<'_>) -> candle_core::Result<f32> {
        let actions = Tensor::from_slice(minibatch.actions, (self.sizes.batch, 1), &Device::Cpu)?;
        let values = self.online.network.compute(&rows(minibatch.observations, self.sizes.observation)?)?;
        values.gather(&actions, 1)?.mean_all()?.to_scalar()
    }

    fn act(&self, observations: &[f32]) -> candle_core::Result<Vec<f32>> {
        self.online.network.compute(&rows(observations, self.sizes.observation)?)?.flatten_all()?.to_vec1()
    }
}

impl DqnBackend for CandleDqn {
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = DqnSizes::of(online, target, batch)?;
        check_constants(gamma, &adam)?;
        let layout = online.clone();
        let online = Learner::new(online, Activation::Relu, adam)?;
        let target = Network::new(target, Activation::Relu)?;
        Ok(Self { online, target, gamma, sizes, layout, values: vec![0.0; sizes.actions] })
    }

    fn layout(&self) -> &Mlp {
        &self.layout
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.network.parameters()?)
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.gradients()?)
    }

    fn values_of(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
        self.sizes.check_rows(observations, values)?;
        values.copy_from_slice(&self.act(observations)?);
        Ok(())
    }
}

impl DqnUpdate for CandleDqn {
    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        self.sizes.check_row(observation)?;
        self.values = self.act(observation)?;
        Ok(&self.values)
    }

    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(self.mean(&minibatch)?)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(self.learn(&minibatch)?)
    }

    fn update_target(&mut self, tau: f64) {
        let online = &self.online.network;
        let moved =
            if tau == 1.0 { self.target.copy_from(online) } else { self.target.approach(online, tau) };
        moved.expect("networks of equal sizes were checked when they were given");
    }

    fn largest_target_difference(&self) -> f32 {
        match (self.target.parameters(), self.online.network.parameters()) {
            (Ok(target), Ok(online)) => largest_difference(&target, &online),
            _ => f32::NAN,
        }
    }
}

impl NetworkState for CandleDqn {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> Result<(), Error> {
        Err(no_state("candle"))
    }
}
