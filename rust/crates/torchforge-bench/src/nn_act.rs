//! The benchmark `nn-act`: what networks say of one minibatch of observations after another.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use torchforge_nn::{
    Activation, AdamOptions, CategoricalPolicy, Error, Mlp, PpoLossOptions, SacLossOptions, SacNetworks,
    SacUpdate, TensorReader, TensorWriter,
};
use torchforge_referee::{Digest, Operation};
use torchforge_rl::cleanrl;

use crate::act::scale;
use crate::backend::{AnyDqn, AnyPpo, AnySac, any_dqn, any_ppo, any_sac};
use crate::covered::Covered;
use crate::environment::discrete;
use crate::operation::{self, Repetitions, none_is_zero};
use crate::{Algorithm, Arguments, Backend, Case, Failure, dqn, files, sac};

/// The environment that DQN's and PPO's networks are of.
const DISCRETE: &str = "CartPole-v1";
/// Where no minibatch is learnt from: the least that a policy gradient is made for.
const ROWS_TO_LEARN_FROM: usize = 2;

/// A case's keys of matrix.yaml.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    algorithm: Algorithm,
    /// Observations of a call.
    rows: usize,
    /// Calls of a repetition.
    calls: usize,
    /// A digest covers one of so many calls.
    each: Option<usize>,
    /// Width of both hidden layers, where it is not the training's.
    hidden: Option<usize>,
    /// Values in an observation of SAC's policy.
    observation: Option<usize>,
    /// Values in an action of SAC's policy.
    action: Option<usize>,
}

impl Parameters {
    fn read(case: &Case) -> Result<(Self, Repetitions), Failure> {
        let (parameters, repetitions): (Self, _) = Repetitions::read(case)?;
        none_is_zero(case, [("rows", parameters.rows)])?;
        if matches!(parameters.algorithm, Algorithm::Sac) && parameters.rows != 1 {
            return Err(case.fault("rows is not 1, and SAC's policy acts after one observation; give 1"));
        }
        Ok((parameters, repetitions))
    }

