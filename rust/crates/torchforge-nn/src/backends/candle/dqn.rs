//! One update of deep Q-learning on candle.

use candle_core::{Device, Tensor, Var};

use super::adam::Adam;
use super::{flat, forward, variables};
use crate::backends::DqnBackend;
use crate::dqn::largest_difference;
use crate::error::check_len;
use crate::{AdamOptions, DqnUpdate, Error, Minibatch, Mlp};

/// [`DqnUpdate`] on candle's tensors and its automatic differentiation.
pub struct CandleDqn {
    online: Vec<Var>,
    target: Vec<Tensor>,
    adam: Adam,
    gamma: f64,
    batch: usize,
    inputs: usize,
    outputs: usize,
    gradients: Vec<Tensor>,
    values: Vec<f32>,
}

impl CandleDqn {
    /// The loss and, in the order of the variables, its gradients.
    fn learn(&mut self, minibatch: &Minibatch<'_>) -> candle_core::Result<f32> {
        let rows = |values: &[f32], columns| Tensor::from_slice(values, (self.batch, columns), &Device::Cpu);
        let next = forward(&self.target, &rows(minibatch.next_observations, self.inputs)?)?.max_keepdim(1)?;
        let follows = rows(minibatch.terminations, 1)?.affine(-1.0, 1.0)?;
        let target = (rows(minibatch.rewards, 1)? + (next.affine(self.gamma, 0.0)? * follows)?)?;

        let online: Vec<Tensor> = self.online.iter().map(|variable| variable.as_tensor().clone()).collect();
        let actions = Tensor::from_slice(minibatch.actions, (self.batch, 1), &Device::Cpu)?;
        let values = forward(&online, &rows(minibatch.observations, self.inputs)?)?.gather(&actions, 1)?;
        let loss = (values - target)?.sqr()?.mean_all()?;

        let mut found = loss.backward()?;
        self.gradients.clear();
        for variable in &self.online {
            let gradient = match found.remove(variable) {
                Some(gradient) => gradient.contiguous()?,
                None => variable.zeros_like()?,
            };
            // Its history would keep the whole graph alive.
            self.gradients.push(gradient.detach());
        }
        self.adam.step(&self.online, &self.gradients)?;
        loss.to_scalar()
    }

    fn act(&self, observation: &[f32]) -> candle_core::Result<Vec<f32>> {
        let parameters: Vec<Tensor> = self.online.iter().map(|each| each.as_detached_tensor()).collect();
        let row = Tensor::from_slice(observation, (1, self.inputs), &Device::Cpu)?;
        forward(&parameters, &row)?.flatten_all()?.to_vec1()
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
        let (inputs, outputs) = (online.inputs(), online.outputs());
        if batch == 0 {
            return Err(Error::Sizes { sizes: vec![inputs, outputs], batch });
        }
        check_len("the target network", online.parameters().len(), target.parameters().len())?;
        let online = variables(online)?;
        let target = variables(target)?.into_iter().map(Var::into_inner).map(|each| each.detach()).collect();
        let adam = Adam::new(adam, &online)?;
        let values = vec![0.0; outputs];
        Ok(Self { online, target, adam, gamma, batch, inputs, outputs, gradients: Vec::new(), values })
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(flat(&self.online.iter().map(|each| each.as_detached_tensor()).collect::<Vec<_>>())?)
    }

    fn gradients(&self) -> Result<Vec<f32>, Error> {
        Ok(flat(&self.gradients)?)
    }
}

impl DqnUpdate for CandleDqn {
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        check_len("the observation", self.inputs, observation.len())?;
        self.values = self.act(observation)?;
        Ok(&self.values)
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        minibatch.check(self.batch, self.inputs, self.outputs)?;
        Ok(self.learn(&minibatch)?)
    }

    fn copy_to_target(&mut self) {
        // A copy: a variable is set in place.
        for (target, online) in self.target.iter_mut().zip(&self.online) {
            *target = online.as_detached_tensor().copy().expect("memory of the processor can be copied");
        }
    }

    fn largest_target_difference(&self) -> f32 {
        let online: Vec<Tensor> = self.online.iter().map(|each| each.as_detached_tensor()).collect();
        match (flat(&self.target), flat(&online)) {
            (Ok(target), Ok(online)) => largest_difference(&target, &online),
            _ => f32::NAN,
        }
    }
}
