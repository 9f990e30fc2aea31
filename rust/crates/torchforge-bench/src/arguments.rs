//! The command line that every implementation of the runner accepts.

use std::env;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use lexopt::prelude::*;
use serde::de::DeserializeOwned;
use torchforge_nn::{MOST_THREADS, SimdPath};

use crate::backend::{Kernels, Library};
use crate::sac::WIDEST;
use crate::{Algorithm, Backend, Evaluation, Failure, Replay, Standalone};

pub(crate) const USAGE: &str = "\
Usage: torchforge gae|grpo|token-kl|buffer-push|buffer-sample|pipeline|env-step|update|act|nn-act|dqn|ppo|sac
                          --case ID --parameters JSON [--case ID --parameters JSON ...] --seed N
                          --input DIR [--output DIR] [--simd avx512|avx2|neon|portable] [--threads N]
                          [--backend candle|burn] [--referee]
       torchforge dqn|ppo|sac [--environment ID] [--seed N] [--steps N] [--output DIR] [--simd ...] [--threads N]
                          [--metrics FILE.csv] [--tensorboard FOLDER]
                          [--checkpoint FILE [--checkpoint-every STEPS]] [--resume FILE]
                          dqn: [--tau SHARE] [--n-step N] [--prioritised] [--alpha A] [--beta B]
                          sac: [--tau SHARE] [--no-autotune [--alpha A]] [--hidden N,N] [--batch N]
                          ppo: [--gamma G] [--learning-rate RATE] [--target-kl D] [--no-norm-adv] [--no-clip-vloss]
                               [--no-anneal-lr]
       torchforge evaluate --weights FILE --environment ID [--episodes N] [--seed N] [--epsilon P] [--stochastic]
                          [--hidden N,N] [--simd ...]
       torchforge replay --actions FILE --environment ID --most-steps N [--weights FILE [--episodes N] [--seed N]
                          [--hidden N,N]]
       torchforge oracle dqn|ppo|sac PARITY.safetensors UPDATE.safetensors
       torchforge version | sleep

Without a case dqn, ppo and sac train with nothing else given (dqn and ppo on CartPole-v1, sac on Pendulum-v1) and print
a table. Where actions are continuous, as Pendulum-v1's are, ppo is CleanRL's ppo_continuous_action.
--checkpoint writes the whole state every so many steps (a tenth of all), but not at the end; --resume goes on
from there, in a training of the same options, and ends with the bytes of one that was never stopped.
--metrics writes losses, values and what else was found, a line for each gradient step or iteration of ppo.
--tensorboard adds a file of the same to a folder, where this program was compiled with it.
--tau, --target-kl and the like are CleanRL's options of these names; without them each has CleanRL's value.
--hidden gives the two hidden layers of sac's networks other widths than 256,256.
--n-step has dqn learn from returns over so many steps. --prioritised draws its transitions by their errors to the power
of --alpha, 0.6; weights correct the draw to the power of --beta, which rises from 0.4 to 1. Either of the two implies it.
evaluate plays episodes with final weights of any of the three: the greedy or likeliest action, unless --epsilon gives
dqn a share of random actions, or --stochastic has ppo and sac draw theirs as in training.
replay steps the environments again as a training's actions.safetensors says, and prints the episodes as JSON; with
weights it also plays episodes of them as evaluate does.
--simd takes a training through these instructions instead of the processor's best; the bytes stay the same.
FORGE_BENCH_SIMD is the best that is chosen without it.
--threads gives a training so many threads (16 at most), or else those that FORGE_BENCH_THREADS allows, or else one; the
bytes stay the same. More than two serve large networks of sac alone, and more than there are idle processors make it slower.
--referee answers forge-bench's referee on stdin (docs/protocol.md) and times nothing by itself.
--backend has another library compute the networks, where this program was compiled with it.
oracle makes the first parity update of such an input in double precision, without any kernel, where this program was
compiled with it.

Prints JSON Lines on stdout: progress events, then one measurement for each case.
Reads DIR/<case>/<file> of --input and writes DIR/<case>/<file> of --output.";

