//! Several environments for Python, as Gymnasium's `SyncVectorEnv`.

use numpy::{Element, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torchforge_env::{
    ActionSpace, AnyEnvironment, AutoresetMode, ContinuousEnvironment, DiscreteEnvironment, Environment,
    Error, StepBatch, VectorEnv,
};

use crate::arguments::{seeds, shown, whole, words};
use crate::arrays::{
    as_bytes, cast, check_apart, check_numbers, check_shape, flags, index, input, several, values, write,
};
use crate::environment::{error, limit, named};
use crate::memory::{fresh, place};
use crate::{DETACH_VALUES, worked};

type Observations<'py> = Bound<'py, PyArray2<f32>>;
type Flags<'py> = Bound<'py, PyArray1<bool>>;
type StepTuple<'py> =
    (Observations<'py>, Bound<'py, PyArray1<f64>>, Flags<'py>, Flags<'py>, Bound<'py, PyDict>);
type Filled<'py, T> = Bound<'py, PyArrayDyn<T>>;
/// The four arrays that a rollout is written into: observations, rewards, terminations and truncations.
type OutTuple<'py> = (Filled<'py, f32>, Filled<'py, f64>, Filled<'py, bool>, Filled<'py, bool>);
/// These, what is seen after the rollout, and which episodes ended with which observations.
type RolloutTuple<'py> = (OutTuple<'py>, Observations<'py>, Bound<'py, PyArray2<i64>>, Observations<'py>);

/// Environments, at most: a slip of the keyboard must not fill the memory.
const MOST_ENVIRONMENTS: usize = 1 << 20;
/// Values of a rollout's observations, at most: more than a terabyte.
const MOST_VALUES: usize = 1 << 38;

enum Kind {
    Discrete(VectorEnv<DiscreteEnvironment>),
    Continuous(VectorEnv<ContinuousEnvironment>),
}

/// Environments of one kind that take their steps together, as Gymnasium's `SyncVectorEnv`; made by `make_vec`.
#[pyclass(module = "torchforge")]
pub struct VectorEnvironment {
    kind: Kind,
    mode: AutoresetMode,
    /// What is seen now, of which a reset of some environments writes some rows.
    observations: Vec<f32>,
    final_observations: Vec<f32>,
    /// Which environments were ever reset.
    begun: Vec<bool>,
    n: usize,
    len: usize,
}

/// `num_envs` environments of one name, at most 1,048,576. The modes are the values of Gymnasium's `AutoresetMode`.
///
/// Raises:
///     TypeError, ValueError: as of `make`; or there is no such mode, or no such number of environments.
#[pyfunction]
#[pyo3(
    signature = (id, num_envs, autoreset_mode=None, *, max_episode_steps=None),
    text_signature = "(id, num_envs, autoreset_mode='NextStep', *, max_episode_steps=None)"
)]
pub fn make_vec(
    id: &Bound<'_, PyAny>,
    num_envs: &Bound<'_, PyAny>,
    autoreset_mode: Option<&Bound<'_, PyAny>>,
    max_episode_steps: Option<&Bound<'_, PyAny>>,
) -> PyResult<VectorEnvironment> {
    let n = whole("num_envs", num_envs, 1..=MOST_ENVIRONMENTS)?;
    let id = words("id", id)?;
    let mode = autoreset_mode.map_or(Ok("NextStep".into()), |mode| words("autoreset_mode", mode))?;
    let mode = match &*mode {
        "NextStep" => AutoresetMode::NextStep,
        "SameStep" => AutoresetMode::SameStep,
        "Disabled" => AutoresetMode::Disabled,
        other => {
            return Err(PyValueError::new_err(format!(
                "autoreset_mode is {other:?} and must be NextStep, SameStep or Disabled"
            )));
        }
    };
    let (mut discrete, mut continuous) = (Vec::new(), Vec::new());
    for _ in 0..n {
        match named(&id, limit(max_episode_steps)?)? {
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
        mode,
        observations: vec![0.0; n * len],
        final_observations: vec![0.0; n * len],
        begun: vec![false; n],
        n,
        len,
    })
}

