//! The agents of `torchforge-rl` for Python: what learns, and what only acts.
//!
//! Options, loops and words are Python's (`python/torchforge/agents.py`); what takes time is here.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyString};
use torchforge_data::PriorityOptions;
use torchforge_env::{
    ActionSpace, AnyEnvironment, AutoresetMode, Continuous, ContinuousEnvironment, Discrete,
    DiscreteEnvironment, Environment as _, VectorEnv,
};
use torchforge_nn::{
    Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Mlp, NormalNetworks, NormalPpo, PpoLossOptions,
    SacLossOptions, SacNetworks, Temperature, TensorReader, TensorWriter,
};
use torchforge_rl::{
    Dqn, DqnOptions, DqnPolicy, DqnPriorities, Episode, GaeOptions, NormalPpoPolicy, ObservationStatistics,
    Ppo, PpoActor, PpoOptions, PpoPolicy, Sac, SacOptions, SacPolicy, State, TrainingError, cleanrl,
    load_checkpoint, save_checkpoint,
};

use crate::arrays::{input, values};
use crate::environment::{Limit, named};
use crate::gymnasium::{Gymnasium, Raised};

enum Agent {
    Dqn(Box<Dqn<DiscreteEnvironment, DenseDqn>>),
    Ppo(Box<Ppo<DiscreteEnvironment, DensePpo>>),
    ContinuousPpo(Box<Ppo<ContinuousEnvironment, NormalPpo>>),
    Sac(Box<Sac<ContinuousEnvironment, DenseSac>>),
}

/// What learns in Rust: the agents of `torchforge.agents` are made of it.
#[pyclass(module = "torchforge")]
pub struct Trainer {
    /// Never locked: what Python may see from every thread must say that it can be.
    agent: Mutex<Agent>,
    raised: Raised,
    observation_len: usize,
    actions: Space,
    /// A file of networks and statistics that is its own until it takes a step. The agent's statistics hold the first
    /// observation too.
    given: Option<Vec<u8>>,
}

enum Space {
    Discrete(usize),
    Continuous(Continuous),
}

#[pymethods]
impl Trainer {
    /// DQN in one environment, from these weights or from fresh ones.
    #[staticmethod]
    fn dqn(
        py: Python<'_>,
        environment: &Bound<'_, PyAny>,
        seed: u64,
        options: &Bound<'_, PyDict>,
        weights: Option<&[u8]>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let environment = discrete(environment, &raised)?;
        let gamma = option(options, "gamma")?;
        let adam = AdamOptions { learning_rate: option(options, "learning_rate")?, ..AdamOptions::default() };
        let of_errors = PriorityOptions { alpha: option(options, "alpha")?, ..PriorityOptions::default() };
        let priorities = DqnPriorities { of_errors, first_beta: option(options, "beta")? };
        let options = DqnOptions {
            steps: option(options, "total_steps")?,
            learning_starts: option(options, "learning_starts")?,
            train_frequency: option(options, "train_frequency")?,
            target_frequency: option(options, "target_frequency")?,
            tau: option(options, "tau")?,
            buffer_capacity: option(options, "buffer_size")?,
            batch: option(options, "batch_size")?,
            start_epsilon: option(options, "start_epsilon")?,
            end_epsilon: option(options, "end_epsilon")?,
            exploration_fraction: option(options, "exploration_fraction")?,
            n_step: option(options, "n_step")?,
            priorities: option::<bool>(options, "prioritised")?.then_some(priorities),
            ..DqnOptions::default()
        };
        let (len, actions) = (environment.observation_len(), environment.action_space().count as usize);
        Self::made(py, raised, len, Space::Discrete(actions), || {
            let network = match weights {
                Some(weights) => dqn_network(weights, len, actions)?,
                None => cleanrl::dqn_network(len, actions, seed)?,
            };
            let network = DenseDqn::from_networks(network.clone(), network, options.batch, gamma, adam)?;
            Dqn::new(environment, network, options, seed).map(|agent| Agent::Dqn(Box::new(agent)))
        })
    }

    /// Whether an environment's actions are continuous.
    ///
    /// Raises:
    ///     ValueError: there is no environment of that name.
    #[staticmethod]
    fn is_continuous(environment: &Bound<'_, PyAny>) -> PyResult<bool> {
        match environment.cast::<PyString>() {
            Ok(id) => Ok(matches!(named(&id.to_string(), Limit::Registered)?, AnyEnvironment::Continuous(_))),
            Err(_) => environment.getattr("action_space")?.hasattr("low"),
        }
    }

