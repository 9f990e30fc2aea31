//! What all environments know of their episodes.

use crate::{Error, Pcg64};

/// An environment's generator, and whether an episode is under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Episode {
    rng: Option<Pcg64>,
    under_way: bool,
}

impl Episode {
    /// Begins an episode; a seed starts the generator anew. Returns the generator to draw the first state from.
    pub(super) fn begin(&mut self, seed: Option<u64>) -> Result<&mut Pcg64, Error> {
        if let Some(seed) = seed {
            self.rng = Some(Pcg64::new(seed));
        }
        let rng = self.rng.as_mut().ok_or(Error::Unseeded)?;
        self.under_way = true;
        Ok(rng)
    }

    /// An error outside an episode.
    #[inline]
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.under_way { Ok(()) } else { Err(Error::NoEpisode) }
    }

    /// Says whether the step that was taken ended the episode.
    #[inline]
    pub(super) fn set_terminated(&mut self, terminated: bool) {
        self.under_way = !terminated;
    }
}
