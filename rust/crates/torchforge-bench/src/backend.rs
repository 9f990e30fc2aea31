//! Which library computes the networks: our own kernels, or one that was compiled in beside them.

use std::str::FromStr;

use torchforge_nn::{
    AdamOptions, DenseDqn, DqnBackend, DqnUpdate, Error, Minibatch, Mlp, NetworkState, SimdPath,
    TensorWriter, Visit,
};

/// How our own kernels compute: `--simd`, `--threads`. The bytes are always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernels {
    /// Through these instructions.
    pub path: SimdPath,
    /// On so many threads, at least one.
    pub threads: usize,
}

/// Who computes: `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Our kernels.
    Own(Kernels),
    /// candle's tensors.
    #[cfg(feature = "candle")]
    Candle,
    /// burn's tensors.
    #[cfg(feature = "burn")]
    Burn,
}

/// A library's name, as `--backend` takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    /// candle.
    Candle,
    /// burn.
    Burn,
}

impl FromStr for Library {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "candle" => Ok(Self::Candle),
            "burn" => Ok(Self::Burn),
            _ => Err(format!("there is no backend {text:?}; the backends are candle and burn")),
        }
    }
}

impl Library {
    /// The backend, if this program holds it.
    pub(crate) fn backend(self) -> Result<Backend, String> {
        match self {
            #[cfg(feature = "candle")]
            Self::Candle => Ok(Backend::Candle),
            #[cfg(feature = "burn")]
            Self::Burn => Ok(Backend::Burn),
            #[cfg(not(all(feature = "candle", feature = "burn")))]
            absent => Err(format!(
                "this torchforge was compiled without {}; use that of the image forge-bench:backends",
                format!("{absent:?}").to_lowercase()
            )),
        }
    }
}

/// A network on one of the backends.
pub(crate) struct AnyDqn {
    network: Network,
    /// What gives parameters their names in a file.
    layout: Mlp,
}

enum Network {
    Own(Box<DenseDqn>),
    #[cfg(feature = "candle")]
    Candle(Box<torchforge_nn::CandleDqn>),
    #[cfg(feature = "burn")]
    Burn(Box<torchforge_nn::BurnDqn>),
}

/// The same expression for whichever backend it is.
macro_rules! on {
    ($self:expr, $network:ident => $value:expr) => {
        match $self {
            Network::Own($network) => $value,
            #[cfg(feature = "candle")]
            Network::Candle($network) => $value,
            #[cfg(feature = "burn")]
            Network::Burn($network) => $value,
        }
    };
}

impl AnyDqn {
    /// The given networks, with fresh moments; minibatches have `batch` rows.
    pub(crate) fn new(
        backend: Backend,
        online: &Mlp,
        target: &Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let network = match backend {
            Backend::Own(Kernels { path, threads }) => {
                let network = DenseDqn::from_networks(online.clone(), target.clone(), batch, gamma, adam)?;
                Network::Own(Box::new(network.on_path(path)?.on_threads(threads)?))
            }
            #[cfg(feature = "candle")]
            Backend::Candle => {
                Network::Candle(Box::new(DqnBackend::from_networks(online, target, batch, gamma, adam)?))
            }
            #[cfg(feature = "burn")]
            Backend::Burn => {
                Network::Burn(Box::new(DqnBackend::from_networks(online, target, batch, gamma, adam)?))
            }
        };
        Ok(Self { network, layout: online.clone() })
    }

    /// Writes the online network's parameters: see [`Mlp::write`].
    pub(crate) fn write(&self, prefix: &str, tensors: &mut TensorWriter) -> Result<(), Error> {
        self.layout.write(prefix, &self.parameters()?, tensors);
        Ok(())
    }

    /// The online network's parameters, laid out as [`Mlp::parameters`].
    pub(crate) fn parameters(&self) -> Result<Vec<f32>, Error> {
        on!(&self.network, network => DqnBackend::parameters(&**network))
    }

    /// The gradients of the last update, laid out the same.
    pub(crate) fn gradients(&self) -> Result<Vec<f32>, Error> {
        on!(&self.network, network => DqnBackend::gradients(&**network))
    }
}

impl NetworkState for AnyDqn {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        match &mut self.network {
            Network::Own(network) => network.visit_state(visit),
            #[cfg(feature = "candle")]
            Network::Candle(_) => Err(keeps_its_state("candle")),
            #[cfg(feature = "burn")]
            Network::Burn(_) => Err(keeps_its_state("burn")),
        }
    }
}

#[cfg(any(feature = "candle", feature = "burn"))]
fn keeps_its_state(library: &'static str) -> Error {
    Error::Backend { library, reason: "it does not give out its optimiser's state".into() }
}

impl DqnUpdate for AnyDqn {
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        on!(&mut self.network, network => network.q_values(observation))
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        on!(&mut self.network, network => network.update(minibatch))
    }

    fn copy_to_target(&mut self) {
        on!(&mut self.network, network => network.copy_to_target());
    }

    fn largest_target_difference(&self) -> f32 {
        on!(&self.network, network => network.largest_target_difference())
    }
}