    /// PPO in several environments, from these weights or from fresh ones. Their actions are of one kind.
    #[staticmethod]
    fn ppo(
        py: Python<'_>,
        environments: Vec<Bound<'_, PyAny>>,
        seed: u64,
        options: &Bound<'_, PyDict>,
        weights: Option<&[u8]>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let continuous = environments.first().map(Self::is_continuous).transpose()?.unwrap_or(false);
        let loss = PpoLossOptions {
            clip: option(options, "clip")?,
            entropy_weight: option(options, "entropy_weight")?,
            value_weight: option(options, "value_weight")?,
            largest_gradient_norm: option(options, "largest_gradient_norm")?,
            ..PpoLossOptions::default()
        };
        let rollout_steps: usize = option(options, "rollout_steps")?;
        let total: u64 = option(options, "total_steps")?;
        let options = PpoOptions {
            iterations: total / (rollout_steps as u64).saturating_mul(environments.len() as u64).max(1),
            rollout_steps,
            minibatches: option(options, "minibatches")?,
            epochs: option(options, "epochs")?,
            learning_rate: option(options, "learning_rate")?,
            anneal_learning_rate: option(options, "anneal_learning_rate")?,
            target_kl: option(options, "target_kl")?,
            gae: GaeOptions { gamma: option(options, "gamma")?, lambda: option(options, "gae_lambda")? },
            normalise: continuous && option(options, "normalise")?,
            ..PpoOptions::default()
        };
        let count = environments.len();
        let adam = AdamOptions { learning_rate: options.learning_rate, ..cleanrl::ppo_adam() };
        if continuous {
            let environments = together(&environments, |each| self::continuous(each, &raised))?;
            let (len, space) = (environments.observation_len(), environments.action_space().clone());
            let made = Self::made(py, raised, len, Space::Continuous(space.clone()), || {
                let (networks, statistics) = match weights {
                    Some(weights) => continuous_ppo_networks(weights, len, space.width())?,
                    None => (cleanrl::ppo_continuous_networks(len, space.width(), seed)?, None),
                };
                let batch = options.minibatch_rows(count)?;
                let networks = networks.into_ppo(count, batch, loss, adam)?;
                Ppo::with_statistics(environments, networks, options, seed, statistics.as_ref())
                    .map(|agent| Agent::ContinuousPpo(Box::new(agent)))
            })?;
            return Ok(Self { given: weights.map(<[u8]>::to_vec), ..made });
        }
        let environments = together(&environments, |each| discrete(each, &raised))?;
        let (len, actions) = (environments.observation_len(), environments.action_space().count as usize);
        Self::made(py, raised, len, Space::Discrete(actions), || {
            let [actor, critic] = match weights {
                Some(weights) => ppo_networks(weights, len, actions)?,
                None => cleanrl::ppo_networks(len, actions, seed)?,
            };
            let networks = DensePpo::new(actor, critic, count, options.minibatch_rows(count)?, loss, adam)?;
            Ppo::new(environments, networks, options, seed).map(|agent| Agent::Ppo(Box::new(agent)))
        })
    }

    /// SAC in one environment, from these weights or from fresh ones.
    #[staticmethod]
    fn sac(
        py: Python<'_>,
        environment: &Bound<'_, PyAny>,
        seed: u64,
        options: &Bound<'_, PyDict>,
        weights: Option<&[u8]>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let environment = continuous(environment, &raised)?;
        let adam = |rate| AdamOptions { learning_rate: rate, ..AdamOptions::default() };
        let loss = SacLossOptions {
            gamma: option(options, "gamma")?,
            tau: option(options, "tau")?,
            policy_adam: adam(option(options, "policy_learning_rate")?),
            critic_adam: adam(option(options, "critic_learning_rate")?),
            temperature: option::<Option<f64>>(options, "alpha")?
                .map_or(Temperature::Learnt, Temperature::Fixed),
        };
        let options = SacOptions {
            steps: option(options, "total_steps")?,
            learning_starts: option(options, "learning_starts")?,
            buffer_capacity: option(options, "buffer_size")?,
            batch: option(options, "batch_size")?,
            policy_frequency: option(options, "policy_frequency")?,
            trace: false,
        };
        let (len, space) = (environment.observation_len(), environment.action_space().clone());
        Self::made(py, raised, len, Space::Continuous(space.clone()), || {
            let networks = match weights {
                Some(weights) => sac_networks(weights, len, space.width())?,
                None => cleanrl::sac_networks(len, space.width(), seed)?,
            };
            let networks = DenseSac::new(networks, cleanrl::action_range(&space), options.batch, loss)?;
            Sac::new(environment, networks, options, seed).map(|agent| Agent::Sac(Box::new(agent)))
        })
    }

