//! What a training with nothing given may still be told.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use lexopt::prelude::*;
use serde::Deserialize;
use torchforge_nn::SimdPath;

use super::Tuning;
use crate::Failure;
use crate::arguments::{parsed, simd_path, text, threads, usage};

/// Parts of a training, with a checkpoint between two, where nobody says how many steps lie between them.
const PARTS: u64 = 10;

/// An algorithm that trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Deep Q-learning.
    Dqn,
    /// Proximal policy optimisation.
    Ppo,
    /// Soft actor-critic.
    Sac,
}

impl Algorithm {
    /// As the command line has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dqn => "dqn",
            Self::Ppo => "ppo",
            Self::Sac => "sac",
        }
    }

    pub(super) fn environment(self) -> &'static str {
        match self {
            Self::Dqn | Self::Ppo => "CartPole-v1",
            Self::Sac => "Pendulum-v1",
        }
    }

    /// Episodes at the end over which returns are averaged, as matrix.yaml has it.
    pub(super) fn last_episodes(self) -> usize {
        match self {
            Self::Dqn | Self::Ppo => 100,
            Self::Sac => 10,
        }
    }
}

/// What a training with nothing given may still be told.
#[derive(Debug, Clone)]
pub struct Standalone {
    /// Who trains.
    pub algorithm: Algorithm,
    /// What it learns with.
    pub tuning: Tuning,
    /// Where; the algorithm's own environment when absent.
    pub environment: Option<String>,
    /// Seed of the training.
    pub seed: u64,
    /// Environment steps; the algorithm's own number when absent.
    pub steps: Option<NonZeroU64>,
    /// The instructions to use instead of the processor's best.
    pub simd: Option<SimdPath>,
    /// Threads, where they are not what the launch's limits allow.
    pub threads: Option<NonZeroUsize>,
    /// Folder for episodes, final weights and trace; none are written without it.
    pub output: Option<PathBuf>,
    /// The file of figures that the training writes while it learns; none without it.
    pub metrics: Option<PathBuf>,
    /// The folder that it adds a file of the same figures for TensorBoard to; none without it.
    pub tensorboard: Option<PathBuf>,
    /// The file that the training's state is written to on the way.
    pub checkpoint: Option<PathBuf>,
    /// Environment steps from one checkpoint to the next; a tenth of all when absent.
    pub checkpoint_every: Option<NonZeroU64>,
    /// The checkpoint to go on from.
    pub resume: Option<PathBuf>,
}

impl Standalone {
    /// The whole training: the algorithm's own environment and number of steps, seed 1.
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            tuning: Tuning::of(algorithm),
            environment: None,
            seed: 1,
            steps: None,
            simd: None,
            threads: None,
            output: None,
            metrics: None,
            tensorboard: None,
            checkpoint: None,
            checkpoint_every: None,
            resume: None,
        }
    }

    /// None when help was asked for.
    pub(crate) fn parse(mut parser: lexopt::Parser, algorithm: Algorithm) -> Result<Option<Self>, Failure> {
        let mut asked = Self::new(algorithm);
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("environment") => asked.environment = Some(text(&mut parser)?),
                Long("seed") => asked.seed = parsed(&mut parser)?,
                Long("steps") => asked.steps = Some(parsed(&mut parser)?),
                Long("simd") => asked.simd = Some(simd_path(&mut parser)?),
                Long("threads") => asked.threads = Some(threads(&mut parser)?),
                Long("output") => asked.output = Some(parser.value().map_err(usage)?.into()),
                Long("metrics") => asked.metrics = Some(parser.value().map_err(usage)?.into()),
                Long("tensorboard") => asked.tensorboard = Some(parser.value().map_err(usage)?.into()),
                Long("checkpoint") => asked.checkpoint = Some(parser.value().map_err(usage)?.into()),
                Long("checkpoint-every") => asked.checkpoint_every = Some(parsed(&mut parser)?),
                Long("resume") => asked.resume = Some(parser.value().map_err(usage)?.into()),
                Long(of_a_case @ ("parameters" | "input")) => {
                    return Err(Failure::Usage(format!(
                        "no case is given, and --{of_a_case} belongs to one; give --case ID --parameters JSON"
                    )));
                }
                Long(flag) => {
                    let flag = flag.to_owned();
                    if !asked.tuning.obey(&flag, &mut parser)? {
                        return Err(usage(Long(&flag).unexpected()));
                    }
                }
                other => return Err(usage(other.unexpected())),
            }
        }
        asked.tuning = asked.tuning.whole()?;
        if asked.checkpoint_every.is_some() && asked.checkpoint.is_none() {
            return Err(Failure::Usage("--checkpoint-every has no file; give --checkpoint FILE".into()));
        }
        Ok(Some(asked))
    }

    /// Environment steps from one checkpoint to the next in a training of `steps`. One in which none falls due is an
    /// error: whoever names a file counts on it. At the end there is none, because nothing is left to go on with; so one
    /// that is resumed after its last writes none, and is no error, for its command is that which began it. The training stops after whole multiples of `at_once` alone.
    pub(super) fn checkpoint_interval(&self, steps: u64, at_once: u64) -> Result<u64, Failure> {
        let every = self.checkpoint_every.map_or((steps / PARTS).max(1), NonZeroU64::get);
        let first = every.checked_next_multiple_of(at_once).unwrap_or(u64::MAX);
        if self.checkpoint.is_some() && first >= steps {
            return Err(Failure::Usage(format!(
                "--checkpoint would write nothing: its first is due after {first} steps, and the training ends after \
                 {steps}; give more --steps, give --checkpoint-every fewer, or leave --checkpoint out"
            )));
        }
        Ok(every)
    }
}