    /// The layers of a policy that belongs to no environment.
    fn sac_layers(&self, case: &Case) -> Result<[[usize; 4]; 2], Failure> {
        match (self.observation, self.action, self.hidden) {
            (Some(observation), Some(action), Some(hidden)) => {
                Ok(cleanrl::sac_sizes_of([hidden; 2], observation, action))
            }
            _ => Err(case.fault("SAC's policy needs observation, action and hidden")),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = arguments.input()?;
    let backend = arguments.backend()?;
    operation::serve(arguments, |case| {
        let (parameters, repetitions) = Parameters::read(case)?;
        let covered = Covered::new(case, parameters.each, parameters.calls)?;
        let path = input.join(&case.id).join("parity.safetensors");
        let environment = discrete(DISCRETE).map_err(|fault| case.fault(&fault))?;
        let calls = match parameters.algorithm {
            Algorithm::Dqn => {
                let layers = dqn::layers_of(&environment, parameters.hidden);
                files::with_tensors(&path, |given| {
                    Network::dqn(given, layers, backend)?.calls(given, &parameters, covered)
                })
            }
            Algorithm::Ppo => {
                let [inputs, _, _, actions] = dqn::layers(&environment);
                let layers = cleanrl::ppo_sizes(inputs, actions);
                files::with_tensors(&path, |given| {
                    Network::ppo(given, layers, parameters.rows, backend)?.calls(given, &parameters, covered)
                })
            }
            Algorithm::Sac => {
                let layers = parameters.sac_layers(case)?;
                files::with_tensors(&path, |given| {
                    Network::sac(given, layers, backend)?.calls(given, &parameters, covered)
                })
            }
        }?;
        Ok((Box::new(Acting { path, ..calls }), repetitions))
    })
}

/// Who acts, and how long an observation and what is said of it are.
enum Network {
    /// Gives the values of all actions.
    Dqn(AnyDqn, [usize; 2]),
    /// Gives the logarithms of all actions' probabilities, and a value.
    Ppo(AnyPpo, [usize; 2]),
    /// Gives an action, of noise.
    Sac(AnySac, [usize; 2]),
}

impl Network {
    fn dqn(given: &TensorReader<'_>, layers: [usize; 4], backend: Backend) -> Result<Self, Error> {
        let online = Mlp::read(&layers, Activation::Relu, "online.", given)?;
        let network = any_dqn(backend, &online, &online, 1, 0.0, AdamOptions::default())?;
        Ok(Self::Dqn(network, [layers[0], layers[3]]))
    }

    fn ppo(
        given: &TensorReader<'_>,
        [actor, critic]: [[usize; 4]; 2],
        rows: usize,
        backend: Backend,
    ) -> Result<Self, Error> {
        let read = |layers: &[usize], name| Mlp::read(layers, Activation::Tanh, name, given);
        let networks = [&read(&actor, "actor.")?, &read(&critic, "critic.")?];
        let (options, adam) = (PpoLossOptions::default(), cleanrl::ppo_adam());
        let networks = any_ppo(backend, networks, rows, ROWS_TO_LEARN_FROM, options, adam)?;
        Ok(Self::Ppo(networks, [actor[0], actor[3]]))
    }

    fn sac(
        given: &TensorReader<'_>,
        [actor, critic]: [[usize; 4]; 2],
        backend: Backend,
    ) -> Result<Self, Error> {
        let networks = SacNetworks::read(&actor, &critic, given)?;
        let action = actor[3] / 2;
        let networks = any_sac(backend, networks, sac::given_range(action), 1, SacLossOptions::default())?;
        Ok(Self::Sac(networks, [actor[0], action]))
    }

    fn widths(&self) -> [usize; 2] {
        let (Self::Dqn(_, widths) | Self::Ppo(_, widths) | Self::Sac(_, widths)) = self;
        *widths
    }

    /// What its first output is called in the file.
    fn name(&self) -> &'static str {
        match self {
            Self::Dqn(..) => "values",
            Self::Ppo(..) => "log_probabilities",
            Self::Sac(..) => "actions",
        }
    }

    /// Reads what it acts on, (calls, rows, ...): a file's observations one after the other, and noise.
    fn calls(
        self,
        given: &TensorReader<'_>,
        parameters: &Parameters,
        covered: Covered,
    ) -> Result<Acting, Error> {
        let ([width, outputs], Parameters { rows, calls, .. }) = (self.widths(), *parameters);
        let count = calls.saturating_mul(rows);
        let read = |name: &str, width: usize| {
            let mut values = given.f32(name, &given.shape(name)?)?;
            if values.len() / width < count {
                let expected = format!("F32 of at least {count} rows");
                let found = format!("{} rows", values.len() / width);
                return Err(Error::TensorKind { name: name.into(), expected, found });
            }
            values.truncate(count * width);
            Ok(values)
        };
        let observations = read("observations", width)?;
        let (noise, values) = match self {
            Self::Dqn(..) => (Vec::new(), Vec::new()),
            Self::Ppo(..) => (Vec::new(), vec![0.0; count]),
            Self::Sac(..) => (read("noise.next", outputs)?, Vec::new()),
        };
        Ok(Acting {
            path: PathBuf::new(),
            network: self,
            given: observations.clone(),
            observations,
            noise,
            outputs: vec![0.0; count * outputs],
            values,
            rows,
            covered,
        })
    }
}

/// All calls of a repetition.
struct Acting {
    path: PathBuf,
    network: Network,
    /// The observations, as the file has them.
    given: Vec<f32>,
    observations: Vec<f32>,
    noise: Vec<f32>,
    outputs: Vec<f32>,
    /// PPO's values.
    values: Vec<f32>,
    rows: usize,
    covered: Covered,
}

impl Acting {
    fn act(&mut self) -> Result<(), Error> {
        let [width, outputs] = self.network.widths();
        let observations = self.observations.chunks_exact(self.rows * width).map(black_box);
        let mut told = observations.zip(self.outputs.chunks_exact_mut(self.rows * outputs));
        match &mut self.network {
            Network::Dqn(network, _) => {
                told.try_for_each(|(observations, values)| network.values_of(observations, values))
            }
            Network::Ppo(networks, _) => {
                let mut told = told.zip(self.values.chunks_exact_mut(self.rows));
                told.try_for_each(|((observations, logarithms), values)| {
                    logarithms.copy_from_slice(networks.evaluate(observations)?.log_probabilities);
                    networks.values(observations, values)
                })
            }
            Network::Sac(networks, _) => {
                let mut told = told.zip(self.noise.chunks_exact(outputs));
                told.try_for_each(|((observation, action), noise)| networks.act(observation, noise, action))
            }
        }
    }
}

impl Acting {
    /// What the calls of a repetition answered: a name, how many values a row has, and all of them.
    fn answers(&self) -> impl Iterator<Item = (&'static str, usize, &[f32])> {
        let [_, outputs] = self.network.widths();
        let first = (self.network.name(), outputs, &self.outputs[..]);
        let second = ("values", 1, &self.values[..]);
        [first, second].into_iter().filter(|(_, _, values)| !values.is_empty())
    }

    /// Of these the answers that the digest covers.
    fn digested(&self, width: usize, values: &[f32]) -> Vec<f32> {
        self.covered.of(values.chunks_exact(self.rows * width)).flatten().copied().collect()
    }
}

impl Operation for Acting {
    fn calls(&self) -> usize {
        self.given.len() / (self.rows * self.network.widths()[0])
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), torchforge_referee::Error> {
        let len = self.rows * self.network.widths()[0];
        let scaled = self.observations.chunks_exact_mut(len).zip(self.given.chunks_exact(len));
        for ((observations, given), number) in scaled.zip(numbers) {
            scale(*number, given, observations);
        }
        self.covered.begin(numbers.first().copied().unwrap_or_default());
        Ok(())
    }

    fn run(&mut self) -> Result<(), torchforge_referee::Error> {
        self.act().map_err(|error| files::unusable(&self.path, &error).into())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), torchforge_referee::Error> {
        for (_, width, values) in self.answers() {
            digest.f32s(&self.digested(width, values));
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("observations", self.rows as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), torchforge_referee::Error> {
        let mut all = TensorWriter::new();
        let mut digested = TensorWriter::new();
        for (name, width, values) in self.answers() {
            all.push(name.into(), vec![self.calls(), self.rows, width], values.iter().copied());
            let some = self.digested(width, values);
            let calls = some.len() / (self.rows * width);
            digested.push(name.into(), vec![calls, self.rows, width], some);
        }
        files::write(&folder.join("values.safetensors"), &all.into_bytes())?;
        Ok(files::write(&folder.join("digested.safetensors"), &digested.into_bytes())?)
    }
}