    /// Take steps, of PPO as many whole iterations as hold them, with the interpreter lock released.
    ///
    /// Returns of each episode that ended its last step, its length and its return.
    ///
    /// Raises:
    ///     RuntimeError: the training diverged, or its schedule is over. What an environment raises is raised.
    fn advance(&mut self, py: Python<'_>, steps: u64) -> PyResult<Vec<(u64, u64, f64)>> {
        let mut episodes = Vec::new();
        let done = py.detach(|| match self.agent() {
            Agent::Dqn(agent) => {
                (0..steps).try_for_each(|_| agent.step().map(|ended| episodes.extend(ended)))
            }
            Agent::Sac(agent) => {
                (0..steps).try_for_each(|_| agent.step().map(|ended| episodes.extend(ended)))
            }
            Agent::Ppo(agent) => iterated(agent, steps, &mut episodes),
            Agent::ContinuousPpo(agent) => iterated(agent, steps, &mut episodes),
        });
        done.map_err(|error| stopped(error, &self.raised))?;
        Ok(episodes
            .iter()
            .map(|&Episode { step, length, total_reward }| (step, length, total_reward))
            .collect())
    }

    /// Environment steps taken, of all environments.
    #[getter]
    fn environment_steps(&mut self) -> u64 {
        match self.agent() {
            Agent::Dqn(agent) => agent.environment_steps(),
            Agent::Ppo(agent) => agent.environment_steps(),
            Agent::ContinuousPpo(agent) => agent.environment_steps(),
            Agent::Sac(agent) => agent.environment_steps(),
        }
    }

    /// Gradient steps taken, of SAC those of the critics.
    #[getter]
    fn gradient_steps(&mut self) -> u64 {
        match self.agent() {
            Agent::Dqn(agent) => agent.gradient_steps(),
            Agent::Ppo(agent) => agent.gradient_steps(),
            Agent::ContinuousPpo(agent) => agent.gradient_steps(),
            Agent::Sac(agent) => agent.gradient_steps(),
        }
    }

    /// The loss before the last gradient step; None before the first.
    #[getter]
    fn loss(&mut self) -> Option<f32> {
        match self.agent() {
            Agent::Dqn(agent) => agent.last_loss(),
            Agent::Ppo(agent) => agent.last_loss().map(|loss| loss.total),
            Agent::ContinuousPpo(agent) => agent.last_loss().map(|loss| loss.total),
            Agent::Sac(agent) => agent.last_critic_loss().map(|loss| loss.sum),
        }
    }

