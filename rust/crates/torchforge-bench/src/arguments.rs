//! The command line that every implementation of the runner accepts.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::prelude::*;
use serde::de::DeserializeOwned;
use torchforge_nn::SimdPath;

use crate::Failure;

pub(crate) const USAGE: &str = "\
Usage: torchforge gae|dqn --case ID --parameters JSON [--case ID --parameters JSON ...] --seed N
                          --input DIR [--output DIR] [--simd avx512|avx2|neon|portable]
       torchforge version

--simd takes dqn through these instructions instead of the processor's best; the bytes stay the same.

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
    /// DQN training.
    Dqn(Arguments),
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
        serde_json::from_str(&self.parameters).map_err(|error| {
            Failure::Usage(format!(
                "--parameters of case {:?} cannot be used: {error}; give the keys of matrix.yaml as one JSON object",
                self.id
            ))
        })
    }

    /// A fault in the value of a parameter.
    pub(crate) fn fault(&self, what: &str) -> Failure {
        Failure::Usage(format!("--parameters of case {:?} cannot be used: {what}", self.id))
    }
}

impl Command {
    /// Reads the words that follow the program's name.
    pub fn parse(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, Failure> {
        let mut parser = lexopt::Parser::from_args(words);
        let command = match parser.next().map_err(usage)? {
            None => return Err(Failure::Usage("no benchmark is named; try `torchforge --help`".into())),
            Some(Long("help") | Short('h')) => return Ok(Self::Help),
            Some(Long("version") | Short('V')) => return Ok(Self::Version),
            Some(Value(name)) => name.string().map_err(usage)?,
            Some(other) => return Err(usage(other.unexpected())),
        };
        match command.as_str() {
            "help" => Ok(Self::Help),
            "version" => Ok(Self::Version),
            "gae" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Gae)),
            "dqn" => Arguments::parse(parser).map(|found| found.map_or(Self::Help, Self::Dqn)),
            _ => Err(Failure::Usage(format!(
                "there is no benchmark {command:?}; the benchmarks are gae and dqn, see `torchforge --help`"
            ))),
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
                Long("seed") => seed = Some(parser.value().and_then(|value| value.parse()).map_err(usage)?),
                Long("input") => arguments.input = Some(parser.value().map_err(usage)?.into()),
                Long("simd") => {
                    let path = text(&mut parser)?.parse::<SimdPath>().and_then(SimdPath::require);
                    arguments.simd = Some(path.map_err(|error| Failure::Usage(error.to_string()))?);
                }
                Long("output") => arguments.output = Some(parser.value().map_err(usage)?.into()),
                other => return Err(usage(other.unexpected())),
            }
        }
        if let Some(id) = pending {
            return Err(without_parameters(&id));
        }
        if arguments.cases.is_empty() {
            return Err(Failure::Usage("no case is given; give --case ID --parameters JSON".into()));
        }
        arguments.seed = seed.ok_or_else(|| Failure::Usage("no seed is given; give --seed N".into()))?;
        Ok(Some(arguments))
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

fn text(parser: &mut lexopt::Parser) -> Result<String, Failure> {
    parser.value().and_then(ValueExt::string).map_err(usage)
}

fn without_parameters(id: &str) -> Failure {
    Failure::Usage(format!("case {id:?} has no parameters; put --parameters JSON after it"))
}

fn usage(error: lexopt::Error) -> Failure {
    Failure::Usage(format!("{error}; see `torchforge --help`"))
}
