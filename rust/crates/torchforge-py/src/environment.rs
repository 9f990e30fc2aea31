//! One environment for Python, as Gymnasium's `Env`.

use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torchforge_env::{ActionSpace as _, AnyEnvironment, Environment as _, Error, ids};

use crate::arguments::{shown, whole, words};
use crate::arrays::{check_numbers, values};

/// Observation, reward, terminated, truncated, and what Gymnasium calls info.
type StepTuple<'py> = (Bound<'py, PyArray1<f32>>, f64, bool, bool, Bound<'py, PyDict>);

/// One environment with the episodes of Gymnasium's, to the bit; made by `make`.
#[pyclass(module = "torchforge")]
pub struct Environment {
    inner: AnyEnvironment,
    /// Where the environment writes; Python gets copies.
    observation: Vec<f32>,
}

/// The environment that Gymnasium registers as `id`.
///
/// `max_episode_steps` is the limit of an episode's steps: Gymnasium's by default, and none with -1.
///
/// Raises:
///     TypeError, ValueError: there is no such environment here, and the message lists the names; or no such limit.
#[pyfunction]
#[pyo3(signature = (id, *, max_episode_steps=None))]
pub fn make(id: &Bound<'_, PyAny>, max_episode_steps: Option<&Bound<'_, PyAny>>) -> PyResult<Environment> {
    let inner = named(&words("id", id)?, limit(max_episode_steps)?)?;
    let len = match &inner {
        AnyEnvironment::Discrete(environment) => environment.observation_len(),
        AnyEnvironment::Continuous(environment) => environment.observation_len(),
    };
    Ok(Environment { inner, observation: vec![0.0; len] })
}

#[pymethods]
impl Environment {
    /// Begin an episode; returns its first observation, (values,), and an empty dictionary.
    ///
    /// A seed below 2**64 starts the environment's generator anew; without one it goes on where it is.
    ///
    /// Raises:
    ///     RuntimeError: the first reset came without a seed.
    ///     TypeError, ValueError: `seed` is not a whole number from 0 to 2**64 - 1.
    #[pyo3(signature = (*, seed=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seed: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Bound<'py, PyDict>)> {
        let seed = seed.map(|seed| whole("seed", seed, 0..=u64::MAX)).transpose()?;
        match &mut self.inner {
            AnyEnvironment::Discrete(environment) => environment.reset(seed, &mut self.observation),
            AnyEnvironment::Continuous(environment) => environment.reset(seed, &mut self.observation),
        }
        .map_err(error)?;
        Ok((PyArray1::from_slice(py, &self.observation), PyDict::new(py)))
    }

    /// Take a discrete action, or a continuous one of shape (dimensions,).
    ///
    /// Returns the observation, the reward, whether the task ended, whether the episode was cut off, and an empty
    /// dictionary.
    ///
    /// Raises:
    ///     RuntimeError: no episode is under way.
    ///     TypeError, ValueError: there is no such action, or it has another type, layout or shape, or holds NaN.
    fn step<'py>(&mut self, py: Python<'py>, action: &Bound<'py, PyAny>) -> PyResult<StepTuple<'py>> {
        let step = match &mut self.inner {
            AnyEnvironment::Discrete(environment) => {
                let last = environment.action_space().count - 1;
                environment.step(&whole("action", action, 0..=last)?, &mut self.observation)
            }
            AnyEnvironment::Continuous(environment) => {
                let shape = [environment.action_space().width()];
                let given = values("action", action, &shape)?;
                check_numbers("action", &given, &shape)?;
                environment.step(&given, &mut self.observation)
            }
        }
        .map_err(error)?;
        let observation = PyArray1::from_slice(py, &self.observation);
        Ok((observation, step.reward, step.terminated, step.truncated, PyDict::new(py)))
    }

    /// The whole state as words below 2**64: all that decides, besides the actions, what follows.
    fn snapshot(&self) -> Vec<u64> {
        match &self.inner {
            AnyEnvironment::Discrete(environment) => environment.snapshot(),
            AnyEnvironment::Continuous(environment) => environment.snapshot(),
        }
        .expect("every environment that has a name takes down its state")
    }

    /// Take up the state that `snapshot` took down of an environment made with the same arguments.
    ///
    /// Raises:
    ///     ValueError: no such environment can be in this state. Then it is as it was.
    fn restore(&mut self, snapshot: &Bound<'_, PyAny>) -> PyResult<()> {
        let words: Vec<u64> = snapshot.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "snapshot is {} and must be a list that snapshot gave",
                shown(snapshot)
            ))
        })?;
        match &mut self.inner {
            AnyEnvironment::Discrete(environment) => environment.restore(&words),
            AnyEnvironment::Continuous(environment) => environment.restore(&words),
        }
        .map_err(|reason| PyValueError::new_err(format!("snapshot is {}: {reason}", shown(snapshot))))
    }
}

/// How long episodes may be.
pub(crate) enum Limit {
    /// As long as Gymnasium's.
    Registered,
    /// So many steps.
    Steps(u32),
    /// As long as the task itself allows.
    None,
}

/// Gymnasium's argument: -1 lifts the limit.
pub(crate) fn limit(max_episode_steps: Option<&Bound<'_, PyAny>>) -> PyResult<Limit> {
    let Some(given) = max_episode_steps else { return Ok(Limit::Registered) };
    match whole("max_episode_steps", given, -1..=i64::from(u32::MAX))? {
        -1 => Ok(Limit::None),
        0 => Err(PyValueError::new_err("max_episode_steps is 0 and must be at least 1, or -1 for no limit")),
        steps => Ok(Limit::Steps(steps as u32)),
    }
}

/// The environment of that name, or an error that lists the names.
pub(crate) fn named(id: &str, limit: Limit) -> PyResult<AnyEnvironment> {
    let made = match limit {
        Limit::Registered => torchforge_env::make(id),
        Limit::Steps(steps) => torchforge_env::make_with_limit(id, Some(steps)),
        Limit::None => torchforge_env::make_with_limit(id, None),
    };
    made.ok_or_else(|| {
        let known: Vec<_> = ids().collect();
        PyValueError::new_err(format!("there is no environment {id:?}; use one of {}", known.join(", ")))
    })
}

/// What an environment refuses: a state of affairs, or a value.
pub(crate) fn error(error: Error) -> PyErr {
    match error {
        Error::Unseeded | Error::NoEpisode | Error::Ended { .. } => {
            PyRuntimeError::new_err(error.to_string())
        }
        _ => PyValueError::new_err(error.to_string()),
    }
}
