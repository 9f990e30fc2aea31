//! What a ring is given: one transition, or several of them.

use numpy::{Element, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use torchforge_data::{Error, Transition};

use super::observations::Observation;
use super::{Widths, refused};
use crate::arguments::{flag, single};
use crate::arrays::{Values, cast, check_numbers, check_shape, flags, held, index, lent, read, values};
use crate::worked;

/// The arguments of `push`.
pub(super) struct Pushed<'py, O: Observation> {
    observation: Values<'py, O>,
    next_observation: Values<'py, O>,
    action: Values<'py, f32>,
    reward: f32,
    terminated: bool,
    truncated: bool,
}

impl<'py, O: Observation> Pushed<'py, O> {
    /// In the order of `push`. Observations are not searched for NaN: for an image that takes a third of the copying.
    pub(super) fn new(given: [&Bound<'py, PyAny>; 6], widths: Widths) -> PyResult<Self> {
        let [observation, next_observation, action, reward, terminated, truncated] = given;
        // Code of tensors and numbers runs before the first observation is looked at.
        let observation = lent("observation", observation)?;
        let next_observation = lent("next_observation", next_observation)?;
        let action = action_values(action, widths.action)?;
        let reward = single("reward", reward)?;
        let (terminated, truncated) = (flag("terminated", terminated)?, flag("truncated", truncated)?);
        let observation = vector("observation", &observation, widths.observation)?;
        let next_observation = vector("next_observation", &next_observation, widths.observation)?;
        Ok(Self { observation, next_observation, action, reward, terminated, truncated })
    }

    pub(super) fn transition(&self) -> Transition<'_, f32, O> {
        Transition {
            observation: &self.observation,
            next_observation: &self.next_observation,
            action: &self.action,
            reward: self.reward,
            terminated: self.terminated,
            truncated: self.truncated,
        }
    }
}

/// The arguments of `extend`.
pub(super) struct Several<'py, O: Observation> {
    observations: PyReadonlyArrayDyn<'py, O>,
    next_observations: PyReadonlyArrayDyn<'py, O>,
    actions: PyReadonlyArrayDyn<'py, f32>,
    rewards: PyReadonlyArrayDyn<'py, f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    widths: Widths,
}

impl<'py, O: Observation> Several<'py, O> {
    /// In the order of `extend`. There are as many of each as there are rewards.
    pub(super) fn new(given: [&Bound<'py, PyAny>; 6], widths: Widths) -> PyResult<Self> {
        let [observations, next_observations, actions, rewards, terminated, truncated] = given;
        let rewards: PyReadonlyArrayDyn<'py, f32> = read("rewards", rewards)?;
        let count = rewards.len();
        check_shape("rewards", &rewards, &[count])?;
        if let Some(place) = rewards.as_slice()?.iter().position(|reward| !reward.is_finite()) {
            return Err(PyValueError::new_err(format!(
                "rewards{} is {} and must be a finite number",
                index(place, &[count]),
                rewards.as_slice()?[place]
            )));
        }
        let actions = matrix("actions", actions, [count, widths.action])?;
        check_numbers("actions", actions.as_slice()?, &[count, widths.action])?;
        Ok(Self {
            observations: matrix("observations", observations, [count, widths.observation])?,
            next_observations: matrix("next_observations", next_observations, [count, widths.observation])?,
            actions,
            rewards,
            terminated: flags("terminated", terminated, count)?,
            truncated: flags("truncated", truncated, count)?,
            widths,
        })
    }

    /// Hands each to `push`. Other Python threads run meanwhile where there are many.
    pub(super) fn push(
        &self,
        py: Python<'_>,
        mut push: impl FnMut(Transition<'_, f32, O>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let (observations, next_observations) =
            (self.observations.as_slice()?, self.next_observations.as_slice()?);
        let (actions, rewards) = (self.actions.as_slice()?, self.rewards.as_slice()?);
        let (terminated, truncated) = (&self.terminated, &self.truncated);
        let Widths { observation, action, .. } = self.widths;
        worked(py, self.widths.are_many(rewards.len()), || {
            (0..rewards.len()).try_for_each(|row| {
                push(Transition {
                    observation: &observations[row * observation..][..observation],
                    next_observation: &next_observations[row * observation..][..observation],
                    action: &actions[row * action..][..action],
                    reward: rewards[row],
                    terminated: terminated[row],
                    truncated: truncated[row],
                })
            })
        })
        .map_err(refused)
    }
}

/// An array as so many values, which the ring copies before any Python code runs.
fn vector<'py, T: Element>(name: &str, value: &Bound<'py, PyAny>, len: usize) -> PyResult<Values<'py, T>> {
    let array = cast(name, value)?;
    check_shape(name, &array, &[len])?;
    held(name, &array)
}

/// An argument as rows of values.
fn matrix<'py, T: Element>(
    name: &str,
    value: &Bound<'py, PyAny>,
    shape: [usize; 2],
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    let array = read(name, value)?;
    check_shape(name, &array, &shape)?;
    Ok(array)
}

/// An action: an array, or a number where it has one value.
fn action_values<'py>(value: &Bound<'py, PyAny>, width: usize) -> PyResult<Values<'py, f32>> {
    if width == 1 && !value.is_instance_of::<PyArrayDyn<f32>>() && value.extract::<f64>().is_ok() {
        return Ok(Values::One([single("action", value)?]));
    }
    let action = values("action", value, &[width])?;
    check_numbers("action", &action, &[width])?;
    Ok(action)
}
