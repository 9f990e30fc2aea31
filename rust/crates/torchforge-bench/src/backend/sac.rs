//! SAC's networks on any backend.

use torchforge_nn::{ActionRange, DenseSac, Error, SacBackend, SacLossOptions, SacNetworks};

use super::{Backend, Kernels};

/// Actor, critics, targets and temperature on one of the backends.
pub(crate) type AnySac = Box<dyn SacBackend>;

/// The given networks, with fresh moments; minibatches have `batch` rows.
pub(crate) fn any_sac(
    backend: Backend,
    networks: SacNetworks,
    range: ActionRange,
    batch: usize,
    options: SacLossOptions,
) -> Result<AnySac, Error> {
    Ok(match backend {
        Backend::Own(Kernels { path, threads }) => {
            let networks = DenseSac::new(networks, range, batch, options)?;
            Box::new(networks.on_path(path)?.on_threads(threads)?)
        }
        #[cfg(feature = "candle")]
        Backend::Candle => {
            Box::new(torchforge_nn::CandleSac::from_networks(&networks, &range, batch, options)?)
        }
        #[cfg(feature = "burn")]
        Backend::Burn => Box::new(torchforge_nn::BurnSac::from_networks(&networks, &range, batch, options)?),
    })
}
