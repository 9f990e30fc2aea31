//! A training's environments played again from its log, and its final weights played anew: for a referee.

use std::num::NonZeroU64;
use std::path::PathBuf;

use lexopt::prelude::*;
use serde::Serialize;
use torchforge_env::{ActionSpace, AnyEnvironment, Environment, Error, Step, ids, make};
use torchforge_nn::TensorReader;
use torchforge_rl::Episode;
use torchforge_rl::cleanrl::SAC_HIDDEN;

use crate::action_log::NO_SEED;
use crate::arguments::{parsed, text, usage, widths};
use crate::evaluation::greedy_returns;
use crate::protocol::print_line;
use crate::{Failure, files};

/// More than any log of a training has.
const MOST_BYTES: u64 = 256 << 20;

/// What is to be played again.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The log: `actions.safetensors` of a training.
    pub actions: PathBuf,
    /// In which environment.
    pub environment: String,
    /// At most so many steps of all environments together.
    pub most_steps: u64,
    /// The final weights to play greedily, and how many episodes of which seed.
    pub weights: Option<PathBuf>,
    /// Widths of the hidden layers of SAC's networks.
    pub hidden: [usize; 2],
    /// Episodes with the final weights.
    pub episodes: NonZeroU64,
    /// The seed of those episodes.
    pub seed: u64,
}

impl Replay {
    /// None when help was asked for.
    pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        let (mut actions, mut environment, mut most_steps, mut weights) = (None, None, None, None);
        let (mut hidden, mut episodes, mut seed) = (SAC_HIDDEN, NonZeroU64::MIN, 1);
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("actions") => actions = Some(parser.value().map_err(usage)?.into()),
                Long("environment") => environment = Some(text(&mut parser)?),
                Long("most-steps") => most_steps = Some(parsed(&mut parser)?),
                Long("weights") => weights = Some(parser.value().map_err(usage)?.into()),
                Long("hidden") => hidden = widths(&mut parser)?,
                Long("episodes") => episodes = parsed(&mut parser)?,
                Long("seed") => seed = parsed(&mut parser)?,
                other => return Err(usage(other.unexpected())),
            }
        }
        let missing = |what: &str| Failure::Usage(format!("nothing to replay is given; give {what}"));
        let actions = actions.ok_or_else(|| missing("--actions FILE"))?;
        let environment = environment.ok_or_else(|| missing("--environment ID"))?;
        let most_steps = most_steps.ok_or_else(|| missing("--most-steps N"))?;
        Ok(Some(Self { actions, environment, most_steps, weights, hidden, episodes, seed }))
    }
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
struct Replayed {
    /// Steps of all environments together.
    steps: u64,
    /// The seeded resets of each environment: how many of its steps came before, and the seed.
    seeds: Vec<Vec<(usize, i64)>>,
    /// Step of all environments together, length and return of every finished episode, in the order of their steps.
    episodes: Vec<(u64, u64, f64)>,
    /// The returns of the final weights' episodes; absent where no weights were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    greedy: Option<Vec<f64>>,
}

/// Plays everything again and prints one line of JSON.
pub(crate) fn run(asked: &Replay) -> Result<(), Failure> {
    let bytes = files::read_up_to(&asked.actions, MOST_BYTES)?;
    let mut replayed = TensorReader::new(&bytes)
        .map_err(|error| error.to_string())
        .and_then(|log| asked.replay(&log))
        .map_err(|reason| {
            Failure::Work(format!("{} cannot be replayed: {reason}", asked.actions.display()))
        })?;
    if let Some(weights) = &asked.weights {
        let (environment, hidden) = (&asked.environment, asked.hidden);
        replayed.greedy = Some(greedy_returns(weights, environment, hidden, asked.episodes, asked.seed)?);
    }
    print_line(&serde_json::to_string(&replayed).expect("numbers are valid JSON"))
}

