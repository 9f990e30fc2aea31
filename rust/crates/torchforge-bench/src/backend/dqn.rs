//! DQN's network on any backend.

use torchforge_nn::{AdamOptions, DenseDqn, DqnBackend, Error, Mlp};

use super::{Backend, Kernels};

/// A network on one of the backends.
pub(crate) type AnyDqn = Box<dyn DqnBackend>;

/// The given networks, with fresh moments; minibatches have `batch` rows.
pub(crate) fn any_dqn(
    backend: Backend,
    online: &Mlp,
    target: &Mlp,
    batch: usize,
    gamma: f64,
    adam: AdamOptions,
) -> Result<AnyDqn, Error> {
    Ok(match backend {
        Backend::Own(Kernels { path, threads }) => {
            let network = DenseDqn::from_networks(online.clone(), target.clone(), batch, gamma, adam)?;
            Box::new(network.on_path(path)?.on_threads(threads)?)
        }
        #[cfg(feature = "candle")]
        Backend::Candle => {
            Box::new(torchforge_nn::CandleDqn::from_networks(online, target, batch, gamma, adam)?)
        }
        #[cfg(feature = "burn")]
        Backend::Burn => Box::new(torchforge_nn::BurnDqn::from_networks(online, target, batch, gamma, adam)?),
    })
}