/// What was asked for.
#[derive(Debug)]
pub enum Command {
    /// How the command is used.
    Help,
    /// Versions as JSON.
    Version,
    /// Generalised advantage estimation.
    Gae(Arguments),
    /// Advantages within groups.
    Grpo(Arguments),
    /// Divergences of tokens.
    TokenKl(Arguments),
    /// DQN training.
    Dqn(Arguments),
    /// PPO training.
    Ppo(Arguments),
    /// SAC training.
    Sac(Arguments),
    /// Transitions into a replay buffer.
    BufferPush(Arguments),
    /// Minibatches out of a replay buffer.
    BufferSample(Arguments),
    /// What the data pipeline does while it allocates.
    Pipeline(Arguments),
    /// Steps of environments.
    EnvStep(Arguments),
    /// Single updates.
    Update(Arguments),
    /// Values of single observations.
    Act(Arguments),
    /// What networks say of observations.
    NnAct(Arguments),
    /// A training with nothing given.
    Standalone(Box<Standalone>),
    /// Episodes with weights that were learnt.
    Evaluate(Evaluation),
    /// A training's environments, from its log.
    Replay(Replay),
    /// One update in `f64`, from one file into another.
    Oracle {
        /// Of this algorithm.
        of: Algorithm,
        /// A benchmark's `parity.safetensors`.
        input: PathBuf,
        /// The file to be written.
        output: PathBuf,
    },
    /// Nothing, until the process is ended: what the runner's keeper executes where an image has no other program.
    Sleep,
}

/// The arguments of a benchmark.
#[derive(Debug, Default)]
pub struct Arguments {
    /// What to run, at least one.
    pub cases: Vec<Case>,
    /// Seed of the order of an operation's cases, or of a training.
    pub seed: u64,
    /// Folder of the input files, one sub-folder a case.
    pub input: Option<PathBuf>,
    /// Folder for the output files, one sub-folder a case; none are written without it.
    pub output: Option<PathBuf>,
    /// The instructions to use instead of the processor's best.
    pub simd: Option<SimdPath>,
    /// Threads of a training, where they are not what the launch's limits allow.
    pub threads: Option<NonZeroUsize>,
    /// Who computes, where it is not our kernels at the processor's best.
    pub backend: Option<Backend>,
    /// Whether a referee leads this process by its stdin.
    pub referee: bool,
}

/// One parameter point of a benchmark.
#[derive(Debug)]
pub struct Case {
    /// Its name, also that of its folders.
    pub id: String,
    /// Its parameters, a JSON object.
    pub parameters: String,
}

impl Case {
    /// Reads the parameters; an unknown or missing key is an error.
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P, Failure> {
        serde_json::from_str(&self.parameters).map_err(|error| self.unusable(&error))
    }

    /// Parameters that are not what they should be.
    pub(crate) fn unusable(&self, error: &serde_json::Error) -> Failure {
        self.fault(&format!("{error}; give the keys of matrix.yaml as one JSON object"))
    }

    /// A fault in the value of a parameter.
    pub(crate) fn fault(&self, what: &str) -> Failure {
        Failure::Usage(format!("--parameters of case {:?} cannot be used: {what}", self.id))
    }
}

impl Command {
    /// Reads the words that follow the program's name. From here on nothing in this process chooses better instructions
    /// than FORGE_BENCH_SIMD or `--simd` by itself: every command passes here.
    pub fn parse(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, Failure> {
        cap_instructions()?;
        let mut parser = lexopt::Parser::from_args(words);
        let command = match parser.next().map_err(usage)? {
            None => return Err(Failure::Usage("no benchmark is named; try `torchforge --help`".into())),
            Some(Long("help") | Short('h')) => return Ok(Self::Help),
            Some(Long("version") | Short('V')) => return alone(parser, Self::Version),
            Some(Value(name)) => name.string().map_err(usage)?,
            Some(other) => return Err(usage(other.unexpected())),
        };
        match command.as_str() {
            "help" => alone(parser, Self::Help),
            "version" => alone(parser, Self::Version),
            "sleep" => alone(parser, Self::Sleep),
            "oracle" => oracle(parser),
            "gae" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Gae)),
            "grpo" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Grpo)),
            "token-kl" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::TokenKl)),
            "buffer-push" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::BufferPush)),
            "buffer-sample" => {
                Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::BufferSample))
            }
            "pipeline" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Pipeline)),
            "update" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Update)),
            "env-step" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::EnvStep)),
            "act" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Act)),
            "nn-act" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::NnAct)),
            "dqn" => Self::training(parser, Algorithm::Dqn, Self::Dqn),
            "ppo" => Self::training(parser, Algorithm::Ppo, Self::Ppo),
            "sac" => Self::training(parser, Algorithm::Sac, Self::Sac),
            "evaluate" => Evaluation::parse(parser).map(|found| found.map_or(Self::Help, Self::Evaluate)),
            "replay" => Replay::parse(parser).map(|found| found.map_or(Self::Help, Self::Replay)),
            _ => Err(Failure::Usage(format!(
                "there is no benchmark {command:?}; the benchmarks are gae, grpo, token-kl, buffer-push, buffer-sample, pipeline, env-step, update, act, nn-act, dqn, ppo and sac, see `torchforge --help`"
            ))),
        }
    }

    /// With a case or with nothing given.
    fn training(
        mut parser: lexopt::Parser,
        algorithm: Algorithm,
        of_cases: fn(Arguments) -> Self,
    ) -> Result<Self, Failure> {
        let words: Vec<OsString> = parser.raw_args().map_err(usage)?.collect();
        let parser = lexopt::Parser::from_args(&words);
        if names_a_case(&words) {
            Arguments::parse(parser).map(|found| found.map_or(Self::Help, of_cases))
        } else {
            Standalone::parse(parser, algorithm)
                .map(|found| found.map_or(Self::Help, |asked| Self::Standalone(Box::new(asked))))
        }
    }
}

