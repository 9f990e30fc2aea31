//! Episodes with weights that a training left behind.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use lexopt::prelude::*;
use torchforge_env::{ContinuousEnvironment, DiscreteEnvironment, Environment};
use torchforge_nn::{
    Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Mlp, PpoLossOptions, SacLossOptions, SacNetworks,
    SimdPath, TensorReader,
};
use torchforge_rl::cleanrl::{self, SAC_HIDDEN};
use torchforge_rl::{DqnPolicy, Episode, Policy, PpoPolicy, Returns, SacPolicy, TrainingError, evaluate};

use crate::arguments::{parsed, simd_path, text, usage, widths};
use crate::continuous_ppo::LOG_DEVIATIONS;
use crate::environment::{continuous, discrete};
use crate::protocol::print_line;
use crate::table::{grouped, table};
use crate::{Algorithm, Failure, continuous_ppo, dqn, files, sac};

/// Episodes where nobody says how many.
const EPISODES: NonZeroU64 = NonZeroU64::new(10).unwrap();
/// More than any file of weights has.
const MOST_BYTES: u64 = 64 << 20;

const DETERMINISTIC: &str = "deterministic";
const STOCHASTIC: &str = "stochastic";

/// What is to be played.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The file of final weights, of any algorithm.
    pub weights: PathBuf,
    /// Where.
    pub environment: String,
    /// How many episodes.
    pub episodes: NonZeroU64,
    /// Seed of the environment, and of actions that are drawn.
    pub seed: u64,
    /// DQN's share of random actions.
    pub epsilon: Option<f64>,
    /// Widths of the hidden layers of SAC's networks.
    pub hidden: [usize; 2],
    /// Whether PPO and SAC draw their actions as in training.
    pub stochastic: bool,
    /// The instructions to use instead of the processor's best.
    pub simd: Option<SimdPath>,
}

impl Evaluation {
    /// None when help was asked for.
    pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        let (mut weights, mut environment) = (None, None);
        let (mut episodes, mut seed, mut epsilon) = (EPISODES, 1, None);
        let (mut hidden, mut stochastic, mut simd) = (SAC_HIDDEN, false, None);
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("weights") => weights = Some(parser.value().map_err(usage)?.into()),
                Long("environment") => environment = Some(text(&mut parser)?),
                Long("episodes") => episodes = parsed(&mut parser)?,
                Long("seed") => seed = parsed(&mut parser)?,
                Long("epsilon") => epsilon = Some(probability(&mut parser)?),
                Long("hidden") => hidden = widths(&mut parser)?,
                Long("stochastic") => stochastic = true,
                Long("simd") => simd = Some(simd_path(&mut parser)?),
                other => return Err(usage(other.unexpected())),
            }
        }
        let missing = |what: &str| Failure::Usage(format!("nothing to evaluate is given; give {what}"));
        let weights = weights.ok_or_else(|| missing("--weights FILE"))?;
        let environment = environment.ok_or_else(|| missing("--environment ID"))?;
        Ok(Some(Self { weights, environment, episodes, seed, epsilon, hidden, stochastic, simd }))
    }
}

fn probability(parser: &mut lexopt::Parser) -> Result<f64, Failure> {
    let found: f64 = parsed(parser)?;
    if (0.0..=1.0).contains(&found) {
        return Ok(found);
    }
    Err(Failure::Usage(format!("--epsilon is {found} and is a probability; give a number from 0 to 1")))
}

/// Episodes, how they were played, and whose weights they were played with.
struct Played {
    episodes: Vec<Episode>,
    policy: String,
    algorithm: Algorithm,
}

/// Plays the episodes and prints a Markdown table.
pub(crate) fn run(asked: &Evaluation) -> Result<(), Failure> {
    let Played { episodes, policy, algorithm } = play(asked)?;
    let Returns { mean, deviation } = Returns::of(&episodes);
    let deviation = deviation.map_or("of one episode alone".into(), |deviation| format!("{deviation:.2}"));
    let steps = episodes.iter().map(|episode| episode.length).sum::<u64>();
    let rows = [
        ("environment", asked.environment.clone()),
        ("policy", policy),
        ("seed", asked.seed.to_string()),
        ("episodes", grouped(episodes.len() as u64)),
        ("environment steps", grouped(steps)),
        ("return: mean ± std", format!("{mean:.2} ± {deviation}")),
    ];
    print_line(&table(&algorithm.name().to_uppercase(), &rows))
}

/// The returns of so many episodes of a seed, greedily or with the likeliest actions.
pub(crate) fn greedy_returns(
    weights: &Path,
    environment: &str,
    hidden: [usize; 2],
    episodes: NonZeroU64,
    seed: u64,
) -> Result<Vec<f64>, Failure> {
    let (weights, environment) = (weights.to_owned(), environment.to_owned());
    let (epsilon, stochastic, simd) = (None, false, None);
    let played =
        play(&Evaluation { weights, environment, episodes, seed, epsilon, hidden, stochastic, simd })?;
    Ok(played.episodes.iter().map(|episode| episode.total_reward).collect())
}