    /// A safetensors file of all networks, as the command `torchforge` writes it.
    fn weights<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        if self.environment_steps() == 0
            && let Some(given) = &self.given
        {
            return PyBytes::new(py, given);
        }
        let mut tensors = TensorWriter::new();
        match self.agent() {
            Agent::Dqn(agent) => {
                let online = agent.network().online();
                online.write("", online.parameters(), &mut tensors);
            }
            Agent::Ppo(agent) => {
                let (actor, critic) = (agent.networks().actor(), agent.networks().critic());
                actor.write("actor.", actor.parameters(), &mut tensors);
                critic.write("critic.", critic.parameters(), &mut tensors);
            }
            Agent::ContinuousPpo(agent) => {
                agent.networks().write(&mut tensors);
                // Each environment has its own; they differ little, because each sees the same task.
                if let Some(statistics) = agent.observation_statistics().next() {
                    statistics.write(&mut tensors);
                }
            }
            Agent::Sac(agent) => agent.networks().write("", &mut tensors),
        }
        PyBytes::new(py, &tensors.into_bytes())
    }

    /// The policy as it is now. Of DQN, `epsilon` is the probability of any action where it is not deterministic.
    fn policy(&mut self, py: Python<'_>, epsilon: f64, seed: u64) -> PyResult<Policy> {
        let weights = self.weights(py);
        let (weights, len) = (weights.as_bytes(), self.observation_len);
        let acting = match (&self.actions, self.agent.get_mut().unwrap_or_else(PoisonError::into_inner)) {
            (Space::Discrete(actions), Agent::Ppo(_)) => Acting::ppo(weights, len, *actions, seed),
            (Space::Discrete(actions), _) => Acting::dqn(weights, len, *actions, epsilon, seed),
            (Space::Continuous(space), Agent::ContinuousPpo(_)) => {
                Acting::continuous_ppo(weights, len, space, seed)
            }
            (Space::Continuous(space), _) => Acting::sac(weights, len, space, seed),
        };
        Ok(Policy { acting: Mutex::new(acted(acting)?), observation_len: len })
    }

    /// Write the whole state, and words that say what the training is.
    ///
    /// Raises:
    ///     RuntimeError: the file cannot be written, or an environment cannot take down its state.
    fn save_checkpoint(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        words: Vec<(String, String)>,
    ) -> PyResult<()> {
        let words: Vec<_> = words.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        py.detach(|| save_checkpoint(&path, &words, self.state()))
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// Take up the whole state of a training of which the same words were written.
    ///
    /// Raises:
    ///     ValueError: the file is not a whole checkpoint of this training; the state is as it was.
    fn load_checkpoint(
        &mut self,
        py: Python<'_>,
        path: PathBuf,
        words: Vec<(String, String)>,
    ) -> PyResult<()> {
        let words: Vec<_> = words.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        py.detach(|| load_checkpoint(&path, &words, self.state()))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl Trainer {
    fn made(
        py: Python<'_>,
        raised: Raised,
        observation_len: usize,
        actions: Space,
        make: impl FnOnce() -> Result<Agent, TrainingError> + Send,
    ) -> PyResult<Self> {
        match py.detach(make) {
            Ok(agent) => Ok(Self { agent: Mutex::new(agent), raised, observation_len, actions, given: None }),
            Err(error) => Err(raised.take().unwrap_or_else(|| PyValueError::new_err(error.to_string()))),
        }
    }

    fn agent(&mut self) -> &mut Agent {
        self.agent.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&mut self) -> &mut dyn State {
        match self.agent() {
            Agent::Dqn(agent) => agent.as_mut(),
            Agent::Ppo(agent) => agent.as_mut(),
            Agent::ContinuousPpo(agent) => agent.as_mut(),
            Agent::Sac(agent) => agent.as_mut(),
        }
    }
}

/// What only acts, with weights of a training; made by `Trainer.policy`.
#[pyclass(module = "torchforge")]
pub struct Policy {
    /// Never locked, as a trainer's agent.
    acting: Mutex<Acting>,
    observation_len: usize,
}

/// Each way to act has networks of its own.
struct Both<P> {
    deterministic: P,
    stochastic: P,
}

enum Acting {
    Dqn(Box<Both<DqnPolicy<DenseDqn>>>),
    Ppo(Box<Both<PpoPolicy<DensePpo>>>),
    ContinuousPpo(Box<Both<NormalPpoPolicy<NormalPpo>>>),
    Sac(Box<Both<SacPolicy<DenseSac>>>),
}

impl Acting {
    /// DQN's: greedy, or with probability `epsilon` any action.
    fn dqn(
        weights: &[u8],
        observation_len: usize,
        actions: usize,
        epsilon: f64,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let policy = |epsilon| {
            let network = dqn_network(weights, observation_len, actions)?;
            let (gamma, adam) = (cleanrl::DQN_GAMMA, AdamOptions::default());
            DqnPolicy::new(DenseDqn::from_networks(network.clone(), network, 1, gamma, adam)?, epsilon, seed)
        };
        Ok(Self::Dqn(Box::new(Both { deterministic: policy(0.0)?, stochastic: policy(epsilon)? })))
    }

    /// PPO's: the most probable action, or one drawn.
    fn ppo(weights: &[u8], observation_len: usize, actions: usize, seed: u64) -> Result<Self, TrainingError> {
        let networks = || -> Result<_, TrainingError> {
            let [actor, critic] = ppo_networks(weights, observation_len, actions)?;
            // Nothing is learnt, but of less than two rows no update could be.
            Ok(DensePpo::new(actor, critic, 1, 2, PpoLossOptions::default(), AdamOptions::default())?)
        };
        Ok(Self::Ppo(Box::new(Both {
            deterministic: PpoPolicy::deterministic(networks()?)?,
            stochastic: PpoPolicy::deterministic(networks()?)?.stochastic(seed),
        })))
    }

    /// PPO's where actions are continuous: the mean, or an action drawn.
    fn continuous_ppo(
        weights: &[u8],
        observation_len: usize,
        space: &Continuous,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let policy = || -> Result<_, TrainingError> {
            let (networks, statistics) = continuous_ppo_networks(weights, observation_len, space.width())?;
            let (loss, adam) = (PpoLossOptions::default(), AdamOptions::default());
            // Nothing is learnt, but of less than two rows no update could be.
            let networks = networks.into_ppo(1, 2, loss, adam)?;
            NormalPpoPolicy::deterministic(networks, space.clone(), statistics)
        };
        Ok(Self::ContinuousPpo(Box::new(Both {
            deterministic: policy()?,
            stochastic: policy()?.stochastic(seed),
        })))
    }

    /// SAC's: the squashed mean, or an action drawn.
    fn sac(
        weights: &[u8],
        observation_len: usize,
        space: &Continuous,
        seed: u64,
    ) -> Result<Self, TrainingError> {
        let networks = || -> Result<_, TrainingError> {
            let networks = sac_networks(weights, observation_len, space.width())?;
            Ok(DenseSac::new(networks, cleanrl::action_range(space), 1, SacLossOptions::default())?)
        };
        Ok(Self::Sac(Box::new(Both {
            deterministic: SacPolicy::deterministic(networks()?)?,
            stochastic: SacPolicy::deterministic(networks()?)?.stochastic(seed),
        })))
    }
}

/// From this many observations on other Python threads may run: the largest of the networks takes milliseconds for them.
const DETACH_ROWS: usize = 64;

#[pymethods]
impl Policy {
    /// Actions for observations (n, values): int64 of shape (n,), or float32 of shape (n, dimensions).
    ///
    /// Raises:
    ///     ValueError: `observations` has another type, layout or shape, or the networks give what is no number.
    fn act<'py>(
        &self,
        py: Python<'py>,
        observations: &Bound<'py, PyAny>,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let observations = input::<f32>("observations", observations)?;
        let rows = observations.shape().first().copied().unwrap_or(0);
        let observations = values::<f32>("observations", &observations, &[rows, self.observation_len])?;
        let (observations, len) = (&*observations, self.observation_len);
        let act = |acting: &mut Acting| acting.act(observations.chunks_exact(len), deterministic);
        let acted = if rows < DETACH_ROWS {
            act(&mut self.acting.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
        } else {
            py.detach(|| act(&mut self.acting.lock().unwrap_or_else(PoisonError::into_inner)))
        };
        match acted {
            Ok(Actions::Discrete(actions)) => Ok(PyArray1::from_vec(py, actions).into_any()),
            Ok(Actions::Continuous(actions)) => {
                let array = PyArray2::from_vec2(py, &actions);
                Ok(array.map_err(|error| PyValueError::new_err(error.to_string()))?.into_any())
            }
            Err(error) => Err(PyValueError::new_err(error.to_string())),
        }
    }
}

/// One action for each observation.
enum Actions {
    Discrete(Vec<i64>),
    Continuous(Vec<Vec<f32>>),
}

impl Acting {
    fn act<'a>(
        &mut self,
        observations: impl Iterator<Item = &'a [f32]>,
        deterministic: bool,
    ) -> Result<Actions, TrainingError> {
        match self {
            Self::Dqn(both) => discrete_actions(both.choose(deterministic), observations),
            Self::Ppo(both) => discrete_actions(both.choose(deterministic), observations),
            Self::ContinuousPpo(both) => continuous_actions(both.choose(deterministic), observations),
            Self::Sac(both) => continuous_actions(both.choose(deterministic), observations),
        }
    }
}

fn discrete_actions<'a>(
    policy: &mut impl torchforge_rl::Policy<Action = u32>,
    observations: impl Iterator<Item = &'a [f32]>,
) -> Result<Actions, TrainingError> {
    let actions = observations.map(|each| policy.act(each).map(|&action| i64::from(action)));
    Ok(Actions::Discrete(actions.collect::<Result<_, _>>()?))
}

