//! The agents of `torchforge` in environments of Gymnasium itself.
//!
//! The crossing: a step is one call of the bound method with a tuple of arguments, and the observation is read where NumPy
//! has it. Tuples of discrete actions are made beforehand, so nothing is allocated on this side. (The limited API of
//! Python 3.11 has no vectorcall; with a tuple at hand there is nothing left for it to save.) A continuous action is a new
//! array at each step, because an environment may keep it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use torchforge_bench::{Case, Command, Failure, run_dqn_in, run_ppo_in, run_sac_in};
use torchforge_env::{ActionSpace, Continuous, Discrete, Environment, Error, Step};

/// Train as the command `torchforge` does, in environments of Gymnasium.
///
/// Args:
///     make: gives an environment by the name in the case's parameters: observations of float32 with one axis, and
///         discrete actions, of sac continuous ones with one axis. It is called for each environment of ppo, which are
///         stepped one after the other.
///     words: dqn, ppo or sac, and the options that `torchforge --help` lists for it with a case. `--simd` holds for all
///         that this module does from then on, in this process.
///     age: seconds since the process began, from which `wall_seconds` is counted.
///
/// Prints the measurement on stdout and returns the exit code, after one line on stderr if it is not 0. What an
/// environment raises in its episodes is raised.
#[pyfunction]
pub fn train_in(make: &Bound<'_, PyAny>, words: Vec<String>, age: f64) -> PyResult<u8> {
    let now = Instant::now();
    let age =
        Duration::try_from_secs_f64(age).map_err(|error| PyValueError::new_err(format!("age: {error}")))?;
    let started = now.checked_sub(age).unwrap_or(now);
    let raised = Raised::default();
    let done = Command::parse(words).and_then(|command| match command {
        Command::Dqn(arguments) => run_dqn_in(&arguments, started, named::<Discrete>(make, &raised)),
        Command::Ppo(arguments) => run_ppo_in(&arguments, started, named::<Discrete>(make, &raised)),
        Command::Sac(arguments) => run_sac_in(&arguments, started, named::<Continuous>(make, &raised)),
        _ => Err(Failure::Usage(
            "give dqn, ppo or sac, and --case ID --parameters JSON; see `torchforge --help`".into(),
        )),
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

/// How a training makes an environment of a case and the name in it.
fn named<S: Actions>(
    make: &Bound<'_, PyAny>,
    raised: &Raised,
) -> impl Fn(&Case, &str) -> Result<Gymnasium<S>, Failure> {
    |case, name| {
        make.call1((name,)).and_then(|made| Gymnasium::new(&made, raised)).map_err(|error| {
            Failure::Usage(format!("the environment of case {:?} cannot be used: {error}", case.id))
        })
    }
}

/// Where an exception of an environment waits for what started the training.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep(&self, error: PyErr) -> Error {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Error::Outside
    }

    /// The exception, which then waits no more.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// An environment of Gymnasium with an observation of one axis.
pub(crate) struct Gymnasium<S> {
    reset: Py<PyAny>,
    step: Py<PyAny>,
    space: S,
    /// The arguments of a step, one tuple for each discrete action.
    actions: Vec<Py<PyTuple>>,
    observation_len: usize,
    raised: Raised,
}

/// Actions that Gymnasium has too.
pub(crate) trait Actions: ActionSpace + Sized {
    /// What an environment must have.
    const NAME: &str;

    /// The space, and what each of its actions is to Python where they can be counted.
    fn read(space: &Bound<'_, PyAny>) -> PyResult<(Self, Vec<Py<PyTuple>>)>;

    /// The arguments of a step.
    fn arguments<'py>(
        &self,
        py: Python<'py>,
        actions: &[Py<PyTuple>],
        action: &Self::Action,
    ) -> Result<Bound<'py, PyTuple>, Error>;
}

impl Actions for Discrete {
    const NAME: &str = "discrete actions";

    fn read(space: &Bound<'_, PyAny>) -> PyResult<(Self, Vec<Py<PyTuple>>)> {
        let count: u32 = space.getattr("n")?.extract()?;
        let start: i64 = space.getattr("start")?.extract()?;
        let tuple = |k| PyTuple::new(space.py(), [start + k]).map(Bound::unbind);
        Ok((Self { count }, (0..i64::from(count)).map(tuple).collect::<PyResult<_>>()?))
    }

    fn arguments<'py>(
        &self,
        py: Python<'py>,
        actions: &[Py<PyTuple>],
        &action: &u32,
    ) -> Result<Bound<'py, PyTuple>, Error> {
        let made = actions.get(action as usize).ok_or(Error::Action { action, count: self.count })?;
        Ok(made.bind(py).clone())
    }
}

