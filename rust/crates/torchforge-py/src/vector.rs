//! Several environments for Python, as Gymnasium's `SyncVectorEnv`.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torchforge_env::{
    ActionSpace, AnyEnvironment, AutoresetMode, ContinuousEnvironment, DiscreteEnvironment, Environment,
    Error, StepBatch, VectorEnv,
};

use crate::arrays::{cast, check_shape, read};
use crate::environment::{discrete, error, named};

type Observations<'py> = Bound<'py, PyArray2<f32>>;
type Flags<'py> = Bound<'py, PyArray1<bool>>;
type StepTuple<'py> =
    (Observations<'py>, Bound<'py, PyArray1<f64>>, Flags<'py>, Flags<'py>, Bound<'py, PyDict>);

enum Kind {
    Discrete(VectorEnv<DiscreteEnvironment>),
    Continuous(VectorEnv<ContinuousEnvironment>),
}

/// Environments of one kind that take their steps together, with Gymnasium's reset and step.
#[pyclass(module = "torchforge")]
pub struct VectorEnvironment {
    kind: Kind,
    same_step: bool,
    /// What is seen now, of which a reset of some environments writes some rows.
    observations: Vec<f32>,
    final_observations: Vec<f32>,
    actions: Vec<u32>,
    n: usize,
}

/// num_envs environments of the name that Gymnasium registers; autoreset_mode is NextStep, SameStep or Disabled.
#[pyfunction]
#[pyo3(signature = (id, num_envs, autoreset_mode="NextStep"))]
pub fn make_vec(id: &str, num_envs: usize, autoreset_mode: &str) -> PyResult<VectorEnvironment> {
    let mode = match autoreset_mode {
        "NextStep" => AutoresetMode::NextStep,
        "SameStep" => AutoresetMode::SameStep,
        "Disabled" => AutoresetMode::Disabled,
        other => {
            return Err(PyValueError::new_err(format!(
                "there is no autoreset mode {other:?}; use NextStep, SameStep or Disabled"
            )));
        }
    };
    let all: Vec<_> = (0..num_envs).map(|_| named(id)).collect::<PyResult<_>>()?;
    let (mut discrete, mut continuous) = (Vec::new(), Vec::new());
    for each in all {
        match each {
            AnyEnvironment::Discrete(environment) => discrete.push(environment),
            AnyEnvironment::Continuous(environment) => continuous.push(environment),
        }
    }
    let kind = if continuous.is_empty() {
        VectorEnv::new(discrete, mode).map(Kind::Discrete)
    } else {
        VectorEnv::new(continuous, mode).map(Kind::Continuous)
    }
    .map_err(error)?;
    let len = match &kind {
        Kind::Discrete(environments) => environments.observation_len(),
        Kind::Continuous(environments) => environments.observation_len(),
    };
    Ok(VectorEnvironment {
        kind,
        same_step: mode == AutoresetMode::SameStep,
        observations: vec![0.0; num_envs * len],
        final_observations: vec![0.0; num_envs * len],
        actions: vec![0; num_envs],
        n: num_envs,
    })
}

#[pymethods]
impl VectorEnvironment {
    /// Begins an episode everywhere, or where reset_mask is true; returns all observations and an empty dictionary.
    #[pyo3(signature = (*, seed=None, reset_mask=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seed: Option<u64>,
        reset_mask: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Observations<'py>, Bound<'py, PyDict>)> {
        let mask = reset_mask.map(|mask| flags("reset_mask", mask, self.n)).transpose()?;
        let mask = mask.as_deref();
        match &mut self.kind {
            Kind::Discrete(environments) => reset(environments, seed, mask, &mut self.observations),
            Kind::Continuous(environments) => reset(environments, seed, mask, &mut self.observations),
        }
        .map_err(error)?;
        Ok((matrix(py, &self.observations, self.n)?, PyDict::new(py)))
    }

    /// Takes a step everywhere; returns observations, rewards, terminations, truncations and a dictionary.
    fn step<'py>(&mut self, py: Python<'py>, actions: &Bound<'py, PyAny>) -> PyResult<StepTuple<'py>> {
        let (mut rewards, mut terminated, mut truncated) =
            (vec![0.0; self.n], vec![false; self.n], vec![false; self.n]);
        let mut batch = StepBatch {
            observations: &mut self.observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            final_observations: &mut self.final_observations,
        };
        match &mut self.kind {
            Kind::Discrete(environments) => {
                let given = read::<i64>("actions", actions)?;
                check_shape("actions", &given, &[self.n])?;
                let given = given.as_slice()?;
                self.actions.clear();
                self.actions.extend(given.iter().map(|&action| discrete(action)));
                environments.step(&self.actions, &mut batch)
            }
            Kind::Continuous(environments) => {
                let given = read("actions", actions)?;
                check_shape("actions", &given, &[self.n, environments.action_space().width()])?;
                environments.step(given.as_slice()?, &mut batch)
            }
        }
        .map_err(error)?;
        let info = PyDict::new(py);
        if self.same_step {
            let ended: Vec<bool> = terminated.iter().zip(&truncated).map(|(a, b)| a | b).collect();
            if ended.contains(&true) {
                info.set_item("final_obs", matrix(py, &self.final_observations, self.n)?)?;
                info.set_item("_final_obs", PyArray1::from_vec(py, ended))?;
            }
        }
        Ok((
            matrix(py, &self.observations, self.n)?,
            PyArray1::from_vec(py, rewards),
            PyArray1::from_vec(py, terminated),
            PyArray1::from_vec(py, truncated),
            info,
        ))
    }
}

fn reset<E: Environment>(
    environments: &mut VectorEnv<E>,
    seed: Option<u64>,
    mask: Option<&[bool]>,
    observations: &mut [f32],
) -> Result<(), Error> {
    match mask {
        Some(mask) => environments.reset_where(mask, seed, observations),
        None => environments.reset(seed, observations),
    }
}

/// A copy of `n` flags. To NumPy any byte but 0 is true, and one may come from a view; a `bool` is 0 or 1.
fn flags(name: &str, value: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<bool>> {
    cast::<bool>(name, value)?;
    let bytes = read::<u8>(name, &value.call_method1("view", ("uint8",))?)?;
    check_shape(name, &bytes, &[n])?;
    Ok(bytes.as_slice()?.iter().map(|&byte| byte != 0).collect())
}

/// A copy of (rows, values) for Python.
fn matrix<'py>(py: Python<'py>, values: &[f32], rows: usize) -> PyResult<Observations<'py>> {
    PyArray1::from_slice(py, values).reshape([rows, values.len() / rows])
}
