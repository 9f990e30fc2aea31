//! The benchmark `ppo`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{AutoresetMode, DiscreteEnvironment, VectorEnv};
use torchforge_nn::{Activation, AdamOptions, DensePpo, Mlp, PpoLossOptions, SimdPath, TensorWriter};
use torchforge_rl::{Ppo, PpoOptions, PpoTrace, Stream};

use crate::dqn::environment;
use crate::parity::{Parity, PpoParity};
use crate::protocol::Progress;
use crate::training::{Clock, Trained, failed, only_case, parity_file};
use crate::{Arguments, Case, Failure};

/// The hidden layers of CleanRL's actor and of its critic.
const HIDDEN: [usize; 2] = [64, 64];
/// The last layers' gains: a policy that is nearly uniform at first, and values of ordinary size.
const ACTOR_GAIN: f64 = 0.01;
const CRITIC_GAIN: f64 = 1.0;
/// CleanRL's Adam, but for the learning rate, which falls.
const ADAM_EPSILON: f64 = 1e-5;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    environments: usize,
    rollout_steps: usize,
    minibatches: usize,
    epochs: usize,
    iterations: u64,
    parity_updates: usize,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        let least = parameters.environments.min(parameters.minibatches).min(parameters.parity_updates);
        if least == 0 {
            return Err(case.fault("environments, minibatches or parity_updates is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// The parity updates of actor and critic for so many inputs and actions.
pub(crate) fn parity(inputs: usize, actions: usize, updates: usize, path: SimdPath) -> PpoParity {
    let PpoOptions { learning_rate, gae, .. } = PpoOptions::default();
    let [first, second] = HIDDEN;
    PpoParity {
        actor: [inputs, first, second, actions],
        critic: [inputs, first, second, 1],
        loss: PpoLossOptions::default(),
        adam: AdamOptions { learning_rate, epsilon: ADAM_EPSILON, ..AdamOptions::default() },
        gae,
        updates,
        path,
    }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let given = parity_file(arguments, case)?;
    let environments: Vec<DiscreteEnvironment> = (0..parameters.environments)
        .map(|_| environment(case, &parameters.environment))
        .collect::<Result<_, _>>()?;
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).map_err(|e| failed(case, &e))?;

    let options = PpoOptions {
        iterations: parameters.iterations,
        rollout_steps: parameters.rollout_steps,
        minibatches: parameters.minibatches,
        epochs: parameters.epochs,
        ..PpoOptions::default()
    };
    let path = arguments.simd.unwrap_or_else(SimdPath::detect);
    let actions = environments.action_space().count as usize;
    let parity = parity(environments.observation_len(), actions, parameters.parity_updates, path);
    let (loss, adam) = (parity.loss, parity.adam);
    let mut weights = Stream::Weights.of(arguments.seed);
    let mut network = |sizes: &[usize], last_gain| {
        let gains = [2_f64.sqrt(), 2_f64.sqrt(), last_gain];
        Mlp::orthogonal(sizes, Activation::Tanh, &gains, &mut weights)
    };
    let rows = parameters.environments * parameters.rollout_steps / parameters.minibatches;
    let networks = network(&parity.actor, ACTOR_GAIN)
        .and_then(|actor| Ok((actor, network(&parity.critic, CRITIC_GAIN)?)))
        .and_then(|(actor, critic)| DensePpo::new(actor, critic, parameters.environments, rows, loss, adam))
        .and_then(|networks| networks.on_path(path))
        .map_err(|e| failed(case, &e))?;
    let mut trace = TensorWriter::new();
    networks.actor().write_grams("initial.actor.", &mut trace);
    networks.critic().write_grams("initial.critic.", &mut trace);
    let mut agent =
        Ppo::new(environments, networks, options, arguments.seed).map_err(|e| failed(case, &e))?;
    let mut episodes = Vec::new();
    let mut progress = Progress::new(parameters.iterations, "iteration");

    let clock = Clock::start(started);
    for iteration in 0..parameters.iterations {
        agent.iterate(&mut episodes).map_err(|e| failed(case, &e))?;
        progress.done(iteration + 1)?;
    }
    let times = clock.stop();

    write_trace(agent.trace(), &mut trace);
    let mut weights = TensorWriter::new();
    for (name, network) in [("actor.", agent.networks().actor()), ("critic.", agent.networks().critic())] {
        network.write(name, network.parameters(), &mut weights);
    }
    let update = parity.of(&given)?;
    let (environment_steps, gradient_steps) = (agent.environment_steps(), agent.gradient_steps());
    Trained { times, environment_steps, gradient_steps, episodes, weights, trace, update }
        .tell(arguments, case)
}

fn write_trace(trace: &PpoTrace, tensors: &mut TensorWriter) {
    tensors.push_f64("learning_rate", &trace.learning_rates);
    tensors.push_whole("update_steps", &trace.update_steps);
    tensors.push_whole("batch_rows", &trace.batch_rows);
    tensors.push_whole("wrong_flags", &[trace.wrong_flags]);
}