impl Arguments {
    /// None when help was asked for.
    fn parse(mut parser: lexopt::Parser) -> Result<Option<Self>, Failure> {
        let mut arguments = Self::default();
        let (mut pending, mut seed) = (None::<String>, None);
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Long("help") | Short('h') => return Ok(None),
                Long("case") => {
                    let id = text(&mut parser)?;
                    check_id(&id)?;
                    if arguments.cases.iter().any(|case| case.id == id) {
                        return Err(Failure::Usage(format!("case {id:?} is given twice; give it once")));
                    }
                    if let Some(id) = pending.replace(id) {
                        return Err(without_parameters(&id));
                    }
                }
                Long("parameters") => {
                    let parameters = text(&mut parser)?;
                    let id = pending.take().ok_or_else(|| {
                        Failure::Usage("--parameters belongs to no case; put --case ID before each".into())
                    })?;
                    arguments.cases.push(Case { id, parameters });
                }
                Long("referee") => arguments.referee = true,
                Long("seed") => seed = Some(parsed(&mut parser)?),
                Long("input") => arguments.input = Some(parser.value().map_err(usage)?.into()),
                Long("simd") => arguments.simd = Some(simd_path(&mut parser)?),
                Long("threads") => arguments.threads = Some(threads(&mut parser)?),
                Long("backend") => arguments.backend = Some(backend(&mut parser)?),
                Long("output") => arguments.output = Some(parser.value().map_err(usage)?.into()),
                Long(
                    alone @ ("environment" | "steps" | "metrics" | "checkpoint" | "checkpoint-every"
                    | "resume"),
                ) => {
                    return Err(Failure::Usage(format!(
                        "--{alone} is of a training with no case, which is not measured; leave --case out"
                    )));
                }
                other => return Err(usage(other.unexpected())),
            }
        }
        if let Some(id) = pending {
            return Err(without_parameters(&id));
        }
        if arguments.cases.is_empty() {
            return Err(Failure::Usage("no case is given; give --case ID --parameters JSON".into()));
        }
        if arguments.backend.is_some() && (arguments.simd.is_some() || arguments.threads.is_some()) {
            return Err(Failure::Usage(
                "--simd and --threads are of our own kernels; give either those or --backend".into(),
            ));
        }
        arguments.seed = seed.ok_or_else(|| Failure::Usage("no seed is given; give --seed N".into()))?;
        Ok(Some(arguments))
    }

    /// Who computes.
    pub(crate) fn backend(&self) -> Result<Backend, Failure> {
        self.backend.map_or_else(|| self.kernels().map(Backend::Own), Ok)
    }

    /// How our own kernels compute.
    pub(crate) fn kernels(&self) -> Result<Kernels, Failure> {
        kernels(self.simd, self.threads)
    }

    /// An error where anything was said of how networks are computed: `benchmark` has none.
    pub(crate) fn refuse_kernels(&self, benchmark: &str) -> Result<(), Failure> {
        if self.simd.is_none() && self.threads.is_none() && self.backend.is_none() {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{benchmark} computes no network; leave --simd, --threads and --backend out"
        )))
    }

    /// The folder of the inputs, which this command cannot make itself.
    pub(crate) fn input(&self) -> Result<&PathBuf, Failure> {
        self.input.as_ref().ok_or_else(|| {
            Failure::Usage(
                "no inputs are given; make them with `python3 -m baselines.inputs` and give --input DIR"
                    .into(),
            )
        })
    }
}

/// The command, if no word follows it: what is ignored would be taken for obeyed.
fn alone(mut parser: lexopt::Parser, command: Command) -> Result<Command, Failure> {
    match parser.next().map_err(usage)? {
        None => Ok(command),
        Some(Long("help") | Short('h')) => Ok(Command::Help),
        Some(other) => Err(usage(other.unexpected())),
    }
}

fn oracle(mut parser: lexopt::Parser) -> Result<Command, Failure> {
    let mut words = Vec::new();
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Help),
            Value(word) => words.push(word),
            other => return Err(usage(other.unexpected())),
        }
    }
    let [of, input, output] = <[OsString; 3]>::try_from(words).map_err(|words| {
        let count = words.len();
        Failure::Usage(format!(
            "oracle takes an algorithm and two files, and {count} words are given; see `torchforge --help`"
        ))
    })?;
    let of = match of.to_str() {
        Some("dqn") => Algorithm::Dqn,
        Some("ppo") => Algorithm::Ppo,
        Some("sac") => Algorithm::Sac,
        _ => return Err(Failure::Usage(format!("there is no oracle of {of:?}; give dqn, ppo or sac"))),
    };
    Ok(Command::Oracle { of, input: input.into(), output: output.into() })
}

