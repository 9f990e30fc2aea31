//! What the trainings share: one case in, files and one measurement out.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use torchforge_nn::{Error, TensorWriter};
use torchforge_rl::{Episode, TrainingError, TruncationTrace};

use crate::parity::Parity;
use crate::protocol::{self, Figure, Progress};
use crate::{Arguments, Case, Failure, files};
use torchforge_referee::Memory;

/// The one case of a training.
pub(crate) fn only_case(arguments: &Arguments) -> Result<&Case, Failure> {
    match &arguments.cases[..] {
        [case] => Ok(case),
        _ => Err(Failure::Usage("a training takes one case; start one process for each".into())),
    }
}

/// What the command asks of an agent, whichever its algorithm.
pub(crate) trait Agent {
    /// Environment steps between two looks at the clock for the progress.
    const PROGRESS_STEPS: u64;

    /// Acts and learns for a while, as long as the algorithm does at once; adds the episodes that ended.
    fn advance(&mut self, episodes: &mut Vec<Episode>) -> Result<(), TrainingError>;

    /// Environment steps taken.
    fn environment_steps(&self) -> u64;

    /// Gradient steps taken.
    fn gradient_steps(&self) -> u64;

    /// Writes what was learnt, in PyTorch's names and layout.
    fn write_weights(&self, tensors: &mut TensorWriter) -> Result<(), Error>;

    /// Writes what the training took down of itself.
    fn write_trace(&self, tensors: &mut TensorWriter);
}

/// A fresh agent, and what its trace begins with.
pub(crate) struct Made<A> {
    pub(crate) agent: A,
    pub(crate) trace: TensorWriter,
}

/// A training of this name that failed, and why.
pub(crate) fn failed(name: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Work(format!("the training of {name} failed: {error}"))
}

/// A training of a case that could not even be made: what is refused of it stands in the parameters, but for memory and
/// threads that there are not, and what another's environment or library says.
pub(crate) fn unmade(case: &Case, error: &TrainingError) -> Failure {
    match error {
        TrainingError::Zero { .. }
        | TrainingError::Minibatches { .. }
        | TrainingError::Rollout { .. }
        | TrainingError::Network(Error::Rows { .. })
        | TrainingError::Replay(_) => case.fault(&error.to_string()),
        _ => failed(&case.id, error),
    }
}

/// The whole training of a case, timed: its files and its measurement. The process began at `started`.
pub(crate) fn run<A: Agent>(
    arguments: &Arguments,
    case: &Case,
    started: Instant,
    made: Result<Made<A>, TrainingError>,
    steps: u64,
    parity: &impl Parity,
) -> Result<(), Failure> {
    let given = arguments.input()?.join(&case.id).join("parity.safetensors");
    let folder = arguments.output.as_ref().map(|output| output.join(&case.id));
    let Made { mut agent, trace } = made.map_err(|e| unmade(case, &e))?;
    let mut episodes = Vec::new();
    // A file that cannot be used, or a folder, would make all of the training worth nothing at its end.
    parity.try_file(&given)?;
    folder.as_deref().map_or(Ok(()), files::try_folder)?;
    let mut progress = Progress::new(steps, "environment step");

    let clock = Clock::start(started);
    while agent.environment_steps() < steps {
        agent.advance(&mut episodes).map_err(|e| failed(&case.id, &e))?;
        if agent.environment_steps().is_multiple_of(A::PROGRESS_STEPS) {
            progress.done(agent.environment_steps())?;
        }
    }
    let times = clock.stop();
    // Before anything is compared and written, which takes memory too.
    let memory = Memory::now();

    let update = parity.of(&given)?;
    if let Some(folder) = folder {
        write(&folder, &case.id, &agent, &episodes, trace)?;
        files::write(&folder.join("update.safetensors"), &update)?;
    }
    protocol::measurement(
        &case.id,
        memory,
        BTreeMap::from([
            ("initialisation_seconds", Figure::One(times.initialisation_seconds)),
            ("training_seconds", Figure::One(times.training_seconds)),
            ("wall_seconds", Figure::One(times.wall_seconds)),
        ]),
        BTreeMap::from([
            ("environment_steps", agent.environment_steps()),
            ("gradient_steps", agent.gradient_steps()),
        ]),
    )
}

/// Writes what a training leaves behind, into a folder that is made if need be.
pub(crate) fn write<A: Agent>(
    folder: &Path,
    name: &str,
    agent: &A,
    episodes: &[Episode],
    mut trace: TensorWriter,
) -> Result<(), Failure> {
    files::make_folder(folder)?;
    let episodes: Vec<EpisodeRecord> = episodes.iter().map(EpisodeRecord::from).collect();
    let episodes = serde_json::to_vec(&episodes).expect("episodes are numbers");
    files::write(&folder.join("episodes.json"), &episodes)?;
    let mut weights = TensorWriter::new();
    agent.write_weights(&mut weights).map_err(|error| failed(name, &error))?;
    files::write(&folder.join("weights.safetensors"), &weights.into_bytes())?;
    agent.write_trace(&mut trace);
    files::write(&folder.join("trace.safetensors"), &trace.into_bytes())
}

/// Writes what became of transitions whose episode was cut off.
pub(crate) fn write_truncations(truncations: TruncationTrace, tensors: &mut TensorWriter) {
    tensors.push_whole("truncations_stored_as_ends", &[truncations.stored_as_ends]);
    tensors.push("last_observation_error".into(), vec![1], [truncations.last_observation_error]);
}

/// When what began.
struct Clock {
    process: Instant,
    training: Instant,
}

impl Clock {
    /// The training begins now; the process began at its first line (what the loader does before takes about a
    /// millisecond).
    fn start(process: Instant) -> Self {
        Self { process, training: Instant::now() }
    }

    /// The training has ended.
    fn stop(self) -> Times {
        let end = Instant::now();
        Times {
            initialisation_seconds: (self.training - self.process).as_secs_f64(),
            training_seconds: (end - self.training).as_secs_f64(),
            wall_seconds: (end - self.process).as_secs_f64(),
        }
    }
}

/// Wall time is that from the process's start to the end of the training.
struct Times {
    initialisation_seconds: f64,
    training_seconds: f64,
    wall_seconds: f64,
}

/// An episode as the runner stores it.
#[derive(Serialize)]
struct EpisodeRecord {
    step: u64,
    length: u64,
    r#return: f64,
}

impl From<&Episode> for EpisodeRecord {
    fn from(episode: &Episode) -> Self {
        Self { step: episode.step, length: episode.length, r#return: episode.total_reward }
    }
}
