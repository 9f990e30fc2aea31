//! The benchmark `sac`: a whole training, timed without instruments inside.

use std::time::Instant;

use serde::Deserialize;
use torchforge_env::{AnyEnvironment, Continuous, ContinuousEnvironment, Environment, ids, make};
use torchforge_nn::{ActionRange, DenseSac, Error, Mlp, SacLossOptions, SacNetworks, SimdPath, TensorWriter};
use torchforge_rl::{Sac, SacOptions, SacTrace, Stream};

use crate::parity::{Parity, SacParity};
use crate::protocol::Progress;
use crate::training::{Clock, Trained, failed, only_case, parity_file};
use crate::{Arguments, Case, Failure};

/// The hidden layers of CleanRL's actor and of its critics.
const HIDDEN: [usize; 2] = [256, 256];
/// Steps between two looks at the clock for the progress.
const PROGRESS_STEPS: u64 = 64;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    learning_starts: u64,
    batch: usize,
    steps: u64,
    parity_updates: usize,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.steps == 0 || parameters.batch == 0 || parameters.parity_updates == 0 {
            return Err(case.fault("steps, batch or parity_updates is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// The environment of that name, if it has continuous actions.
pub(crate) fn environment(case: &Case, name: &str) -> Result<ContinuousEnvironment, Failure> {
    make(name).and_then(AnyEnvironment::continuous).ok_or_else(|| {
        let known: Vec<_> =
            ids().filter(|id| make(id).and_then(AnyEnvironment::continuous).is_some()).collect();
        let known = known.join(", ");
        case.fault(&format!("there is no environment {name:?} with continuous actions; use one of {known}"))
    })
}

/// Half the range of the actions, and its middle.
fn range(space: &Continuous) -> ActionRange {
    let pairs = || space.low.iter().zip(&space.high);
    ActionRange {
        scale: pairs().map(|(low, high)| (high - low) / 2.0).collect(),
        bias: pairs().map(|(low, high)| (high + low) / 2.0).collect(),
    }
}

/// Fresh networks: the actor, then the critics; targets are equal to the critics.
fn networks(actor: &[usize], critic: &[usize], seed: u64) -> Result<SacNetworks, Error> {
    let mut weights = Stream::Weights.of(seed);
    let actor = Mlp::new(actor, &mut weights)?;
    let critics = [Mlp::new(critic, &mut weights)?, Mlp::new(critic, &mut weights)?];
    Ok(SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 })
}

/// The parity updates of the networks for an environment.
pub(crate) fn parity(environment: &ContinuousEnvironment, updates: usize, path: SimdPath) -> SacParity {
    let range = range(environment.action_space());
    let (inputs, [first, second]) = (environment.observation_len(), HIDDEN);
    SacParity {
        actor: [inputs, first, second, 2 * range.scale.len()],
        critic: [inputs + range.scale.len(), first, second, 1],
        range,
        loss: SacLossOptions::default(),
        policy_frequency: SacOptions::default().policy_frequency as usize,
        updates,
        path,
    }
}

/// Trains the one case asked for. The process began at `started`.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    let case = only_case(arguments)?;
    let parameters = Parameters::read(case)?;
    let given = parity_file(arguments, case)?;
    let environment = environment(case, &parameters.environment)?;
    let path = arguments.simd.unwrap_or_else(SimdPath::detect);
    let parity = parity(&environment, parameters.parity_updates, path);

    let options = SacOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        batch: parameters.batch,
        ..SacOptions::default()
    };
    let networks = networks(&parity.actor, &parity.critic, arguments.seed)
        .and_then(|networks| DenseSac::new(networks, parity.range.clone(), parameters.batch, parity.loss))
        .and_then(|networks| networks.on_path(path))
        .map_err(|e| failed(case, &e))?;
    let mut trace = TensorWriter::new();
    networks.write_bounds("initial.", &mut trace);
    let mut agent = Sac::new(environment, networks, options, arguments.seed).map_err(|e| failed(case, &e))?;
    let mut episodes = Vec::new();
    let mut progress = Progress::new(parameters.steps, "environment step");

    let clock = Clock::start(started);
    while agent.environment_steps() < parameters.steps {
        episodes.extend(agent.step().map_err(|e| failed(case, &e))?);
        if agent.environment_steps().is_multiple_of(PROGRESS_STEPS) {
            progress.done(agent.environment_steps())?;
        }
    }
    let times = clock.stop();

    write_trace(agent.trace(), agent.buffer_capacity(), &mut trace);
    let mut weights = TensorWriter::new();
    agent.networks().write("", &mut weights);
    let update = parity.of(&given)?;
    let (environment_steps, gradient_steps) = (agent.environment_steps(), agent.gradient_steps());
    Trained { times, environment_steps, gradient_steps, episodes, weights, trace, update }
        .tell(arguments, case)
}

fn write_trace(trace: &SacTrace, buffer_capacity: usize, tensors: &mut TensorWriter) {
    tensors.push_whole("update_steps", &trace.update_steps);
    tensors.push_whole("policy_steps", &trace.policy_steps);
    tensors.push_whole("target_steps", &trace.target_steps);
    tensors.push_whole("buffer_rows", &trace.buffer_rows);
    tensors.push_whole("batch_rows", &trace.batch_rows);
    tensors.push_whole("buffer_capacity", &[buffer_capacity as u64]);
    let truncations = trace.truncations;
    tensors.push_whole("truncations_stored_as_ends", &[truncations.stored_as_ends]);
    tensors.push("last_observation_error".into(), vec![1], [truncations.last_observation_error]);
}