#[pymethods]
impl VectorEnvironment {
    /// Begin an episode everywhere, or where `reset_mask`, (n,), is true.
    ///
    /// Environment i gets the seed `seed + i`, or `seed[i]`. Returns all observations, (n, values), and an empty
    /// dictionary.
    ///
    /// Raises:
    ///     RuntimeError: the first reset of an environment came without a seed.
    ///     TypeError, ValueError: a seed is not a whole number from 0 to 2**64 - 1, there is not one for each
    ///         environment, or `reset_mask` has another type, layout or shape.
    #[pyo3(signature = (*, seed=None, reset_mask=None))]
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        seed: Option<&Bound<'py, PyAny>>,
        reset_mask: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Observations<'py>, Bound<'py, PyDict>)> {
        let seeds = seeds(seed, self.n)?;
        let mask = reset_mask.map(|mask| flags("reset_mask", mask, self.n)).transpose()?;
        let reset = |i: usize| mask.as_ref().is_none_or(|mask| mask[i]);
        if (0..self.n).any(|i| reset(i) && seeds[i].is_none() && !self.begun[i]) {
            return Err(error(Error::Unseeded));
        }
        match &mut self.kind {
            Kind::Discrete(environments) => {
                environments.reset_each(&seeds, mask.as_deref(), &mut self.observations)
            }
            Kind::Continuous(environments) => {
                environments.reset_each(&seeds, mask.as_deref(), &mut self.observations)
            }
        }
        .map_err(error)?;
        for i in (0..self.n).filter(|&i| reset(i)) {
            self.begun[i] = true;
        }
        Ok((matrix(py, &self.observations, self.n, self.len)?, PyDict::new(py)))
    }

    /// What is seen now, (n, values).
    #[getter]
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Observations<'py>> {
        matrix(py, &self.observations, self.n, self.len)
    }

    /// Take discrete actions, (n,) of int64, or continuous ones, (n, dimensions) of float32.
    ///
    /// Returns observations, (n, values), rewards, terminations and truncations, (n,) each, and a dictionary. In
    /// the mode SameStep, where episodes ended, it has `final_obs`, (n, values), whose rows `_final_obs`, (n,), are
    /// true hold last observations; the other rows mean nothing.
    ///
    /// Raises:
    ///     RuntimeError: no episode is under way; in the mode Disabled also where one ended and was not begun anew.
    ///     ValueError: there is no such action, or they have another type, layout or shape, or hold NaN; none are
    ///         converted. Then no environment took a step.
    fn step<'py>(&mut self, py: Python<'py>, actions: &Bound<'py, PyAny>) -> PyResult<StepTuple<'py>> {
        let (mut rewards, mut terminated, mut truncated) =
            (vec![0.0; self.n], vec![false; self.n], vec![false; self.n]);
        let actions = self.actions(actions, None)?;
        let mut batch = StepBatch {
            observations: &mut self.observations,
            rewards: &mut rewards,
            terminated: &mut terminated,
            truncated: &mut truncated,
            final_observations: &mut self.final_observations,
        };
        let (kind, is_long) = (&mut self.kind, self.n * self.len >= DETACH_VALUES);
        worked(py, is_long, || match (kind, &actions) {
            (Kind::Discrete(environments), Actions::Discrete(actions)) => {
                environments.step(actions, &mut batch)
            }
            (Kind::Continuous(environments), Actions::Continuous(actions)) => {
                environments.step(actions, &mut batch)
            }
            _ => unreachable!("actions are read as their environments take them"),
        })
        .map_err(error)?;
        let info = PyDict::new(py);
        if self.mode == AutoresetMode::SameStep {
            let ended: Vec<bool> = terminated.iter().zip(&truncated).map(|(a, b)| a | b).collect();
            if ended.contains(&true) {
                info.set_item("final_obs", matrix(py, &self.final_observations, self.n, self.len)?)?;
                info.set_item("_final_obs", PyArray1::from_vec(py, ended))?;
            }
        }
        Ok((
            matrix(py, &self.observations, self.n, self.len)?,
            PyArray1::from_vec(py, rewards),
            PyArray1::from_vec(py, terminated),
            PyArray1::from_vec(py, truncated),
            info,
        ))
    }

    /// The number of steps, where nothing but actions could refuse to collect so many into `out`. Takes no step.
    ///
    /// Raises:
    ///     RuntimeError, TypeError, ValueError: as of `collect`.
    #[pyo3(signature = (n_steps, *, out=None))]
    fn check_collect(&self, n_steps: &Bound<'_, PyAny>, out: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        self.check_collecting()?;
        self.check_begun()?;
        let steps = whole("n_steps", n_steps, 0..=MOST_VALUES / (self.n * self.len))?;
        if let Some(out) = out {
            let (observations, rewards, terminations, truncations) = given(out)?;
            let per_step = [steps, self.n];
            // All are held together, so that none is another.
            let _observations = write("out[0]", &observations, &[steps, self.n, self.len])?;
            let _rewards = write("out[1]", &rewards, &per_step)?;
            let _terminations = write("out[2]", &terminations, &per_step)?;
            let _truncations = write("out[3]", &truncations, &per_step)?;
        }
        Ok(steps)
    }

    /// Take many steps in one call, with actions of shape (steps, n) or (steps, n, dimensions).
    ///
    /// Returns four arrays: what was seen before each step, (steps, n, values), rewards, terminations and truncations,
    /// (steps, n) each, written into `out` if it is given. Then what is seen after the last step, (n, values); step
    /// and environment of each end of an episode, (ends, 2); the last observations of these episodes, (ends, values).
    ///
    /// The interpreter lock is released meanwhile: no other thread may touch `out`.
    ///
    /// Raises:
    ///     RuntimeError: no episode is under way, or the mode is Disabled.
    ///     TypeError, ValueError: as of a step; or an array of `out` has another type, layout or shape, or shares memory
    ///         with another.
    ///     MemoryError: there is no memory for so many steps.
    #[pyo3(signature = (actions, *, out=None))]
    fn collect<'py>(
        &mut self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<RolloutTuple<'py>> {
        self.check_collecting()?;
        let shape = actions.getattr("shape").and_then(|shape| shape.extract::<Vec<usize>>());
        let steps = shape.ok().and_then(|shape| shape.first().copied()).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "actions is {} and must be a NumPy array of the shape (steps, n) or (steps, n, dimensions)",
                shown(actions)
            ))
        })?;
        let actions = self.actions(actions, Some(steps))?;
        let (n, len) = (self.n, self.len);
        let (seen, per_step) = ([steps, n, len], [steps, n]);
        if steps.saturating_mul(n * len) > MOST_VALUES {
            return Err(PyValueError::new_err(format!(
                "actions has {steps} steps, for which no memory is large enough"
            )));
        }
        let (observations, rewards, terminations, truncations) = match out {
            Some(out) => given(out)?,
            None => (fresh(py, &seen)?, fresh(py, &per_step)?, fresh(py, &per_step)?, fresh(py, &per_step)?),
        };
        let (mut ended, mut last) = (Vec::new(), Vec::new());
        {
            let mut observations = write("out[0]", &observations, &seen)?;
            let mut rewards = write("out[1]", &rewards, &per_step)?;
            let (terminations, truncations) = (as_bytes(&terminations)?, as_bytes(&truncations)?);
            let mut terminations = write("out[2]", &terminations, &per_step)?;
            let mut truncations = write("out[3]", &truncations, &per_step)?;
            let rollout = Rollout {
                observations: observations.as_slice_mut()?,
                rewards: rewards.as_slice_mut()?,
                terminations: terminations.as_slice_mut()?,
                truncations: truncations.as_slice_mut()?,
                ended: &mut ended,
                last: &mut last,
            };
            // The actions are a copy, and `out` is for nobody else to touch until this returns.
            py.detach(|| match (&mut self.kind, &actions) {
                (Kind::Discrete(environments), Actions::Discrete(actions)) => rollout.collect(
                    environments,
                    actions,
                    &mut self.observations,
                    &mut self.final_observations,
                ),
                (Kind::Continuous(environments), Actions::Continuous(actions)) => rollout.collect(
                    environments,
                    actions,
                    &mut self.observations,
                    &mut self.final_observations,
                ),
                _ => unreachable!("actions are read as their environments take them"),
            })
            .map_err(error)?;
        }
        let episodes = ended.len() / 2;
        let now = matrix(py, &self.observations, n, len)?;
        let (ended, last) = (matrix(py, &ended, episodes, 2)?, matrix(py, &last, last.len() / len, len)?);
        Ok(((observations, rewards, terminations, truncations), now, ended, last))
    }
}

