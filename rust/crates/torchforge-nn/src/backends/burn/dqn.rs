//! One update of deep Q-learning on burn.

use burn::tensor::Device;

use super::network::{Learner, Network};
use super::{indices, rows, values};
use crate::backends::{DqnBackend, no_state};
use crate::debug::debug_sizes;
use crate::dqn::{DqnSizes, check_constants, largest_difference};
use crate::{Activation, AdamOptions, DqnUpdate, Error, Minibatch, Mlp, NetworkState, Visit};

/// [`DqnUpdate`] on burn's tensors and its automatic differentiation.
pub struct BurnDqn {
    device: Device,
    online: Learner,
    target: Network,
    gamma: f64,
    sizes: DqnSizes,
    layout: Mlp,
    row: Vec<f32>,
}

debug_sizes!(BurnDqn, sizes);

impl BurnDqn {
    fn act(&self, observations: &[f32]) -> Vec<f32> {
        values(&self.online.network.compute(rows(observations, self.sizes.observation, &self.device)))
    }
}

impl DqnBackend for BurnDqn {
    fn from_networks(
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = DqnSizes::of(online, target, batch)?;
        check_constants(gamma, &adam)?;
        let device = Device::flex();
        let layout = online.clone();
        let online = Learner::new(online, Activation::Relu, adam, &device);
        let target = Network::new(target, Activation::Relu, &device);
        Ok(Self { device, online, target, gamma, sizes, layout, row: vec![0.0; sizes.actions] })
    }

    fn layout(&self) -> &Mlp {
        &self.layout
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.network.parameters())
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(self.online.gradients())
    }

    fn values_of(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
        self.sizes.check_rows(observations, values)?;
        values.copy_from_slice(&self.act(observations));
        Ok(())
    }
}

impl DqnUpdate for BurnDqn {
    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        self.sizes.check_row(observation)?;
        self.row = self.act(observation);
        Ok(&self.row)
    }

    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        let observations = rows(minibatch.observations, self.sizes.observation, &self.device);
        let values = self.online.network.compute(observations);
        Ok(values.gather(1, indices(minibatch.actions, &self.device)).mean().into_scalar())
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        let rows = |values, columns| rows(values, columns, &self.device);
        let next = self.target.compute(rows(minibatch.next_observations, self.sizes.observation)).max_dim(1);
        let follows = rows(minibatch.terminations, 1).mul_scalar(-1.0).add_scalar(1.0);
        let target = rows(minibatch.rewards, 1) + next.mul_scalar(self.gamma) * follows;

        let online = self.online.network.recording();
        let actions = indices(minibatch.actions, &self.device).autodiff();
        let chosen = online
            .compute(rows(minibatch.observations, self.sizes.observation).autodiff())
            .gather(1, actions);
        let loss = (chosen - target.autodiff()).square().mean();

        self.online.take(&online, &mut loss.backward());
        self.online.step();
        Ok(loss.into_scalar::<f32>())
    }

    fn update_target(&mut self, tau: f64) {
        if tau == 1.0 {
            self.target = self.online.network.clone();
        } else {
            self.target.approach(&self.online.network, tau);
        }
    }

    fn largest_target_difference(&self) -> f32 {
        largest_difference(&self.target.parameters(), &self.online.network.parameters())
    }
}

impl NetworkState for BurnDqn {
    fn visit_state(&mut self, _: &mut Visit<'_>) -> Result<(), Error> {
        Err(no_state("burn"))
    }
}
