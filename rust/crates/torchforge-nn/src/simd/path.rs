//! Which instruction set is used, found once when the program runs.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Simd, Work};
use crate::Error;

/// The first of [`SimdPath::ALL`] that this process may choose by itself.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// A path through the kernels. All of them give the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimdPath {
    /// 512-bit registers (x86-64).
    Avx512,
    /// 256-bit registers with fused multiply-add (x86-64).
    Avx2,
    /// 128-bit registers (64-bit ARM).
    Neon,
    /// Plain Rust; the oracle of the others, and slow where the processor has no fused multiply-add.
    Portable,
}

impl SimdPath {
    /// Every path, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The fastest path of this processor, or of those that [`SimdPath::cap`] left.
    pub fn detect() -> Self {
        let mut left = Self::ALL.into_iter().skip(FIRST.load(Ordering::Relaxed));
        left.find(|path| path.is_available()).unwrap_or(Self::Portable)
    }

    /// From now on nothing in this process chooses a faster path than this one by itself, whatever the next cap says.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchPath`] where this processor lacks the instructions.
    pub fn cap(self) -> Result<(), Error> {
        let path = self.require()?;
        let first = Self::ALL.into_iter().take_while(|&faster| faster != path).count();
        FIRST.fetch_max(first, Ordering::Relaxed);
        Ok(())
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => super::Avx512::new().is_some(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => super::Avx2::new().is_some(),
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Portable => true,
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// This path, if the processor has it.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchPath`] where it does not.
    pub fn require(self) -> Result<Self, Error> {
        if self.is_available() { Ok(self) } else { Err(Error::NoSuchPath { path: self }) }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }
}

impl fmt::Display for SimdPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SimdPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|path| path.name() == text)
            .ok_or_else(|| Error::UnknownPath { text: text.to_owned() })
    }
}

/// Does `work` on a path. One that this processor lacks cannot get here: [`SimdPath::require`] refused it.
#[inline(always)]
pub(crate) fn dispatch<W: Work>(path: SimdPath, work: W) -> W::Done {
    match path {
        #[cfg(target_arch = "x86_64")]
        SimdPath::Avx512 => super::Avx512::new().expect("checked when it was chosen").run(work),
        #[cfg(target_arch = "x86_64")]
        SimdPath::Avx2 => super::Avx2::new().expect("checked when it was chosen").run(work),
        #[cfg(target_arch = "aarch64")]
        SimdPath::Neon => super::Neon.run(work),
        _ => super::Portable.run(work),
    }
}
