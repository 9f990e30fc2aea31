//! What the trainings share: one case in, files and one measurement out, or what a referee asks for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use serde::Serialize;
use torchforge_env::Environment;
use torchforge_nn::{Error, TensorWriter};
use torchforge_referee::{Digest, Figure, Memory, Round, Window, Work};
use torchforge_rl::{Episode, TrainingError, TruncationTrace};

use crate::action_log::{Logged, Recorded, WriteActions};
use crate::metrics::Metric;
use crate::parity::Parity;
use crate::protocol::{self, Progress};
use crate::{Arguments, Case, Failure, conversation, files};

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

    /// [`advance`](Self::advance), and tells `observe` the figures of what was learnt, always under the same names.
    fn advance_observed(
        &mut self,
        episodes: &mut Vec<Episode>,
        observe: &mut dyn FnMut(&[Metric]),
    ) -> Result<(), TrainingError>;

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
    /// Of each of its environments, where they are taken down.
    pub(crate) logs: Vec<Rc<dyn WriteActions>>,
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

/// Gives a training its environments. Without a referee they are those that were made to see what fits them; with one
/// they are made in the window, for each training anew.
pub(crate) fn environments<E>(
    arguments: &Arguments,
    first: E,
    mut make: impl FnMut() -> Result<E, Failure>,
) -> impl FnMut() -> Result<E, Failure> {
    let mut first = Some(first).filter(|_| !arguments.referee);
    move || first.take().map_or_else(&mut make, Ok)
}

/// Makes an agent whose one environment is taken down.
pub(crate) fn logged<E, A>(
    environment: E,
    agent: impl FnOnce(Logged<E>) -> Result<Made<A>, Failure>,
) -> Result<Made<A>, Failure>
where
    E: Environment<Action: Recorded<Value: 'static>>,
{
    let environment = Logged::new(environment);
    let logs = vec![environment.log()];
    Ok(Made { logs, ..agent(environment)? })
}

/// The training of a case: how it is made, and what it is compared by.
pub(crate) struct Training<'a, M, P> {
    pub(crate) case: &'a Case,
    /// Makes a fresh agent of a seed, its environment included.
    pub(crate) make: M,
    /// The seed, unless a referee says another.
    pub(crate) seed: u64,
    pub(crate) steps: u64,
    pub(crate) parity: P,
    /// When the process began: at its first line (what the loader does before takes about a millisecond).
    pub(crate) started: Instant,
}

