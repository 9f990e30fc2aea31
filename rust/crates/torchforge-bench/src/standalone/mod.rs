//! A whole training with nothing given: no case, no inputs, no runner; its result is for people.
//!
//! What `docker run forge-bench:edge dqn` shows. There is no gate here, so no figure of it is ever ranked: a training that
//! is stopped and gone on with has no time that could be compared.

mod options;
mod tuning;

pub use options::{Algorithm, Standalone};
pub use tuning::Tuning;

use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::{Duration, Instant};

use torchforge_env::AnyEnvironment;
use torchforge_nn::{PpoLossOptions, SimdPath, TensorWriter};
use torchforge_rl::cleanrl::{self, PPO_ENVIRONMENTS, SAC_HIDDEN};
use torchforge_rl::{
    Archive, CheckpointError, DqnOptions, Episode, PpoOptions, Returns, SacOptions, State, TrainingError,
    load_checkpoint, save_checkpoint,
};

use crate::arguments::kernels;
use crate::environment::{any, continuous, discrete};
use crate::metrics::{Metric, Metrics};
use crate::protocol::print_line;
use crate::table::{grouped, mebibytes, table};
use crate::training::{self, Agent, Made, failed};
use crate::{Backend, Failure, continuous_ppo, dqn, files, ppo, sac};
use torchforge_referee::Memory;

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Trains and prints a Markdown table.
pub(crate) fn run(asked: &Standalone) -> Result<(), Failure> {
    let environment = asked.environment.as_deref().unwrap_or(asked.algorithm.environment());
    let steps = |own: u64| asked.steps.map_or(own, NonZeroU64::get);
    let kernels = kernels(asked.simd, asked.threads)?;
    let (seed, backend, course) =
        (asked.seed, Backend::Own(kernels), Course { asked, environment, path: kernels.path });
    match asked.tuning {
        Tuning::Dqn(options) => {
            let options = DqnOptions { steps: steps(options.steps), ..options };
            let made = discrete(environment).map_err(Failure::Usage)?;
            let made = dqn::agent(made, options, seed, backend);
            course.train(made, Steps { all: options.steps, at_once: 1 }, format!("{options:?}"))
        }
        Tuning::Ppo(tuning) => match any(environment).map_err(Failure::Usage)? {
            AnyEnvironment::Continuous(one) => {
                let (options, loss) = tuning.over(PpoOptions::continuous(), cleanrl::ppo_continuous_loss());
                let (options, steps) = iterations(options, 1, steps)?;
                let made = continuous_ppo::agent(ppo::vector(vec![one]), options, loss, seed, kernels);
                course.train(made, steps, format!("{options:?} {loss:?}"))
            }
            AnyEnvironment::Discrete(_) => {
                let (options, loss) = tuning.over(PpoOptions::default(), PpoLossOptions::default());
                let (options, steps) = iterations(options, PPO_ENVIRONMENTS, steps)?;
                let made = ppo::environments(environment, PPO_ENVIRONMENTS).map_err(Failure::Usage)?;
                let made = ppo::agent(made, options, loss, seed, backend);
                course.train(made, steps, format!("{options:?} {loss:?}"))
            }
        },
        Tuning::Sac { options, loss, hidden, .. } => {
            let options = SacOptions { steps: steps(options.steps), ..options };
            let made = continuous(environment).map_err(Failure::Usage)?;
            let made = sac::agent(made, hidden, options, loss, seed, backend);
            // Other widths alone are named: checkpoints of CleanRL's fit as before.
            let widths = if hidden == SAC_HIDDEN { String::new() } else { format!(" {hidden:?}") };
            course.train(
                made,
                Steps { all: options.steps, at_once: 1 },
                format!("{options:?} {loss:?}{widths}"),
            )
        }
    }
}

/// Environment steps of a training, and between two moments in which it can stop.
#[derive(Clone, Copy)]
struct Steps {
    all: u64,
    at_once: u64,
}

/// PPO's options with as many iterations as the steps asked for are, in so many environments; its own where none are.
fn iterations(
    options: PpoOptions,
    environments: usize,
    steps: impl Fn(u64) -> u64,
) -> Result<(PpoOptions, Steps), Failure> {
    let rollout = (environments * options.rollout_steps) as u64;
    let asked = steps(options.iterations * rollout);
    let iterations = asked / rollout;
    if iterations == 0 {
        let fault = format!("{asked} steps are no iteration of ppo; give {rollout} or more");
        return Err(Failure::Usage(fault));
    }
    Ok((PpoOptions { iterations, ..options }, Steps { all: iterations * rollout, at_once: rollout }))
}

/// What was asked for, with nothing left open.
struct Course<'a> {
    asked: &'a Standalone,
    environment: &'a str,
    path: SimdPath,
}

/// An agent and the episodes that it has played.
struct Run<A> {
    agent: A,
    episodes: Vec<Episode>,
    steps: u64,
}

