//! PPO's networks on any backend.

use torchforge_nn::{Activation, AdamOptions, DensePpo, Error, Mlp, PpoBackend, PpoLossOptions};

use super::{Backend, Kernels};

/// What lies between the layers of CleanRL's actor and of its critic.
const ACTIVATION: Activation = Activation::Tanh;

/// An actor and a critic on one of the backends.
pub(crate) type AnyPpo = Box<dyn PpoBackend>;

/// The given networks, with fresh moments: `rows` observations are evaluated at once, minibatches have `batch` rows.
pub(crate) fn any_ppo(
    backend: Backend,
    [actor, critic]: [&Mlp; 2],
    rows: usize,
    batch: usize,
    options: PpoLossOptions,
    adam: AdamOptions,
) -> Result<AnyPpo, Error> {
    Ok(match backend {
        Backend::Own(Kernels { path, threads }) => {
            let networks = DensePpo::from_networks(actor, critic, ACTIVATION, rows, batch, options, adam)?;
            Box::new(networks.on_path(path)?.on_threads(threads)?)
        }
        #[cfg(feature = "candle")]
        Backend::Candle => Box::new(torchforge_nn::CandlePpo::from_networks(
            actor, critic, ACTIVATION, rows, batch, options, adam,
        )?),
        #[cfg(feature = "burn")]
        Backend::Burn => Box::new(torchforge_nn::BurnPpo::from_networks(
            actor, critic, ACTIVATION, rows, batch, options, adam,
        )?),
    })
}
