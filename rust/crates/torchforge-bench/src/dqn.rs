//! The benchmark `dqn`: a whole training, timed without instruments inside.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn, SimdPath, TensorWriter};
use torchforge_rl::{Dqn, DqnOptions, Episode, Stream};

use crate::protocol::{self, Figure, Progress};
use crate::{Arguments, Case, Failure, files, parity};

/// CleanRL's network for CartPole: 4 observations, two hidden layers, 2 actions.
const LAYERS: [usize; 4] = [4, 120, 84, 2];
/// Steps of an episode of CartPole-v1 at most.
const EPISODE_LIMIT: u32 = 500;
/// Steps between two looks at the clock for the progress.
const PROGRESS_STEPS: u64 = 1024;

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    steps: u64,
    learning_starts: u64,
    train_frequency: u64,
}

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        if parameters.environment != "CartPole-v1" {
            let name = &parameters.environment;
            return Err(case.fault(&format!("there is no environment {name:?} here; use \"CartPole-v1\"")));
        }
        if parameters.steps == 0 || parameters.train_frequency == 0 {
            return Err(case.fault("steps or train_frequency is 0; give at least 1"));
        }
        Ok(parameters)
    }
}

/// An episode as the runner stores it.
#[derive(Serialize)]
struct EpisodeRecord {
    step: u64,
    length: u64,
    r#return: f64,
}

impl From<Episode> for EpisodeRecord {
    fn from(episode: Episode) -> Self {
        Self { step: episode.step, length: episode.length, r#return: episode.total_reward }
    }
}

/// `wall_seconds` is counted from the first line of `main`; what the loader does before takes about a millisecond.
pub(crate) fn run(arguments: &Arguments, started: Instant) -> Result<(), Failure> {
    let [case] = &arguments.cases[..] else {
        return Err(Failure::Usage("a training takes one case; start one process for each".into()));
    };
    let parameters = Parameters::read(case)?;
    let input = arguments.input()?;

    let options = DqnOptions {
        steps: parameters.steps,
        learning_starts: parameters.learning_starts,
        train_frequency: parameters.train_frequency,
        ..DqnOptions::default()
    };
    let adam = AdamOptions::default();
    let work =
        |error: &dyn std::fmt::Display| Failure::Work(format!("the training of {} failed: {error}", case.id));

    let mut weights = Stream::Weights.of(arguments.seed);
    let path = arguments.simd.unwrap_or_else(SimdPath::detect);
    let network = DenseDqn::new(&LAYERS, options.batch, options.gamma, adam, &mut weights)
        .and_then(|network| network.on_path(path))
        .map_err(|e| work(&e))?;
    let environment = TimeLimit::new(CartPole::new(), EPISODE_LIMIT);
    let mut agent = Dqn::new(environment, network, options, arguments.seed).map_err(|e| work(&e))?;
    let mut episodes = Vec::new();
    let mut progress = Progress::new(parameters.steps, "environment step");

    let training_started = Instant::now();
    while agent.environment_steps() < parameters.steps {
        episodes.extend(agent.step().map_err(|e| work(&e))?.map(EpisodeRecord::from));
        if agent.environment_steps().is_multiple_of(PROGRESS_STEPS) {
            progress.done(agent.environment_steps())?;
        }
    }
    let training_seconds = training_started.elapsed().as_secs_f64();

    let update =
        parity::update(&input.join(&case.id).join("parity.safetensors"), &LAYERS, options.gamma, adam, path)?;
    if let Some(output) = &arguments.output {
        let folder = files::case_folder(output, &case.id)?;
        let episodes = serde_json::to_vec(&episodes).expect("episodes are numbers");
        files::write(&folder.join("episodes.json"), &episodes)?;
        let mut tensors = TensorWriter::new();
        let online = agent.network().online();
        online.write("", online.parameters(), &mut tensors);
        files::write(&folder.join("weights.safetensors"), &tensors.into_bytes())?;
        files::write(&folder.join("update.safetensors"), &update)?;
    }
    protocol::measurement(
        &case.id,
        BTreeMap::from([
            ("initialisation_seconds", Figure::One((training_started - started).as_secs_f64())),
            ("training_seconds", Figure::One(training_seconds)),
            ("wall_seconds", Figure::One(started.elapsed().as_secs_f64())),
        ]),
        BTreeMap::from([
            ("environment_steps", agent.environment_steps()),
            ("gradient_steps", agent.gradient_steps()),
        ]),
    )
}
