//! One update of deep Q-learning, the seam between algorithm and kernels.

use rand_core::Rng;

use crate::matrix::Packing;
use crate::mlp::Activations;
use crate::{Adam, AdamOptions, Error, Mlp};

/// Transitions to learn from, borrowed. Row `i` of every field belongs to the same transition.
#[derive(Debug, Clone, Copy)]
pub struct Minibatch<'a> {
    /// (batch, observation length).
    pub observations: &'a [f32],
    /// (batch, observation length).
    pub next_observations: &'a [f32],
    /// (batch).
    pub actions: &'a [u32],
    /// (batch).
    pub rewards: &'a [f32],
    /// 1 where the task ended, so that nothing follows, otherwise 0; (batch).
    pub terminations: &'a [f32],
}

/// An action-value network that learns by whole updates.
pub trait QNetwork {
    /// The values of all actions for one observation.
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error>;

    /// One gradient step; returns the loss before it.
    ///
    /// The loss is the mean over the minibatch of `(q(s, a) - y)^2` with
    /// `y = r + gamma * max_b target(s', b) * (1 - terminated)` (Mnih et al., 2015).
    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error>;

    /// Makes the target network equal to the online network.
    fn copy_to_target(&mut self);
}

/// [`QNetwork`] on an [`Mlp`] with [`Adam`]. After it is made, it allocates nothing.
pub struct DenseDqn {
    online: Mlp,
    target: Mlp,
    gamma: f32,
    batch: usize,
    adam: Adam,
    gradients: Vec<f32>,
    activations: Activations,
    target_activations: Activations,
    row_activations: Activations,
    errors: Activations,
    packing: Packing,
}

impl DenseDqn {
    /// A freshly initialised network (see [`Mlp::new`]) with an equal target; minibatches have `batch` rows.
    pub fn new(
        sizes: &[usize],
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
        rng: &mut impl Rng,
    ) -> Result<Self, Error> {
        let online = Mlp::new(sizes, rng)?;
        Self::from_networks(online.clone(), online, batch, gamma, adam)
    }

    /// Given networks of equal sizes, with fresh moments.
    pub fn from_networks(
        online: Mlp,
        target: Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        if batch == 0 {
            return Err(Error::Sizes { sizes: vec![online.inputs(), online.outputs()], batch });
        }
        let len = online.parameters().len();
        check_len("the target network", len, target.parameters().len())?;
        Ok(Self {
            gamma: gamma as f32,
            batch,
            adam: Adam::new(adam, len),
            gradients: vec![0.0; len],
            activations: online.activations(batch),
            target_activations: online.activations(batch),
            row_activations: online.activations(1),
            errors: online.activations(batch),
            packing: online.packing(batch),
            online,
            target,
        })
    }

    /// The network that acts and learns.
    pub fn online(&self) -> &Mlp {
        &self.online
    }

    /// The gradients of the last update, laid out as [`Mlp::parameters`].
    pub fn gradients(&self) -> &[f32] {
        &self.gradients
    }

    fn check(&self, minibatch: &Minibatch<'_>) -> Result<(), Error> {
        let (rows, values) = (self.batch, self.batch * self.online.inputs());
        check_len("observations", values, minibatch.observations.len())?;
        check_len("next observations", values, minibatch.next_observations.len())?;
        check_len("actions", rows, minibatch.actions.len())?;
        check_len("rewards", rows, minibatch.rewards.len())?;
        check_len("terminations", rows, minibatch.terminations.len())?;
        let count = self.online.outputs();
        match minibatch.actions.iter().find(|&&action| action as usize >= count) {
            Some(&action) => Err(Error::Action { action, count }),
            None => Ok(()),
        }
    }

    /// Writes the loss's gradient with respect to the online outputs and returns the loss.
    fn loss(&mut self, minibatch: &Minibatch<'_>) -> f32 {
        let outputs = self.online.outputs();
        let scale = 2.0 / self.batch as f32;
        let mut sum = 0.0_f64;
        let rows = self.activations.output().chunks_exact(outputs);
        let next_rows = self.target_activations.output().chunks_exact(outputs);
        let error_rows = self.errors.output_mut().chunks_exact_mut(outputs);
        for (row, ((values, next_values), errors)) in rows.zip(next_rows).zip(error_rows).enumerate() {
            let action = minibatch.actions[row] as usize;
            let best = largest(next_values);
            let target = minibatch.rewards[row] + self.gamma * best * (1.0 - minibatch.terminations[row]);
            let difference = values[action] - target;
            errors.fill(0.0);
            errors[action] = scale * difference;
            sum += f64::from(difference * difference);
        }
        (sum / self.batch as f64) as f32
    }
}

impl QNetwork for DenseDqn {
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        check_len("the observation", self.online.inputs(), observation.len())?;
        self.online.forward_row(observation, &mut self.row_activations);
        Ok(self.row_activations.output())
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.check(&minibatch)?;
        self.target.forward(minibatch.next_observations, &mut self.target_activations, &mut self.packing);
        self.online.forward(minibatch.observations, &mut self.activations, &mut self.packing);
        let loss = self.loss(&minibatch);
        self.online.backward(
            minibatch.observations,
            &self.activations,
            &mut self.errors,
            &mut self.gradients,
            &mut self.packing,
        );
        self.adam.step(self.online.parameters_mut(), &self.gradients);
        Ok(loss)
    }

    fn copy_to_target(&mut self) {
        self.target.parameters_mut().copy_from_slice(self.online.parameters());
    }
}

fn check_len(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Len { what, expected, found }) }
}

/// The largest value, compared and selected; a NaN, once met, is kept.
fn largest(values: &[f32]) -> f32 {
    let mut best = values[0];
    for &value in &values[1..] {
        if value > best || value.is_nan() {
            best = value;
        }
    }
    best
}
