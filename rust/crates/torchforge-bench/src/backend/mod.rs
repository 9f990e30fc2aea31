//! Which library computes the networks: our own kernels, or one that was compiled in beside them.

mod dqn;
mod ppo;
mod sac;

use std::str::FromStr;

use torchforge_nn::SimdPath;

pub(crate) use self::dqn::{AnyDqn, any_dqn};
pub(crate) use self::ppo::{AnyPpo, any_ppo};
pub(crate) use self::sac::{AnySac, any_sac};

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
                "this torchforge was compiled without {name}; use torchforge-{name} of the image forge-bench:backends",
                name = format!("{absent:?}").to_lowercase()
            )),
        }
    }
}
