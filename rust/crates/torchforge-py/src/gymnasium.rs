//! The agents of `torchforge` in environments of Gymnasium itself.
//!
//! The crossing: a step is one call of the bound method with a tuple of arguments that was made beforehand, and
//! the observation is read where NumPy has it. Nothing is allocated on this side. (The limited API of Python 3.11
//! has no vectorcall; with a tuple at hand there is nothing left for it to save.)

use std::cell::RefCell;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use torchforge_bench::{Command, Failure, run_dqn_in};
use torchforge_env::{Discrete, Environment, Error, Step};

/// Trains DQN as `torchforge dqn` does, with the same lines on stdout, in the environment make(name).
///
/// words are the command's options; age is how many seconds ago the process began. Returns the exit code, after a
/// line on stderr if it is not 0. What the environment raises in its episodes is raised.
#[pyfunction]
pub fn dqn_in(make: &Bound<'_, PyAny>, words: Vec<String>, age: f64) -> PyResult<u8> {
    let now = Instant::now();
    let age =
        Duration::try_from_secs_f64(age).map_err(|error| PyValueError::new_err(format!("age: {error}")))?;
    let started = now.checked_sub(age).unwrap_or(now);
    let raised = RefCell::new(None);
    let done = Command::parse(std::iter::once("dqn".to_owned()).chain(words)).and_then(|command| {
        let Command::Dqn(arguments) = command else {
            return Err(Failure::Usage("give --case ID --parameters JSON; see `torchforge --help`".into()));
        };
        run_dqn_in(&arguments, started, |case, name| {
            Gymnasium::new(make, name, &raised).map_err(|error| {
                Failure::Usage(format!("the environment of case {:?} cannot be used: {error}", case.id))
            })
        })
    });
    match (raised.take(), done) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(0),
        (None, Err(failure)) => {
            eprintln!("torchforge: {failure}");
            Ok(failure.code())
        }
    }
}

/// A Gymnasium environment with a flat `f32` observation and discrete actions from 0.
struct Gymnasium<'a, 'py> {
    reset: Bound<'py, PyAny>,
    step: Bound<'py, PyAny>,
    /// The arguments of a step, one tuple for each action.
    actions: Vec<Bound<'py, PyTuple>>,
    space: Discrete,
    observation_len: usize,
    /// Where an exception waits for whoever started this.
    raised: &'a RefCell<Option<PyErr>>,
}

impl<'a, 'py> Gymnasium<'a, 'py> {
    fn new(make: &Bound<'py, PyAny>, name: &str, raised: &'a RefCell<Option<PyErr>>) -> PyResult<Self> {
        let py = make.py();
        let environment = make.call1((name,))?;
        let (space, shape) =
            (environment.getattr("action_space")?, environment.getattr("observation_space")?);
        let unfit = |_| {
            PyValueError::new_err(format!(
                "{name} has not discrete actions and an observation of one axis; use an environment that has"
            ))
        };
        let count: u32 = space.getattr("n").and_then(|n| n.extract()).map_err(unfit)?;
        let (observation_len,) = shape.getattr("shape").and_then(|shape| shape.extract()).map_err(unfit)?;
        let start: i64 = space.getattr("start")?.extract()?;
        Ok(Self {
            reset: environment.getattr("reset")?,
            step: environment.getattr("step")?,
            actions: (0..i64::from(count)).map(|k| PyTuple::new(py, [start + k])).collect::<PyResult<_>>()?,
            space: Discrete { count },
            observation_len,
            raised,
        })
    }

    fn keep(&self, error: PyErr) -> Error {
        self.raised.replace(Some(error));
        Error::Outside
    }

    fn try_reset(&self, seed: Option<u64>, observation: &mut [f32]) -> PyResult<()> {
        let result = match seed {
            Some(seed) => {
                let keywords = PyDict::new(self.reset.py());
                keywords.set_item("seed", seed)?;
                self.reset.call((), Some(&keywords))?
            }
            None => self.reset.call0()?,
        };
        read(&*result.cast::<PyTuple>()?.get_borrowed_item(0)?, observation)
    }

    fn try_step(&self, action: &Bound<'py, PyTuple>, observation: &mut [f32]) -> PyResult<Step> {
        let result = self.step.call1(action)?;
        let result = result.cast::<PyTuple>()?;
        read(&*result.get_borrowed_item(0)?, observation)?;
        Ok(Step {
            reward: result.get_borrowed_item(1)?.extract()?,
            terminated: result.get_borrowed_item(2)?.extract()?,
            truncated: result.get_borrowed_item(3)?.extract()?,
        })
    }
}

impl Environment for Gymnasium<'_, '_> {
    type Action = u32;
    type ActionSpace = Discrete;

    fn observation_len(&self) -> usize {
        self.observation_len
    }

    fn action_space(&self) -> &Discrete {
        &self.space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        self.try_reset(seed, observation).map_err(|error| self.keep(error))
    }

    fn step(&mut self, &action: &u32, observation: &mut [f32]) -> Result<Step, Error> {
        let count = self.space.count;
        let arguments = self.actions.get(action as usize).ok_or(Error::Action { action, count })?;
        self.try_step(arguments, observation).map_err(|error| self.keep(error))
    }
}

/// Copies a NumPy observation out.
fn read(array: &Bound<'_, PyAny>, observation: &mut [f32]) -> PyResult<()> {
    let array = array.cast::<PyArray1<f32>>()?;
    if array.len() != observation.len() {
        let (found, expected) = (array.len(), observation.len());
        let message = format!("an observation has {found} values and the observation space says {expected}");
        return Err(PyValueError::new_err(message));
    }
    if !array.is_aligned() {
        return Err(PyValueError::new_err("an observation lies at an address where no f32 may"));
    }
    // A handful of values: borrowing the whole array through the crate's table of borrows takes longer.
    for (i, value) in observation.iter_mut().enumerate() {
        *value = array.get_owned(i).expect("the index is below the length");
    }
    Ok(())
}
