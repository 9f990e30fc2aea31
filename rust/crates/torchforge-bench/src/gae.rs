//! The benchmark `gae`: the kernel of `torchforge-rl`, timed where it is called.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rand_core::Rng;
use serde::Deserialize;
use torchforge_env::Pcg64;
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

use crate::protocol::{self, Figure, Progress};
use crate::{Arguments, Case, Failure, files, npy};

const OPTIONS: GaeOptions = GaeOptions { gamma: 0.99, lambda: 0.95 };

/// A case's keys of matrix.yaml, the profile's among them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    batch: usize,
    length: usize,
    /// Calls between two readings of the clock.
    calls: u32,
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

impl Parameters {
    fn read(case: &Case) -> Result<Self, Failure> {
        let parameters: Self = case.parameters()?;
        let sizes = [
            ("batch", parameters.batch),
            ("length", parameters.length),
            ("calls", parameters.calls as usize),
            ("repetitions", parameters.repetitions as usize),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(case.fault(&format!("{name} is 0; give at least 1")));
        }
        if parameters.seconds_limit.is_some_and(|seconds| Duration::try_from_secs_f64(seconds).is_err()) {
            return Err(case.fault("seconds_limit is no time; give seconds, 0 or more"));
        }
        Ok(parameters)
    }

    fn shape(&self) -> Vec<usize> {
        if self.batch == 1 { vec![self.length] } else { vec![self.batch, self.length] }
    }

    /// The share of the limit that has been used up once it is passed; never without a limit.
    fn passed(&self, spent: Duration, share: f64) -> bool {
        self.seconds_limit.is_some_and(|limit| spent.as_secs_f64() >= limit * share)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    if let Some(path) = arguments.simd {
        return Err(Failure::Usage(format!(
            "gae has one path, and --simd {path} names another; leave it out"
        )));
    }
    let mut cases = Vec::new();
    for case in &arguments.cases {
        cases.push((case, Parameters::read(case)?));
    }
    shuffle(&mut cases, arguments.seed);

    let mut progress = Progress::new(cases.len() as u64, "case");
    for (done, (case, parameters)) in cases.iter().enumerate() {
        progress.done(done as u64)?;
        measure(case, *parameters, &input.join(&case.id), arguments.output.as_deref())?;
    }
    Ok(())
}

/// No case is always the one that meets a cold machine.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut rng = Pcg64::new(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
}

fn measure(case: &Case, parameters: Parameters, input: &Path, output: Option<&Path>) -> Result<(), Failure> {
    let shape = parameters.shape();
    let load = |name: &str| {
        let path = input.join(name);
        npy::decode(&files::read(&path)?, &shape).map_err(|reason| Failure::Input { path, reason })
    };
    let (rewards, values, dones) = (load("rewards.npy")?, load("values.npy")?, load("dones.npy")?);
    let trajectories = Trajectory { rewards: &rewards, values: &values, dones: &dones };
    let last_values = vec![0.0; parameters.batch];
    let mut advantages = vec![0.0; rewards.len()];
    let mut returns = vec![0.0; rewards.len()];

    let mut repetition = || {
        let start = Instant::now();
        for _ in 0..parameters.calls {
            let (inputs, last_values) = (black_box(trajectories), black_box(&last_values[..]));
            gae_batched(inputs, last_values, OPTIONS, &mut advantages, &mut returns)
                .expect("the arrays were read with one shape");
            black_box((&mut advantages, &mut returns));
        }
        start.elapsed()
    };

    let mut spent = Duration::ZERO;
    for _ in 0..parameters.warmup {
        spent += repetition();
        if parameters.passed(spent, 0.5) {
            break;
        }
    }
    let mut seconds = Vec::with_capacity(parameters.repetitions as usize);
    let mut spent = Duration::ZERO;
    let least = parameters.least_repetitions.unwrap_or(1);
    while seconds.len() < parameters.repetitions as usize {
        if seconds.len() >= least as usize && parameters.passed(spent, 1.0) {
            break;
        }
        let elapsed = repetition();
        spent += elapsed;
        seconds.push(elapsed.as_secs_f64() / f64::from(parameters.calls));
    }

    if let Some(output) = output {
        let folder = files::case_folder(output, &case.id)?;
        files::write(&folder.join("advantages.npy"), &npy::encode(&advantages, &shape))?;
        files::write(&folder.join("returns.npy"), &npy::encode(&returns, &shape))?;
    }
    protocol::measurement(
        &case.id,
        BTreeMap::from([("seconds", Figure::Each(seconds))]),
        BTreeMap::from([("elements", advantages.len() as u64)]),
    )
}