fn names_a_case(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "--case" || word.as_encoded_bytes().starts_with(b"--case="))
}

/// A case's name becomes a folder's: the schema's pattern keeps it inside.
fn check_id(id: &str) -> Result<(), Failure> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"=._-".contains(&byte);
    if id.len() <= 64
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && id.bytes().all(allowed)
    {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{id:?} is no case: use a letter or digit, then at most 63 letters, digits and = . _ -"
    )))
}

pub(crate) fn text(parser: &mut lexopt::Parser) -> Result<String, Failure> {
    parser.value().and_then(ValueExt::string).map_err(usage)
}

/// The instructions asked for. Better ones are used nowhere in the process from here on, not by initialisations either,
/// which choose by themselves.
pub(crate) fn simd_path(parser: &mut lexopt::Parser) -> Result<SimdPath, Failure> {
    let path = text(parser)?.parse::<SimdPath>().and_then(|path| path.cap().map(|()| path));
    path.map_err(|error| Failure::Usage(error.to_string()))
}

/// Threads, if so many can be used.
pub(crate) fn threads(parser: &mut lexopt::Parser) -> Result<NonZeroUsize, Failure> {
    let found: NonZeroUsize = parsed(parser)?;
    if found.get() <= MOST_THREADS {
        return Ok(found);
    }
    Err(Failure::Usage(format!(
        "--threads is {found}, and no training divides its work among so many; give 1 to {MOST_THREADS}"
    )))
}

/// What was asked for; else the processor's best instructions, and as many threads as the launch's limits allow.
pub(crate) fn kernels(simd: Option<SimdPath>, threads: Option<NonZeroUsize>) -> Result<Kernels, Failure> {
    let threads = threads.map_or_else(allowed_threads, Ok)?.get();
    Ok(Kernels { path: simd.unwrap_or_else(SimdPath::detect), threads })
}

/// Keeps this process to the instructions that the launch's limits allow: FORGE_BENCH_SIMD, the processor's best where it
/// is not set.
///
/// # Errors
///
/// [`Failure::Usage`] where the variable names no path, or one that this processor lacks.
pub fn cap_instructions() -> Result<(), Failure> {
    let Some(text) = env::var_os("FORGE_BENCH_SIMD") else { return Ok(()) };
    let capped = text.to_string_lossy().parse::<SimdPath>().and_then(SimdPath::cap);
    capped.map_err(|error| Failure::Usage(format!("FORGE_BENCH_SIMD cannot be used: {error}")))
}

/// The threads that the launch's limits allow: FORGE_BENCH_THREADS, 1 where it is not set.
fn allowed_threads() -> Result<NonZeroUsize, Failure> {
    let Some(text) = env::var_os("FORGE_BENCH_THREADS") else { return Ok(NonZeroUsize::MIN) };
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Failure::Usage(format!(
            "FORGE_BENCH_THREADS is {text:?}; set it to a whole number from 1, or leave it unset"
        ))
    })
}

fn backend(parser: &mut lexopt::Parser) -> Result<Backend, Failure> {
    if env::var_os("FORGE_BENCH_SIMD").is_some() {
        return Err(Failure::Usage(
            "FORGE_BENCH_SIMD caps our own kernels alone; leave it unset, or --backend out".into(),
        ));
    }
    text(parser)?.parse().and_then(Library::backend).map_err(Failure::Usage)
}

/// Widths of two hidden layers.
pub(crate) fn widths(parser: &mut lexopt::Parser) -> Result<[usize; 2], Failure> {
    let given = text(parser)?;
    let width = |part: &str| part.parse().ok().filter(|width| (1..=WIDEST).contains(width));
    given.split_once(',').and_then(|(one, other)| Some([width(one)?, width(other)?])).ok_or_else(|| {
        Failure::Usage(format!("--hidden is {given:?}; give two numbers from 1 to {WIDEST}, as 256,256"))
    })
}

/// A number, or another value that is read from text.
pub(crate) fn parsed<T>(parser: &mut lexopt::Parser) -> Result<T, Failure>
where
    T: std::str::FromStr,
    T::Err: Into<Box<dyn std::error::Error + Send + Sync + 'static>>,
{
    parser.value().and_then(|value| value.parse()).map_err(usage)
}

fn without_parameters(id: &str) -> Failure {
    Failure::Usage(format!("case {id:?} has no parameters; put --parameters JSON after it"))
}

pub(crate) fn usage(error: lexopt::Error) -> Failure {
    Failure::Usage(format!("{error}; see `torchforge --help`"))
}
