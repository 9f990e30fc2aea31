//! How networks act in environments with actions of a kind.

use torchforge_env::{ActionSpace, Continuous, Discrete, Pcg64};
use torchforge_nn::{CategoricalPolicy, Error, NormalPolicy, PpoUpdate, fill_standard_normal};

use crate::TrainingError;

/// The caller's memory for what a policy draws after several observations, of each as many rows.
#[derive(Debug)]
pub struct Drawn<'a, V> {
    /// (rows, values of an action).
    pub actions: &'a mut [V],
    /// Logarithms of their probabilities, or densities; (rows).
    pub log_probabilities: &'a mut [f32],
}

/// Networks that act in environments whose actions are of `A`. Each [`CategoricalPolicy`] does so where they are
/// [`Discrete`], and each [`NormalPolicy`] where they are [`Continuous`].
pub trait PpoActor<A: ActionSpace>: PpoUpdate<Value = A::Value> {
    /// Whether the networks' outputs are those that such actions need.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Outputs`] where they are not.
    fn check_outputs(&self, actions: &A) -> Result<(), TrainingError>;

    /// Draws an action after each observation, (rows, observation length).
    ///
    /// # Errors
    ///
    /// What the networks refuse.
    fn act(
        &mut self,
        observations: &[f32],
        random: &mut Pcg64,
        drawn: Drawn<'_, A::Value>,
    ) -> Result<(), Error>;

    /// Brings drawn actions within the bounds of those that an environment takes.
    fn clip(actions: &A, drawn: &mut [A::Value]);
}

impl<P: CategoricalPolicy> PpoActor<Discrete> for P {
    fn check_outputs(&self, actions: &Discrete) -> Result<(), TrainingError> {
        same_outputs(self.action_count(), actions.count as usize)
    }

    fn act(&mut self, observations: &[f32], random: &mut Pcg64, drawn: Drawn<'_, u32>) -> Result<(), Error> {
        let found = self.evaluate(observations)?;
        let count = found.probabilities.len() / drawn.actions.len();
        let rows = found.probabilities.chunks_exact(count).zip(found.log_probabilities.chunks_exact(count));
        let places = drawn.actions.iter_mut().zip(drawn.log_probabilities);
        for ((action, logarithm), (probabilities, logarithms)) in places.zip(rows) {
            *action = sample_categorical(random.unit(), probabilities);
            *logarithm = logarithms[*action as usize];
        }
        Ok(())
    }

    fn clip(_: &Discrete, _: &mut [u32]) {}
}

impl<P: NormalPolicy> PpoActor<Continuous> for P {
    fn check_outputs(&self, actions: &Continuous) -> Result<(), TrainingError> {
        same_outputs(self.action_len(), actions.width())
    }

    fn act(&mut self, observations: &[f32], random: &mut Pcg64, drawn: Drawn<'_, f32>) -> Result<(), Error> {
        fill_standard_normal(random, drawn.actions);
        NormalPolicy::act(self, observations, drawn.actions, drawn.log_probabilities)
    }

    fn clip(actions: &Continuous, drawn: &mut [f32]) {
        for action in drawn.chunks_exact_mut(actions.width()) {
            for (value, (&low, &high)) in action.iter_mut().zip(actions.low.iter().zip(&actions.high)) {
                // By comparison: `clamp` would panic where an environment's bounds are no interval.
                *value = if *value < low {
                    low
                } else if *value > high {
                    high
                } else {
                    *value
                };
            }
        }
    }
}

fn same_outputs(outputs: usize, actions: usize) -> Result<(), TrainingError> {
    if outputs == actions { Ok(()) } else { Err(TrainingError::Outputs { outputs, actions }) }
}

/// The action at which the probabilities, added up, pass a uniform number.
pub(crate) fn sample_categorical(uniform: f64, probabilities: &[f32]) -> u32 {
    let mut sum = 0.0;
    for (action, &probability) in probabilities.iter().enumerate() {
        sum += f64::from(probability);
        if uniform < sum {
            return action as u32;
        }
    }
    // Rounding may leave the sum just below one.
    probabilities.len() as u32 - 1
}
