//! The benchmark `update`: consecutive updates from given weights and minibatches, with nothing around them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use torchforge_env::Environment;
use torchforge_nn::Error;

use crate::environment::{continuous, discrete};
use crate::operation::{self, Repetitions};
use crate::parity::{Parity, Updates};
use crate::protocol::{self, Figure};
use crate::{Algorithm, Arguments, Case, Failure, dqn, files, ppo, sac};
use torchforge_referee::Memory;

/// A case's keys of matrix.yaml.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Whose update.
    algorithm: Algorithm,
    /// Updates in one repetition.
    calls: u32,
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        if parameters.calls == 0 {
            return Err(case.fault("calls is 0; give at least 1"));
        }
        Ok((parameters, repetitions))
    }
}

/// The environments that the input's networks are of.
const DISCRETE: &str = "CartPole-v1";
const CONTINUOUS: &str = "Pendulum-v1";

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    let backend = arguments.backend()?;
    operation::cases(arguments, Parameters::read, |case, (parameters, repetitions)| {
        let measured = Measured { case, calls: parameters.calls, repetitions };
        let updates = parameters.calls as usize;
        let (input, output) = (&input.join(&case.id), arguments.output.as_deref());
        match parameters.algorithm {
            Algorithm::Dqn => {
                let environment = discrete(DISCRETE).map_err(|fault| case.fault(&fault))?;
                measured.by(&dqn::parity(dqn::layers(&environment), updates, backend), input, output)
            }
            Algorithm::Ppo => {
                let environment = discrete(DISCRETE).map_err(|fault| case.fault(&fault))?;
                let (inputs, actions) =
                    (environment.observation_len(), environment.action_space().count as usize);
                measured.by(&ppo::parity(inputs, actions, updates, backend), input, output)
            }
            Algorithm::Sac => {
                let environment = continuous(CONTINUOUS).map_err(|fault| case.fault(&fault))?;
                measured.by(&sac::parity(&environment, updates, backend), input, output)
            }
        }
    })
}

/// What is measured, whoever computes it.
struct Measured<'a> {
    case: &'a Case,
    calls: u32,
    repetitions: Repetitions,
}

impl Measured<'_> {
    /// Every repetition begins anew from the given weights; the file's parameters after all updates are those that the
    /// last one left.
    fn by<P: Parity>(&self, parity: &P, input: &Path, output: Option<&Path>) -> Result<(), Failure> {
        let (seconds, found) = files::with_tensors(&input.join("parity.safetensors"), |given| {
            let mut last = None;
            let seconds = self.repetitions.seconds(self.calls, || {
                let mut networks = parity.start(given)?;
                let start = Instant::now();
                for index in 0..self.calls as usize {
                    networks.update(index)?;
                }
                let elapsed = start.elapsed();
                last = Some(networks);
                Ok::<_, Error>(elapsed)
            })?;
            let found = output.map(|output| Ok::<_, Error>((output, parity.compute(given, last.as_ref())?)));
            Ok((seconds, found.transpose()?))
        })?;
        if let Some((output, found)) = found {
            let folder = files::case_folder(output, &self.case.id)?;
            files::write(&folder.join("update.safetensors"), &found.into_bytes())?;
        }
        let mut metrics = BTreeMap::from([("seconds", Figure::Each(seconds))]);
        metrics.extend(program_bytes().map(|bytes| ("program_bytes", Figure::One(bytes as f64))));
        metrics.extend(compile_seconds().map(|seconds| ("compile_seconds", Figure::One(seconds))));
        let counts = BTreeMap::from([("updates", u64::from(self.calls))]);
        protocol::measurement(&self.case.id, Memory::now(), metrics, counts)
    }
}

/// The size of this program's own file: what it costs to carry a backend. None where the system does not show it.
fn program_bytes() -> Option<u64> {
    std::env::current_exe().and_then(std::fs::metadata).map(|found| found.len()).ok()
}

/// The processor time that it took to compile this program, with all that it holds: what the build of its image wrote
/// beside it. None where nothing did.
fn compile_seconds() -> Option<f64> {
    let mut path = std::env::current_exe().ok()?.into_os_string();
    path.push(".compile-seconds");
    let seconds: f64 = std::fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds)
}
