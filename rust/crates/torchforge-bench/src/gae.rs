//! The benchmark `gae`: the kernel of `torchforge-rl`, timed where it is called.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use torchforge_rl::{GaeOptions, Trajectory, gae_batched};

use crate::memory::Memory;
use crate::operation::{self, Repetitions};
use crate::protocol::{self, Figure};
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
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        let sizes = [
            ("batch", parameters.batch),
            ("length", parameters.length),
            ("calls", parameters.calls as usize),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(case.fault(&format!("{name} is 0; give at least 1")));
        }
        Ok((parameters, repetitions))
    }

    fn shape(&self) -> Vec<usize> {
        if self.batch == 1 { vec![self.length] } else { vec![self.batch, self.length] }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    arguments.refuse_kernels("gae")?;
    operation::cases(arguments, Parameters::read, |case, (parameters, repetitions)| {
        measure(case, parameters, repetitions, &input.join(&case.id), arguments.output.as_deref())
    })
}

fn measure(
    case: &Case,
    parameters: Parameters,
    repetitions: Repetitions,
    input: &Path,
    output: Option<&Path>,
) -> Result<(), Failure> {
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

    let seconds = repetitions.seconds(parameters.calls, || {
        let start = Instant::now();
        for _ in 0..parameters.calls {
            let (inputs, last_values) = (black_box(trajectories), black_box(&last_values[..]));
            gae_batched(inputs, last_values, OPTIONS, &mut advantages, &mut returns)
                .expect("the arrays were read with one shape");
            black_box((&mut advantages, &mut returns));
        }
        Ok::<_, Failure>(start.elapsed())
    })?;

    if let Some(output) = output {
        let folder = files::case_folder(output, &case.id)?;
        files::write(&folder.join("advantages.npy"), &npy::encode(&advantages, &shape))?;
        files::write(&folder.join("returns.npy"), &npy::encode(&returns, &shape))?;
    }
    protocol::measurement(
        &case.id,
        Memory::now(),
        BTreeMap::from([("seconds", Figure::Each(seconds))]),
        BTreeMap::from([("elements", advantages.len() as u64)]),
    )
}
