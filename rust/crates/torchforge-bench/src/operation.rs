//! What the operations share: the order of the cases, and how often each is repeated.

use std::time::Duration;

use rand_core::Rng;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use torchforge_env::Pcg64;
use torchforge_referee::{Figure, Memory, Operation, repeat};

use crate::protocol::{self, Progress};
use crate::{Arguments, Case, Failure, conversation, files};

/// Serves every case as a referee says, or without one as a person asked. `prepare` reads all that a case needs.
pub(crate) fn serve(
    arguments: &Arguments,
    prepare: impl Fn(&Case) -> Result<(Box<dyn Operation>, Repetitions), Failure>,
) -> Result<(), Failure> {
    let mut prepared = Vec::new();
    for case in &arguments.cases {
        prepared.push((case, prepare(case)?));
    }
    if !arguments.referee {
        return in_seeded_order(prepared, arguments.seed, |case, (operation, repetitions)| {
            by_hand(arguments, case, operation, &repetitions)
        });
    }
    let named = |(case, (operation, _)): (&Case, (Box<dyn Operation>, _))| (case.id.clone(), operation as _);
    conversation::answer(arguments, prepared.into_iter().map(named).collect())
}

/// Times the repetitions that the parameters say, on the inputs of a nonce that is the seed.
fn by_hand(
    arguments: &Arguments,
    case: &Case,
    mut operation: Box<dyn Operation>,
    repetitions: &Repetitions,
) -> Result<(), Failure> {
    let mut all = 0..;
    let seconds = repetitions.seconds(operation.calls(), || {
        let repetition = all.next().expect("there is always a next one");
        repeat(operation.as_mut(), arguments.seed, repetition)
    })?;
    if let Some(output) = &arguments.output {
        // Those of the first inputs, however many repetitions there were: two runs of one seed can be compared.
        repeat(operation.as_mut(), arguments.seed, 0)?;
        operation.write(&files::case_folder(output, &case.id)?)?;
    }
    let figures = operation.figures().into_iter().map(|(name, figure)| (name, Figure::One(figure)));
    let metrics = figures.chain([("seconds", Figure::Each(seconds))]).collect();
    protocol::measurement(&case.id, Memory::now(), metrics, operation.counts().into_iter().collect())
}

/// An error where one of a case's sizes is zero.
pub(crate) fn none_is_zero<const N: usize>(
    case: &Case,
    sizes: [(&'static str, usize); N],
) -> Result<(), Failure> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        None => Ok(()),
        Some((name, _)) => Err(case.fault(&format!("{name} is 0; give at least 1"))),
    }
}

/// Measures each of the cases, in an order drawn from the seed.
fn in_seeded_order<P>(
    mut cases: Vec<(&Case, P)>,
    seed: u64,
    measure: impl Fn(&Case, P) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut rng = Pcg64::new(seed);
    for last in (1..cases.len()).rev() {
        cases.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
    let mut progress = Progress::new(cases.len() as u64, "case");
    for (done, (case, prepared)) in cases.into_iter().enumerate() {
        progress.done(done as u64)?;
        measure(case, prepared)?;
    }
    Ok(())
}

/// Repetitions before the timed ones, and those.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repetitions {
    /// Repetitions before the timed ones.
    warmup: u32,
    /// Timed repetitions at most.
    repetitions: u32,
    /// Timed seconds after which no further repetition begins.
    #[serde(default)]
    seconds_limit: Option<f64>,
    /// Repetitions that are timed whatever the limit.
    #[serde(default)]
    least_repetitions: Option<u32>,
}

/// The keys of [`Repetitions`].
const KEYS: [&str; 4] = ["warmup", "repetitions", "seconds_limit", "least_repetitions"];

impl Repetitions {
    /// Reads a case's parameters: its own, and how often it is repeated. An unknown or missing key is an error.
    pub(crate) fn read<P: DeserializeOwned>(case: &Case) -> Result<(P, Self), Failure> {
        let mut rest: Map<String, Value> = case.parameters()?;
        let mine: Map<_, _> = KEYS.iter().filter_map(|&key| rest.remove_entry(key)).collect();
        let own = P::deserialize(Value::Object(rest)).map_err(|error| case.unusable(&error))?;
        let repetitions = Self::deserialize(Value::Object(mine)).map_err(|error| case.unusable(&error))?;
        if repetitions.repetitions == 0 {
            return Err(case.fault("repetitions is 0; give at least 1"));
        }
        if repetitions.seconds_limit.is_some_and(|seconds| Duration::try_from_secs_f64(seconds).is_err()) {
            return Err(case.fault("seconds_limit is no time; give seconds, 0 or more"));
        }
        Ok((own, repetitions))
    }

    /// Seconds of each timed repetition, of `calls` calls each, a call. `repetition` says how many it took.
    fn seconds<E>(
        &self,
        calls: usize,
        mut repetition: impl FnMut() -> Result<f64, E>,
    ) -> Result<Vec<f64>, E> {
        let mut spent = 0.0;
        for _ in 0..self.warmup {
            spent += repetition()?;
            if self.passed(spent, 0.5) {
                break;
            }
        }
        let mut seconds = Vec::with_capacity(self.repetitions as usize);
        let mut spent = 0.0;
        let least = self.least_repetitions.unwrap_or(1) as usize;
        while seconds.len() < self.repetitions as usize {
            if seconds.len() >= least && self.passed(spent, 1.0) {
                break;
            }
            let elapsed = repetition()?;
            spent += elapsed;
            seconds.push(elapsed / calls as f64);
        }
        Ok(seconds)
    }

    /// The share of the limit that has been used up once it is passed; never without a limit.
    fn passed(&self, spent: f64, share: f64) -> bool {
        self.seconds_limit.is_some_and(|limit| spent >= limit * share)
    }
}