/// What environments take: a copy, so that nobody changes it meanwhile.
enum Actions {
    Discrete(Vec<u32>),
    Continuous(Vec<f32>),
}

impl VectorEnvironment {
    fn check_collecting(&self) -> PyResult<()> {
        if self.mode == AutoresetMode::Disabled {
            return Err(PyRuntimeError::new_err(
                "no episode begins by itself in the autoreset mode Disabled; collect with NextStep or SameStep",
            ));
        }
        Ok(())
    }

    fn check_begun(&self) -> PyResult<()> {
        match self.begun.iter().position(|&begun| !begun) {
            Some(i) => Err(PyRuntimeError::new_err(format!(
                "no episode is under way in environment {i}: call reset before step"
            ))),
            None => Ok(()),
        }
    }

    /// Actions of one step, or of several steps: each is one that these environments have.
    fn actions(&self, given: &Bound<'_, PyAny>, steps: Option<usize>) -> PyResult<Actions> {
        self.check_begun()?;
        let shape =
            |width: Option<usize>| -> Vec<usize> { steps.into_iter().chain([self.n]).chain(width).collect() };
        match &self.kind {
            Kind::Discrete(environments) => {
                let shape = shape(None);
                let given = values::<i64>("actions", given, &shape)?;
                let count = environments.action_space().count;
                let each = |(place, &action): (usize, &i64)| {
                    u32::try_from(action).ok().filter(|&action| action < count).ok_or_else(|| {
                        let place = index(place, &shape);
                        PyValueError::new_err(format!(
                            "actions{place} is {action} and must be a whole number from 0 to {}",
                            count - 1
                        ))
                    })
                };
                given.iter().enumerate().map(each).collect::<PyResult<_>>().map(Actions::Discrete)
            }
            Kind::Continuous(environments) => {
                let given = input::<f32>("actions", given)?;
                check_shape("actions", &given, &shape(Some(environments.action_space().width())))?;
                let actions = given.to_vec()?;
                // Infinity is beyond the bounds, where it is clipped.
                check_numbers("actions", &actions, given.shape())?;
                Ok(Actions::Continuous(actions))
            }
        }
    }
}

