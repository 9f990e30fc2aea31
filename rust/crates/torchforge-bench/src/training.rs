//! What the trainings share: one case in, files and one measurement out.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use torchforge_nn::TensorWriter;
use torchforge_rl::Episode;

use crate::protocol::{self, Figure};
use crate::{Arguments, Case, Failure, files};

/// The one case of a training.
pub(crate) fn only_case(arguments: &Arguments) -> Result<&Case, Failure> {
    match &arguments.cases[..] {
        [case] => Ok(case),
        _ => Err(Failure::Usage("a training takes one case; start one process for each".into())),
    }
}

/// The file that the parity updates of a case are made from.
pub(crate) fn parity_file(arguments: &Arguments, case: &Case) -> Result<std::path::PathBuf, Failure> {
    Ok(arguments.input()?.join(&case.id).join("parity.safetensors"))
}

/// A training of this case that failed, and why.
pub(crate) fn failed(case: &Case, error: &dyn std::fmt::Display) -> Failure {
    Failure::Work(format!("the training of {} failed: {error}", case.id))
}

/// When what began.
pub(crate) struct Clock {
    process: Instant,
    training: Instant,
}

impl Clock {
    /// The training begins now; the process began at its first line (what the loader does before takes about a
    /// millisecond).
    pub(crate) fn start(process: Instant) -> Self {
        Self { process, training: Instant::now() }
    }

    /// The training has ended.
    pub(crate) fn stop(self) -> Times {
        let end = Instant::now();
        Times {
            initialisation_seconds: (self.training - self.process).as_secs_f64(),
            training_seconds: (end - self.training).as_secs_f64(),
            wall_seconds: (end - self.process).as_secs_f64(),
        }
    }
}

/// Wall time is that from the process's start to the end of the training.
pub(crate) struct Times {
    initialisation_seconds: f64,
    training_seconds: f64,
    wall_seconds: f64,
}

/// What a training leaves behind.
pub(crate) struct Trained {
    pub(crate) times: Times,
    pub(crate) environment_steps: u64,
    pub(crate) gradient_steps: u64,
    pub(crate) episodes: Vec<Episode>,
    pub(crate) weights: TensorWriter,
    pub(crate) trace: TensorWriter,
    /// The file of the parity updates.
    pub(crate) update: Vec<u8>,
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

impl Trained {
    /// Prints the measurement, and writes the files where there is a folder for them.
    pub(crate) fn tell(self, arguments: &Arguments, case: &Case) -> Result<(), Failure> {
        if let Some(output) = &arguments.output {
            let folder = files::case_folder(output, &case.id)?;
            let episodes: Vec<EpisodeRecord> = self.episodes.iter().map(EpisodeRecord::from).collect();
            let episodes = serde_json::to_vec(&episodes).expect("episodes are numbers");
            files::write(&folder.join("episodes.json"), &episodes)?;
            files::write(&folder.join("weights.safetensors"), &self.weights.into_bytes())?;
            files::write(&folder.join("trace.safetensors"), &self.trace.into_bytes())?;
            files::write(&folder.join("update.safetensors"), &self.update)?;
        }
        protocol::measurement(
            &case.id,
            BTreeMap::from([
                ("initialisation_seconds", Figure::One(self.times.initialisation_seconds)),
                ("training_seconds", Figure::One(self.times.training_seconds)),
                ("wall_seconds", Figure::One(self.times.wall_seconds)),
            ]),
            BTreeMap::from([
                ("environment_steps", self.environment_steps),
                ("gradient_steps", self.gradient_steps),
            ]),
        )
    }
}