fn play(asked: &Evaluation) -> Result<Played, Failure> {
    let unfit = |reason: &dyn std::fmt::Display| {
        Failure::Work(format!(
            "{} cannot be evaluated on {}: {reason}; give the weights.safetensors of a training there",
            asked.weights.display(),
            asked.environment
        ))
    };
    let bytes = files::read_up_to(&asked.weights, MOST_BYTES)?;
    let given = TensorReader::new(&bytes).map_err(|error| unfit(&error))?;
    let algorithm = algorithm(&given).ok_or_else(|| unfit(&"it holds no networks of dqn, ppo or sac"))?;
    check(asked, algorithm)?;
    let (episodes, policy) = match algorithm {
        Algorithm::Dqn => asked.dqn(discrete(&asked.environment).map_err(Failure::Usage)?, &given),
        Algorithm::Ppo if given.contains(LOG_DEVIATIONS) => {
            asked.continuous_ppo(continuous(&asked.environment).map_err(Failure::Usage)?, &given)
        }
        Algorithm::Ppo => asked.ppo(discrete(&asked.environment).map_err(Failure::Usage)?, &given),
        Algorithm::Sac => asked.sac(continuous(&asked.environment).map_err(Failure::Usage)?, &given),
    }
    .map_err(|error| unfit(&error))?;
    Ok(Played { episodes, policy, algorithm })
}

/// Whose weights these are, by their names.
fn algorithm(given: &TensorReader<'_>) -> Option<Algorithm> {
    [
        ("actor.fc1.weight", Algorithm::Sac),
        ("actor.0.weight", Algorithm::Ppo),
        (LOG_DEVIATIONS, Algorithm::Ppo),
        ("0.weight", Algorithm::Dqn),
    ]
    .into_iter()
    .find_map(|(name, algorithm)| given.contains(name).then_some(algorithm))
}

/// Each way of acting belongs to some algorithms.
fn check(asked: &Evaluation, algorithm: Algorithm) -> Result<(), Failure> {
    let dqn = algorithm == Algorithm::Dqn;
    let (option, instead) = match (dqn, asked.epsilon, asked.stochastic) {
        (true, _, true) => ("--stochastic", "--epsilon P"),
        (false, Some(_), _) => ("--epsilon", "--stochastic"),
        _ => return Ok(()),
    };
    let name = algorithm.name();
    Err(Failure::Usage(format!(
        "these are weights of {name}, which has no {option}; give {instead} or nothing"
    )))
}

/// Episodes, and how they were played.
type Episodes = Result<(Vec<Episode>, String), TrainingError>;

impl Evaluation {
    fn dqn(&self, environment: DiscreteEnvironment, given: &TensorReader<'_>) -> Episodes {
        let network = Mlp::read(&dqn::layers(&environment), Activation::Relu, "", given)?;
        let (gamma, adam) = (cleanrl::DQN_GAMMA, AdamOptions::default());
        let network =
            DenseDqn::from_networks(network.clone(), network, 1, gamma, adam)?.on_path(self.path())?;
        let epsilon = self.epsilon.unwrap_or(0.0);
        let how = if epsilon > 0.0 { format!("greedy, {epsilon} random") } else { "greedy".into() };
        self.play(environment, DqnPolicy::new(network, epsilon, self.seed)?, &how)
    }

    fn ppo(&self, environment: DiscreteEnvironment, given: &TensorReader<'_>) -> Episodes {
        let network = |layers: [usize; 4], name| Mlp::read(&layers, Activation::Tanh, name, given);
        let actions = environment.action_space().count as usize;
        let [actor, critic] = cleanrl::ppo_sizes(environment.observation_len(), actions);
        let (actor, critic) = (network(actor, "actor.")?, network(critic, "critic.")?);
        let (loss, adam) = (PpoLossOptions::default(), AdamOptions::default());
        // Nothing is learnt, but of less than two rows no update could be.
        let networks = DensePpo::new(actor, critic, 1, 2, loss, adam)?.on_path(self.path())?;
        let policy = PpoPolicy::deterministic(networks)?;
        if self.stochastic {
            self.play(environment, policy.stochastic(self.seed), STOCHASTIC)
        } else {
            self.play(environment, policy, DETERMINISTIC)
        }
    }

    fn continuous_ppo(&self, environment: ContinuousEnvironment, given: &TensorReader<'_>) -> Episodes {
        let policy = continuous_ppo::policy(&environment, given, self.path())?;
        if self.stochastic {
            self.play(environment, policy.stochastic(self.seed), STOCHASTIC)
        } else {
            self.play(environment, policy, DETERMINISTIC)
        }
    }

    fn sac(&self, environment: ContinuousEnvironment, given: &TensorReader<'_>) -> Episodes {
        let [actor, critic] = sac::layers(&environment, self.hidden);
        let networks = SacNetworks::read(&actor, &critic, given)?;
        let range = cleanrl::action_range(environment.action_space());
        let networks = DenseSac::new(networks, range, 1, SacLossOptions::default())?.on_path(self.path())?;
        let policy = SacPolicy::deterministic(networks)?;
        if self.stochastic {
            self.play(environment, policy.stochastic(self.seed), STOCHASTIC)
        } else {
            self.play(environment, policy, DETERMINISTIC)
        }
    }

    fn path(&self) -> SimdPath {
        self.simd.unwrap_or_else(SimdPath::detect)
    }

    fn play<E: Environment>(
        &self,
        mut environment: E,
        mut policy: impl Policy<Action = E::Action>,
        how: &str,
    ) -> Episodes {
        let episodes = evaluate(&mut environment, &mut policy, self.episodes.get(), self.seed)?;
        Ok((episodes, how.to_owned()))
    }
}