/// The four arrays that a rollout is written into.
fn given<'py>(out: &Bound<'py, PyAny>) -> PyResult<OutTuple<'py>> {
    let [observations, rewards, terminations, truncations] = several("out", out)?;
    let (observations, rewards) = (cast("out[0]", &observations)?, cast("out[1]", &rewards)?);
    let (terminations, truncations) = (cast("out[2]", &terminations)?, cast("out[3]", &truncations)?);
    check_apart("out", &[place(&observations), place(&rewards), place(&terminations), place(&truncations)])?;
    Ok((observations, rewards, terminations, truncations))
}

/// The caller's memory for many steps, (steps, n), and the episodes that ended: step and environment of each.
struct Rollout<'a> {
    observations: &'a mut [f32],
    rewards: &'a mut [f64],
    terminations: &'a mut [u8],
    truncations: &'a mut [u8],
    ended: &'a mut Vec<i64>,
    last: &'a mut Vec<f32>,
}

impl Rollout<'_> {
    /// Begins at what is seen now, which is afterwards what is seen after the last step.
    fn collect<E: Environment>(
        self,
        environments: &mut VectorEnv<E>,
        actions: &[<E::ActionSpace as ActionSpace>::Value],
        now: &mut [f32],
        final_observations: &mut [f32],
    ) -> Result<(), Error> {
        let (n, len) = (environments.len(), environments.observation_len());
        let width = environments.action_space().width();
        let same_step = environments.mode() == AutoresetMode::SameStep;
        let (mut terminated, mut truncated) = (vec![false; n], vec![false; n]);
        for (step, actions) in actions.chunks_exact(n * width).enumerate() {
            let rows = step * n..(step + 1) * n;
            self.observations[rows.start * len..rows.end * len].copy_from_slice(now);
            environments.step(
                actions,
                &mut StepBatch {
                    observations: now,
                    rewards: &mut self.rewards[rows.clone()],
                    terminated: &mut terminated,
                    truncated: &mut truncated,
                    final_observations,
                },
            )?;
            let flags = self.terminations[rows.clone()].iter_mut().zip(&mut self.truncations[rows]);
            for ((terminated, truncated), (a, b)) in flags.zip(terminated.iter().zip(&truncated)) {
                (*terminated, *truncated) = (u8::from(*a), u8::from(*b));
            }
            for i in (0..n).filter(|&i| terminated[i] || truncated[i]) {
                self.ended.extend([step as i64, i as i64]);
                let from = if same_step { &*final_observations } else { &*now };
                self.last.extend_from_slice(&from[i * len..(i + 1) * len]);
            }
        }
        Ok(())
    }
}

/// A copy of (rows, values) for Python.
fn matrix<'py, T: Element>(
    py: Python<'py>,
    values: &[T],
    rows: usize,
    len: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    PyArray1::from_slice(py, values).reshape([rows, len])
}