/// Trains as a referee says, or without one at once.
pub(crate) fn run<A, M, P>(arguments: &Arguments, training: Training<'_, M, P>) -> Result<(), Failure>
where
    A: Agent,
    M: FnMut(u64) -> Result<Made<A>, Failure>,
    P: Parity,
{
    let case = training.case;
    let input = arguments.input()?.join(&case.id).join("parity.safetensors");
    let folder = arguments.output.as_ref().map(|output| output.join(&case.id));
    if !arguments.referee {
        return training.by_hand(&input, folder.as_deref());
    }
    training.try_files(&input, folder.as_deref())?;
    let refereed = Refereed { training, input, last: None };
    conversation::answer(arguments, vec![(case.id.clone(), Box::new(refereed))])
}

impl<A, M, P> Training<'_, M, P>
where
    A: Agent,
    M: FnMut(u64) -> Result<Made<A>, Failure>,
    P: Parity,
{
    /// The whole training, timed: its files and its measurement.
    fn by_hand(mut self, input: &Path, folder: Option<&Path>) -> Result<(), Failure> {
        let made = (self.make)(self.seed)?;
        self.try_files(input, folder)?;
        let trained = self.train(made)?;
        let update = self.parity.of(input)?;
        if let Some(folder) = folder {
            trained.write(folder, &self.case.id, &update)?;
        }
        let initialisation = (trained.began - self.started).as_secs_f64();
        protocol::measurement(
            &self.case.id,
            trained.memory,
            trained.metrics(initialisation),
            trained.counts().into(),
        )
    }

    /// A file that cannot be used, or a folder, would make all of the training worth nothing at its end.
    fn try_files(&self, input: &Path, folder: Option<&Path>) -> Result<(), Failure> {
        self.parity.try_file(input)?;
        folder.map_or(Ok(()), files::try_folder)
    }

    fn train(&self, made: Made<A>) -> Result<Trained<A>, Failure> {
        let Made { mut agent, trace, logs } = made;
        let mut episodes = Vec::new();
        let mut progress = Progress::new(self.steps, "environment step");
        let began = Instant::now();
        while agent.environment_steps() < self.steps {
            agent.advance(&mut episodes).map_err(|error| failed(&self.case.id, &error))?;
            if agent.environment_steps().is_multiple_of(A::PROGRESS_STEPS) {
                progress.done(agent.environment_steps())?;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        // Before anything is compared and written, which takes memory too.
        Ok(Trained { agent, episodes, trace, logs, began, seconds, memory: Memory::now() })
    }
}

/// A training that is over.
struct Trained<A> {
    agent: A,
    episodes: Vec<Episode>,
    trace: TensorWriter,
    logs: Vec<Rc<dyn WriteActions>>,
    began: Instant,
    seconds: f64,
    memory: Memory,
}

impl<A: Agent> Trained<A> {
    fn metrics(&self, initialisation_seconds: f64) -> BTreeMap<&'static str, Figure> {
        BTreeMap::from([
            ("initialisation_seconds", Figure::One(initialisation_seconds)),
            ("training_seconds", Figure::One(self.seconds)),
            ("wall_seconds", Figure::One(initialisation_seconds + self.seconds)),
        ])
    }

    fn counts(&self) -> [(&'static str, u64); 2] {
        [
            ("environment_steps", self.agent.environment_steps()),
            ("gradient_steps", self.agent.gradient_steps()),
        ]
    }

    /// Over the final weights, and over what was done to the environments.
    fn digest(&self, name: &str) -> Result<Digest, Failure> {
        let (mut weights, mut digest) = (TensorWriter::new(), Digest::default());
        self.agent.write_weights(&mut weights).map_err(|error| failed(name, &error))?;
        weights.data().for_each(|tensor| digest.bytes(tensor));
        self.actions().data().for_each(|tensor| digest.bytes(tensor));
        Ok(digest)
    }

    /// What was done to the environments.
    fn actions(&self) -> TensorWriter {
        let mut tensors = TensorWriter::new();
        for (index, log) in self.logs.iter().enumerate() {
            log.write(index, &mut tensors);
        }
        tensors
    }

    fn write(&self, folder: &Path, name: &str, update: &[u8]) -> Result<(), Failure> {
        write(folder, name, &self.agent, &self.episodes, self.trace.clone())?;
        files::write(&folder.join("actions.safetensors"), &self.actions().into_bytes())?;
        files::write(&folder.join("update.safetensors"), update)
    }
}

/// A training that a referee leads, and what the last window left.
struct Refereed<'a, A, M, P> {
    training: Training<'a, M, P>,
    input: PathBuf,
    last: Option<Trained<A>>,
}

impl<A, M, P> Refereed<'_, A, M, P>
where
    A: Agent,
    M: FnMut(u64) -> Result<Made<A>, Failure>,
    P: Parity,
{
    /// Trains anew, after what the last training left is gone.
    fn train(&mut self, seed: u64) -> Result<&Trained<A>, Failure> {
        self.last = None;
        let made = (self.training.make)(seed)?;
        Ok(self.last.insert(self.training.train(made)?))
    }
}

impl<A, M, P> Work for Refereed<'_, A, M, P>
where
    A: Agent,
    M: FnMut(u64) -> Result<Made<A>, Failure>,
    P: Parity,
{
    fn round(&mut self, window: &Window) -> Result<Round, torchforge_referee::Error> {
        match window.repetitions {
            0 => return Ok(Round::empty()),
            1 => {}
            more => return Err(torchforge_referee::Error::Repetitions(more)),
        }
        let before = window.ready - self.training.started;
        let name = &self.training.case.id;
        let trained = self.train(window.seed.unwrap_or(self.training.seed))?;
        Ok(Round {
            metrics: trained.metrics((before + (trained.began - window.heard)).as_secs_f64()),
            counts: trained.counts().into(),
            digests: vec![trained.digest(name)?],
            memory: trained.memory,
            timed_seconds: trained.seconds,
        })
    }

    /// Of the last training, whatever its number: the referee asks before it opens the next window.
    fn outputs(&mut self, _: u64, _: u64, folder: &Path) -> Result<(), torchforge_referee::Error> {
        if self.last.is_none() {
            self.train(self.training.seed)?;
        }
        let update = self.training.parity.of(&self.input)?;
        let trained = self.last.as_ref().expect("it was trained just now, or before");
        Ok(trained.write(folder, &self.training.case.id, &update)?)
    }
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