impl<A: State> State for Run<A> {
    fn visit(&mut self, archive: &mut Archive) {
        self.agent.visit(archive);
        // No episode is shorter than a step.
        archive.episodes(&mut self.episodes, usize::try_from(self.steps).unwrap_or(usize::MAX));
    }
}

impl Course<'_> {
    fn train<A: Agent + State>(
        &self,
        made: Result<Made<A>, TrainingError>,
        Steps { all: steps, at_once }: Steps,
        options: String,
    ) -> Result<(), Failure> {
        let every = self.asked.checkpoint_interval(steps, at_once)?;
        let failed = |error: TrainingError| failed(self.environment, &error);
        let work = |error: CheckpointError| Failure::Work(error.to_string());
        let training = [
            ("algorithm", self.asked.algorithm.name().to_owned()),
            ("environment", self.environment.to_owned()),
            ("seed", self.asked.seed.to_string()),
            ("options", options),
        ];
        let Made { agent, trace, .. } = made.map_err(failed)?;
        let mut run = Run { agent, episodes: Vec::new(), steps };
        if let Some(path) = &self.asked.resume {
            load_checkpoint(path, &training, &mut run).map_err(work)?;
        }
        self.try_outputs()?;
        let Standalone { metrics, tensorboard, .. } = self.asked;
        let mut metrics = Metrics::create(metrics.as_deref(), tensorboard.as_deref())?;
        let begun = run.agent.environment_steps();
        let next_after = |step: u64| (step / every + 1).saturating_mul(every);
        let mut due = if self.asked.checkpoint.is_some() { next_after(begun) } else { u64::MAX };

        let started = Instant::now();
        let mut told = started;
        while run.agent.environment_steps() < steps {
            match &mut metrics {
                None => run.agent.advance(&mut run.episodes).map_err(failed)?,
                Some(metrics) => {
                    let observe = &mut |found: &[Metric]| metrics.add(found);
                    run.agent.advance_observed(&mut run.episodes, observe).map_err(failed)?;
                    metrics.check()?;
                }
            }
            let done = run.agent.environment_steps();
            if done.is_multiple_of(A::PROGRESS_STEPS) && told.elapsed() >= PROGRESS_INTERVAL {
                told = Instant::now();
                eprintln!("torchforge: {} of {} environment steps", grouped(done), grouped(steps));
            }
            if let Some(path) = self.asked.checkpoint.as_ref().filter(|_| done >= due && done < steps) {
                save_checkpoint(path, &training, &mut run).map_err(work)?;
                due = next_after(done);
            }
        }
        let seconds = started.elapsed().as_secs_f64();

        let written = metrics.map_or(Ok(()), Metrics::finish).and(self.write(&run, trace));
        // Whatever became of the files, what was learnt is told.
        self.print(&run, begun, seconds)?;
        written
    }

    /// Sees that what the training is to leave behind can be written, before its first step.
    fn try_outputs(&self) -> Result<(), Failure> {
        if let Some(path) = &self.asked.checkpoint {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let tried = if path.is_dir() {
                Err(io::ErrorKind::IsADirectory.into())
            } else {
                files::try_writing(folder.unwrap_or(Path::new(".")))
            };
            let refused = |error| CheckpointError::File { action: "write", path: path.clone(), error };
            tried.map_err(|error| Failure::Work(refused(error).to_string()))?;
        }
        self.asked.output.as_deref().map_or(Ok(()), files::try_folder)
    }

    fn write<A: Agent>(&self, run: &Run<A>, trace: TensorWriter) -> Result<(), Failure> {
        match &self.asked.output {
            Some(folder) => training::write(folder, self.environment, &run.agent, &run.episodes, trace),
            None => Ok(()),
        }
    }

    fn print<A: Agent>(&self, run: &Run<A>, begun: u64, seconds: f64) -> Result<(), Failure> {
        let algorithm = self.asked.algorithm;
        let last = algorithm.last_episodes();
        let last_label = format!("mean return of the last {last} episodes");
        let last = &run.episodes[run.episodes.len().saturating_sub(last)..];
        let mean =
            if last.is_empty() { "none ended".into() } else { format!("{:.2}", Returns::of(last).mean) };
        let done = run.agent.environment_steps();
        let mut rows = vec![
            ("environment", self.environment.to_owned()),
            ("seed", self.asked.seed.to_string()),
            ("environment steps", grouped(done)),
            ("gradient steps", grouped(run.agent.gradient_steps())),
            ("instructions", self.path.to_string()),
            ("training", format!("{seconds:.2} s")),
            ("environment steps a second", grouped(((done - begun) as f64 / seconds) as u64)),
            ("episodes", grouped(run.episodes.len() as u64)),
            (&last_label, mean),
            ("peak memory", Memory::now().vmhwm_bytes.map_or("unknown".into(), mebibytes)),
        ];
        if self.asked.resume.is_some() {
            rows.insert(5, ("gone on after", format!("{} environment steps", grouped(begun))));
        }
        print_line(&table(&algorithm.name().to_uppercase(), &rows))
    }
}
