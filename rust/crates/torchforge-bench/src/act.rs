//! The benchmark `act`: the action values of one observation after another.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde::Deserialize;
use torchforge_nn::{AdamOptions, DqnUpdate, Error, Mlp, TensorReader, TensorWriter};

use crate::backend::AnyDqn;
use crate::environment::discrete;
use crate::operation::{self, Repetitions};
use crate::protocol::{self, Figure};
use crate::{Arguments, Backend, Case, Failure, dqn, files};
use torchforge_referee::Memory;

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
    let read = |case: &Case| {
        let (parameters, repetitions): (Parameters, _) = Repetitions::read(case)?;
        if parameters.calls == 0 {
            return Err(case.fault("calls is 0; give at least 1"));
        }
        let environment = discrete(&parameters.environment).map_err(|fault| case.fault(&fault))?;
        let layers = dqn::layers(&environment);
        Ok((layers, parameters.calls, repetitions))
    };
    let backend = arguments.backend()?;
    operation::cases(arguments, read, |case, (layers, calls, repetitions)| {
        let path = input.join(&case.id).join("parity.safetensors");
        let (seconds, values) =
            files::with_tensors(&path, |given| measure(given, layers, calls, repetitions, backend))?;
        if let Some(output) = &arguments.output {
            write(values, layers[3], &files::case_folder(output, &case.id)?)?;
        }
        protocol::measurement(
            &case.id,
            Memory::now(),
            BTreeMap::from([("seconds", Figure::Each(seconds))]),
            BTreeMap::from([("observations", u64::from(calls))]),
        )
    })
}

/// Seconds an observation, and the values of all: those of the last repetition.
fn measure(
    given: &TensorReader<'_>,
    layers: [usize; 4],
    calls: u32,
    repetitions: Repetitions,
    backend: Backend,
) -> Result<(Vec<f64>, Vec<f32>), Error> {
    let online = Mlp::read(&layers, "online.", given)?;
    let observations = given.f32("observations", &given.shape("observations")?)?;
    // The minibatches' rows, one after the other.
    let observations: Vec<&[f32]> = observations.chunks_exact(layers[0]).take(calls as usize).collect();
    if observations.len() < calls as usize {
        let expected = format!("F32 of at least {calls} rows");
        let found = format!("{} rows", observations.len());
        return Err(Error::TensorKind { name: "observations".into(), expected, found });
    }
    let mut network = AnyDqn::new(backend, &online, &online, 1, 0.0, AdamOptions::default())?;
    let mut values = vec![0.0; observations.len() * layers[3]];
    let seconds = repetitions.seconds(calls, || {
        let start = Instant::now();
        for (observation, values) in observations.iter().zip(values.chunks_exact_mut(layers[3])) {
            values.copy_from_slice(network.q_values(black_box(observation))?);
        }
        Ok::<_, Error>(start.elapsed())
    })?;
    Ok((seconds, values))
}

fn write(values: Vec<f32>, actions: usize, folder: &Path) -> Result<(), Failure> {
    let mut found = TensorWriter::new();
    found.push("values".into(), vec![values.len() / actions, actions], values);
    files::write(&folder.join("values.safetensors"), &found.into_bytes())
}
