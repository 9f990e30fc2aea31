//! What a training does to its environments: each reset and each action. From these alone a referee plays all again.

use std::cell::RefCell;
use std::rc::Rc;

use torchforge_env::{ActionSpace, Environment, Error, Step};
use torchforge_nn::{Element, TensorWriter};

/// The seed of a reset that was given none.
pub(crate) const NO_SEED: i64 = -1;

/// An action that a log takes down.
pub(crate) trait Recorded {
    /// What a file holds of it.
    type Value: Element;

    /// Whether it is one number, and no row of them.
    const IS_NUMBER: bool;

    /// Adds it to those before.
    fn record(&self, actions: &mut Vec<Self::Value>) -> Result<(), Error>;
}

impl Recorded for u32 {
    type Value = u8;

    const IS_NUMBER: bool = true;

    fn record(&self, actions: &mut Vec<u8>) -> Result<(), Error> {
        let action = u8::try_from(*self).map_err(|_| Error::Action { action: *self, count: 256 })?;
        actions.push(action);
        Ok(())
    }
}

impl Recorded for [f32] {
    type Value = f32;

    const IS_NUMBER: bool = false;

    fn record(&self, actions: &mut Vec<f32>) -> Result<(), Error> {
        actions.extend_from_slice(self);
        Ok(())
    }
}

/// What was done to one environment.
struct ActionLog<V> {
    /// One after the other.
    actions: Vec<V>,
    /// Values of one action; None where it is a number.
    width: Option<usize>,
    steps: i64,
    /// How many steps came before each reset.
    resets: Vec<i64>,
    /// The seed of each reset.
    seeds: Vec<i64>,
}

/// A log as a training holds it, while its environment writes into it.
pub(crate) trait WriteActions {
    /// Adds the log of environment number `index` to a file.
    fn write(&self, index: usize, tensors: &mut TensorWriter);
}

impl<V: Element> WriteActions for RefCell<ActionLog<V>> {
    fn write(&self, index: usize, tensors: &mut TensorWriter) {
        let log = self.borrow();
        let shape = [Some(log.steps as usize), log.width].into_iter().flatten().collect();
        tensors.push_all(format!("{index}.actions"), shape, &log.actions);
        tensors.push_vector(&format!("{index}.resets"), &log.resets);
        tensors.push_vector(&format!("{index}.seeds"), &log.seeds);
    }
}

/// An environment whose resets and actions are taken down.
pub(crate) struct Logged<E: Environment<Action: Recorded>> {
    environment: E,
    log: Rc<RefCell<ActionLog<<E::Action as Recorded>::Value>>>,
}

impl<E> Logged<E>
where
    E: Environment<Action: Recorded<Value: 'static>>,
{
    /// Wraps an environment.
    pub(crate) fn new(environment: E) -> Self {
        let width = (!E::Action::IS_NUMBER).then(|| environment.action_space().width());
        let (actions, resets, seeds) = (Vec::new(), Vec::new(), Vec::new());
        let log = ActionLog { actions, width, steps: 0, resets, seeds };
        Self { environment, log: Rc::new(RefCell::new(log)) }
    }

    /// Its log, for when the environment belongs to an agent.
    pub(crate) fn log(&self) -> Rc<dyn WriteActions> {
        Rc::clone(&self.log) as Rc<dyn WriteActions>
    }
}

impl<E: Environment<Action: Recorded>> Environment for Logged<E> {
    type Action = E::Action;
    type ActionSpace = E::ActionSpace;

    fn observation_len(&self) -> usize {
        self.environment.observation_len()
    }

    fn action_space(&self) -> &E::ActionSpace {
        self.environment.action_space()
    }

    fn reset(&mut self, seed: Option<u64>, observation: &mut [f32]) -> Result<(), Error> {
        let mut log = self.log.borrow_mut();
        let steps = log.steps;
        log.resets.push(steps);
        log.seeds.push(seed.map_or(NO_SEED, |seed| seed as i64));
        drop(log);
        self.environment.reset(seed, observation)
    }

    fn step(&mut self, action: &E::Action, observation: &mut [f32]) -> Result<Step, Error> {
        let mut log = self.log.borrow_mut();
        action.record(&mut log.actions)?;
        log.steps += 1;
        drop(log);
        self.environment.step(action, observation)
    }
}
