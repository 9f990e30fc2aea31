//! One environment for Python, as Gymnasium's `Env`.

use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torchforge_env::{ActionSpace as _, AnyEnvironment, Environment as _, Error, ids};

use crate::arrays::{check_shape, read};

/// Observation, reward, terminated, truncated, and what Gymnasium calls info.
type StepTuple<'py> = (Bound<'py, PyArray1<f32>>, f64, bool, bool, Bound<'py, PyDict>);

/// One environment with Gymnasium's reset and step.
#[pyclass(module = "torchforge")]
pub struct Environment {
    inner: AnyEnvironment,
    /// Where the environment writes; Python gets copies.
    observation: Vec<f32>,
}

/// The environment that Gymnasium registers as id.
#[pyfunction]
pub fn make(id: &str) -> PyResult<Environment> {
    let inner = named(id)?;
    let len = match &inner {
        AnyEnvironment::Discrete(environment) => environment.observation_len(),
        AnyEnvironment::Continuous(environment) => environment.observation_len(),
    };
    Ok(Environment { inner, observation: vec![0.0; len] })
}

#[pymethods]
impl Environment {
    /// Begins an episode; returns its first observation and an empty dictionary.
    #[pyo3(signature = (*, seed=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seed: Option<u64>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, Bound<'py, PyDict>)> {
        match &mut self.inner {
            AnyEnvironment::Discrete(environment) => environment.reset(seed, &mut self.observation),
            AnyEnvironment::Continuous(environment) => environment.reset(seed, &mut self.observation),
        }
        .map_err(error)?;
        Ok((PyArray1::from_slice(py, &self.observation), PyDict::new(py)))
    }

    /// Takes an action; returns observation, reward, terminated, truncated and an empty dictionary.
    fn step<'py>(&mut self, py: Python<'py>, action: &Bound<'py, PyAny>) -> PyResult<StepTuple<'py>> {
        let step = match &mut self.inner {
            AnyEnvironment::Discrete(environment) => {
                let action = action.extract().map_err(|error: PyErr| {
                    let n = environment.action_space().count;
                    PyValueError::new_err(format!(
                        "action is no whole number that can be taken ({error}); give one from 0 to {}",
                        n - 1
                    ))
                })?;
                environment.step(&discrete(action), &mut self.observation)
            }
            AnyEnvironment::Continuous(environment) => {
                let given = read("action", action)?;
                check_shape("action", &given, &[environment.action_space().width()])?;
                environment.step(given.as_slice()?, &mut self.observation)
            }
        }
        .map_err(error)?;
        let observation = PyArray1::from_slice(py, &self.observation);
        Ok((observation, step.reward, step.terminated, step.truncated, PyDict::new(py)))
    }
}

/// The environment of that name, or an error that lists the names.
pub(crate) fn named(id: &str) -> PyResult<AnyEnvironment> {
    torchforge_env::make(id).ok_or_else(|| {
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

/// What no `u32` can be is no action: made one that every environment refuses.
pub(crate) fn discrete(action: i64) -> u32 {
    u32::try_from(action).unwrap_or(u32::MAX)
}