/// A row of numbers for each observation.
fn continuous_actions<'a>(
    policy: &mut impl torchforge_rl::Policy<Action = [f32]>,
    observations: impl Iterator<Item = &'a [f32]>,
) -> Result<Actions, TrainingError> {
    let actions = observations.map(|each| policy.act(each).map(<[f32]>::to_vec));
    Ok(Actions::Continuous(actions.collect::<Result<_, _>>()?))
}

/// Whole iterations that hold so many steps.
fn iterated<E, P>(agent: &mut Ppo<E, P>, steps: u64, episodes: &mut Vec<Episode>) -> Result<(), TrainingError>
where
    E: torchforge_env::Environment<ActionSpace: ActionSpace<Value: Copy + Default>>,
    P: PpoActor<E::ActionSpace>,
{
    let last = agent.environment_steps().saturating_add(steps);
    while agent.environment_steps() < last {
        agent.iterate(episodes)?;
    }
    Ok(())
}

/// Environments that are stepped together, as PPO needs them.
fn together<E: torchforge_env::Environment>(
    given: &[Bound<'_, PyAny>],
    one: impl Fn(&Bound<'_, PyAny>) -> PyResult<E>,
) -> PyResult<VectorEnv<E>> {
    let environments = given.iter().map(one).collect::<PyResult<Vec<_>>>()?;
    VectorEnv::new(environments, AutoresetMode::SameStep).map_err(crate::environment::error)
}

impl<P> Both<P> {
    fn choose(&mut self, deterministic: bool) -> &mut P {
        if deterministic { &mut self.deterministic } else { &mut self.stochastic }
    }
}

fn acted<T>(done: Result<T, TrainingError>) -> PyResult<T> {
    done.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What the environment raised, or why the training cannot go on.
fn stopped(error: TrainingError, raised: &Raised) -> PyErr {
    raised.take().unwrap_or_else(|| PyRuntimeError::new_err(error.to_string()))
}

fn option<T>(options: &Bound<'_, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    options.as_any().get_item(name)?.extract().map_err(Into::into)
}

/// One of ours by its name, or one of Gymnasium.
fn discrete(given: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<DiscreteEnvironment> {
    let Ok(id) = given.cast::<PyString>() else {
        return Ok(Box::new(Gymnasium::<Discrete>::new(given, raised)?));
    };
    match named(&id.to_string(), Limit::Registered)? {
        AnyEnvironment::Discrete(environment) => Ok(environment),
        AnyEnvironment::Continuous(_) => Err(unfit(id, "continuous")),
    }
}

/// One of ours by its name, or one of Gymnasium.
fn continuous(given: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<ContinuousEnvironment> {
    let Ok(id) = given.cast::<PyString>() else {
        return Ok(Box::new(Gymnasium::<Continuous>::new(given, raised)?));
    };
    match named(&id.to_string(), Limit::Registered)? {
        AnyEnvironment::Continuous(environment) => Ok(environment),
        AnyEnvironment::Discrete(_) => Err(unfit(id, "discrete")),
    }
}

fn unfit(id: &Bound<'_, PyString>, kind: &str) -> PyErr {
    PyValueError::new_err(format!("env is {id:?}, whose actions are {kind}; this agent takes the others"))
}

fn dqn_network(weights: &[u8], observation_len: usize, actions: usize) -> Result<Mlp, TrainingError> {
    let tensors = TensorReader::new(weights)?;
    Ok(Mlp::read(&cleanrl::dqn_sizes(observation_len, actions), Activation::Relu, "", &tensors)?)
}

fn ppo_networks(weights: &[u8], observation_len: usize, actions: usize) -> Result<[Mlp; 2], TrainingError> {
    let tensors = TensorReader::new(weights)?;
    let [actor, critic] = cleanrl::ppo_sizes(observation_len, actions);
    let network = |sizes: [usize; 4], name| Mlp::read(&sizes, Activation::Tanh, name, &tensors);
    Ok([network(actor, "actor.")?, network(critic, "critic.")?])
}

fn continuous_ppo_networks(
    weights: &[u8],
    observation_len: usize,
    width: usize,
) -> Result<(NormalNetworks, Option<ObservationStatistics>), TrainingError> {
    let tensors = TensorReader::new(weights)?;
    let [actor, critic] = cleanrl::ppo_sizes(observation_len, width);
    let networks = NormalNetworks::read(&actor, &critic, &tensors)?;
    Ok((networks, ObservationStatistics::read(&tensors, observation_len)?))
}

fn sac_networks(weights: &[u8], observation_len: usize, width: usize) -> Result<SacNetworks, TrainingError> {
    let [actor, critic] = cleanrl::sac_sizes(observation_len, width);
    Ok(SacNetworks::read(&actor, &critic, &TensorReader::new(weights)?)?)
}
