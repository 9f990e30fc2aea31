//! The benchmark `act`: the action values of one observation after another.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use torchforge_nn::{Activation, AdamOptions, DqnUpdate, Error, Mlp, TensorReader, TensorWriter};
use torchforge_referee::{Digest, Operation};

use crate::backend::{AnyDqn, any_dqn};
use crate::environment::discrete;
use crate::operation::{self, Repetitions};
use crate::{Arguments, Backend, Failure, dqn, files};

/// A call's observation is a row of the file times a half and a whole multiple of `SCALE_STEP`, of fewer than
/// `SCALE_STEPS` of them: 2^-21 and 2^20. The factor has 21 bits, so that an f32 holds it.
const LEAST_SCALE: f32 = 0.5;
const SCALE_STEP: f32 = 1.0 / 2_097_152.0;
const SCALE_STEPS: u64 = 1 << 20;

/// A case's keys of matrix.yaml.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    environment: String,
    /// Observations in one repetition.
    calls: u32,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    let backend = arguments.backend()?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        if parameters.calls == 0 {
            return Err(case.fault("calls is 0; give at least 1"));
        }
        let environment = discrete(&parameters.environment).map_err(|fault| case.fault(&fault))?;
        let (layers, calls) = (dqn::layers(&environment), parameters.calls as usize);
        let path = input.join(&case.id).join("parity.safetensors");
        let read = |given: &TensorReader<'_>| Calls::read(given, layers, calls, backend, path.clone());
        Ok((Box::new(files::with_tensors(&path, read)?), repetitions))
    })
}

/// Writes what a call of this number observes: the given values by a factor of its own.
pub(crate) fn scale(number: u64, given: &[f32], observed: &mut [f32]) {
    let factor = LEAST_SCALE + (number % SCALE_STEPS) as f32 * SCALE_STEP;
    observed.iter_mut().zip(given).for_each(|(value, given)| *value = given * factor);
}

/// All calls of a repetition: one network, an observation and values of each call's own.
struct Calls {
    path: PathBuf,
    network: AnyDqn,
    /// The minibatches' rows, one after the other, as the file has them.
    rows: Vec<f32>,
    observations: Vec<f32>,
    values: Vec<f32>,
    /// Values in an observation, and actions.
    widths: [usize; 2],
}

impl Calls {
    fn read(
        given: &TensorReader<'_>,
        layers: [usize; 4],
        calls: usize,
        backend: Backend,
        path: PathBuf,
    ) -> Result<Self, Error> {
        let online = Mlp::read(&layers, Activation::Relu, "online.", given)?;
        let mut rows = given.f32("observations", &given.shape("observations")?)?;
        let [width, _, _, actions] = layers;
        if rows.len() / width < calls {
            let expected = format!("F32 of at least {calls} rows");
            let found = format!("{} rows", rows.len() / width);
            return Err(Error::TensorKind { name: "observations".into(), expected, found });
        }
        rows.truncate(calls * width);
        Ok(Self {
            path,
            network: any_dqn(backend, &online, &online, 1, 0.0, AdamOptions::default())?,
            observations: rows.clone(),
            rows,
            values: vec![0.0; calls * actions],
            widths: [width, actions],
        })
    }
}

impl Operation for Calls {
    fn calls(&self) -> usize {
        self.values.len() / self.widths[1]
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), torchforge_referee::Error> {
        let width = self.widths[0];
        let scaled = self.observations.chunks_exact_mut(width).zip(self.rows.chunks_exact(width));
        for ((observation, row), number) in scaled.zip(numbers) {
            scale(*number, row, observation);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), torchforge_referee::Error> {
        let [width, actions] = self.widths;
        let calls = self.observations.chunks_exact(width).zip(self.values.chunks_exact_mut(actions));
        for (observation, values) in calls {
            let found = self.network.q_values(black_box(observation));
            values.copy_from_slice(found.map_err(|error| files::unusable(&self.path, &error))?);
        }
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), torchforge_referee::Error> {
        digest.f32s(&self.values);
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("observations", self.calls() as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), torchforge_referee::Error> {
        let mut found = TensorWriter::new();
        found.push("values".into(), vec![self.calls(), self.widths[1]], self.values.iter().copied());
        Ok(files::write(&folder.join("values.safetensors"), &found.into_bytes())?)
    }
}