impl Actions for Continuous {
    const NAME: &str = "continuous actions of one axis";

    fn read(space: &Bound<'_, PyAny>) -> PyResult<(Self, Vec<Py<PyTuple>>)> {
        let bound = |name| space.getattr(name)?.call_method0("tolist")?.extract::<Vec<f32>>();
        Ok((Self { low: bound("low")?, high: bound("high")? }, Vec::new()))
    }

    fn arguments<'py>(
        &self,
        py: Python<'py>,
        _: &[Py<PyTuple>],
        action: &[f32],
    ) -> Result<Bound<'py, PyTuple>, Error> {
        PyTuple::new(py, [PyArray1::from_slice(py, action)]).map_err(|_| Error::Outside)
    }
}

impl<S: Actions> Gymnasium<S> {
    pub(crate) fn new(environment: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Self> {
        let shape = environment.getattr("observation_space")?.getattr("shape")?;
        let (space, observation) = (environment.getattr("action_space")?, shape.extract::<(usize,)>());
        let (Ok((space, actions)), Ok((observation_len,))) = (S::read(&space), observation) else {
            return Err(PyValueError::new_err(format!(
                "{} has not {} and an observation of one axis; use an environment that has",
                environment.repr()?,
                S::NAME
            )));
        };
        Ok(Self {
            reset: environment.getattr("reset")?.unbind(),
            step: environment.getattr("step")?.unbind(),
            space,
            actions,
            observation_len,
            raised: raised.clone(),
        })
    }

    fn try_reset(&self, py: Python<'_>, seed: Option<u64>, observation: &mut [f32]) -> PyResult<()> {
        let reset = self.reset.bind(py);
        let result = match seed {
            Some(seed) => {
                let keywords = PyDict::new(py);
                keywords.set_item("seed", seed)?;
                reset.call((), Some(&keywords))?
            }
            None => reset.call0()?,
        };
        read(&*result.cast::<PyTuple>()?.get_borrowed_item(0)?, observation)
    }

    fn try_step(&self, action: &Bound<'_, PyTuple>, observation: &mut [f32]) -> PyResult<Step> {
        let result = self.step.bind(action.py()).call1(action)?;
        let result = result.cast::<PyTuple>()?;
        read(&*result.get_borrowed_item(0)?, observation)?;
        Ok(Step {
            reward: result.get_borrowed_item(1)?.extract()?,
            terminated: result.get_borrowed_item(2)?.extract()?,
            truncated: result.get_borrowed_item(3)?.extract()?,
        })
    }
}

impl<S: Actions> Environment for Gymnasium<S> {
    type Action = S::Action;
    type ActionSpace = S;

    fn observation_len(&self) -> usize {
        self.observation_len
    }

    fn action_space(&self) -> &S {
        &self.space
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        Python::attach(|py| self.try_reset(py, seed, observation)).map_err(|error| self.raised.keep(error))
    }

    fn step(&mut self, action: &S::Action, observation: &mut [f32]) -> Result<Step, Error> {
        Python::attach(|py| {
            let arguments = self.space.arguments(py, &self.actions, action)?;
            self.try_step(&arguments, observation).map_err(|error| self.raised.keep(error))
        })
    }
}

/// Copies a NumPy observation out. One of another type becomes `f32`, which networks take.
fn read(value: &Bound<'_, PyAny>, observation: &mut [f32]) -> PyResult<()> {
    let converted;
    let array = match value.cast::<PyArray1<f32>>() {
        Ok(array) => array,
        Err(_) => {
            converted = value.call_method1("astype", ("float32",))?;
            converted.cast::<PyArray1<f32>>()?
        }
    };
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