impl Replay {
    fn replay(&self, log: &TensorReader<'_>) -> Result<Replayed, String> {
        let mut replayed = Replayed::default();
        let count = (0..).take_while(|index| log.contains(&format!("{index}.actions"))).count();
        for index in 0..count {
            let resets = Resets::read(log, index)?;
            let name = format!("{index}.actions");
            let steps = log.shape(&name).map_err(text_of)?.first().copied().unwrap_or(0);
            replayed.steps += steps as u64;
            if replayed.steps > self.most_steps {
                return Err(format!("it has more than {} steps", self.most_steps));
            }
            let episodes = match make(&self.environment) {
                Some(AnyEnvironment::Discrete(mut environment)) => {
                    let actions = log.values::<u8>(&name, &[steps]).map_err(text_of)?;
                    resets.play(&mut environment, steps, |environment, step, observation| {
                        environment.step(&u32::from(actions[step]), observation)
                    })
                }
                Some(AnyEnvironment::Continuous(mut environment)) => {
                    let width = environment.action_space().width();
                    let actions = log.values::<f32>(&name, &[steps, width]).map_err(text_of)?;
                    resets.play(&mut environment, steps, |environment, step, observation| {
                        environment.step(&actions[step * width..(step + 1) * width], observation)
                    })
                }
                None => {
                    let known = ids().collect::<Vec<_>>().join(", ");
                    Err(format!("there is no environment {:?}; use one of {known}", self.environment))
                }
            };
            let episodes = episodes.map_err(|reason| format!("environment {index}: {reason}"))?;
            replayed.episodes.extend(episodes.into_iter().map(|episode| {
                let step = episode.step * count as u64 + index as u64;
                (step, episode.length, episode.total_reward)
            }));
            replayed.seeds.push(resets.seeded().collect());
        }
        replayed.episodes.sort_by_key(|&(step, ..)| step);
        Ok(replayed)
    }
}

/// The resets of one environment.
struct Resets {
    /// How many steps came before each.
    steps: Vec<i64>,
    /// The seed of each.
    seeds: Vec<i64>,
}

impl Resets {
    fn read(log: &TensorReader<'_>, index: usize) -> Result<Self, String> {
        let name = format!("{index}.resets");
        let shape = log.shape(&name).map_err(text_of)?;
        let steps = log.values(&name, &shape).map_err(text_of)?;
        let seeds = log.values(&format!("{index}.seeds"), &shape).map_err(text_of)?;
        Ok(Self { steps, seeds })
    }

    /// Those that have a seed.
    fn seeded(&self) -> impl Iterator<Item = (usize, i64)> {
        let resets = self.steps.iter().zip(&self.seeds).filter(|&(_, &seed)| seed != NO_SEED);
        resets.map(|(&step, &seed)| (step as usize, seed))
    }

    /// Does it all again; the episodes that ended, by the steps of this environment alone.
    fn play<E: Environment>(
        &self,
        environment: &mut E,
        steps: usize,
        mut act: impl FnMut(&mut E, usize, &mut [f32]) -> Result<Step, Error>,
    ) -> Result<Vec<Episode>, String> {
        let mut observation = vec![0.0; environment.observation_len()];
        let mut resets = self.steps.iter().zip(&self.seeds).peekable();
        // None outside of an episode.
        let (mut episode, mut ended) = (None, Vec::new());
        for step in 0..=steps {
            while let Some((_, &seed)) = resets.next_if(|&(&at, _)| at == step as i64) {
                let seed = (seed != NO_SEED).then_some(seed as u64);
                environment.reset(seed, &mut observation).map_err(text_of)?;
                episode = Some((0, 0.0));
            }
            if step == steps {
                break;
            }
            let Some((length, total)) = episode else {
                return Err(format!("step {step} lies outside of an episode"));
            };
            let seen = act(environment, step, &mut observation).map_err(text_of)?;
            let (length, total_reward) = (length + 1, total + seen.reward);
            episode = (!seen.done()).then_some((length, total_reward));
            if seen.done() {
                ended.push(Episode { step: step as u64, length, total_reward });
            }
        }
        match resets.next() {
            Some((at, _)) => Err(format!("a reset before step {at} is out of order")),
            None => Ok(ended),
        }
    }
}

fn text_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}
