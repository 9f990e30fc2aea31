//! What all environments know of their episodes.

use crate::{Error, Pcg64};

/// An environment's generator, and whether an episode is under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Episode {
    rng: Option<Pcg64>,
    under_way: bool,
}

impl Episode {
    /// Generator and flag as words, then the environment's own `numbers`.
    pub(super) fn snapshot(&self, numbers: &[f64]) -> Vec<u64> {
        let rng = self.rng.as_ref().map_or([0; 5], Pcg64::to_words);
        let flags = [u64::from(self.rng.is_some()), u64::from(self.under_way)];
        let numbers = numbers.iter().map(|number| number.to_bits());
        flags.into_iter().chain(rng).chain(numbers).collect()
    }

    /// The episode and the numbers that [`snapshot`](Self::snapshot) took down. All numbers are finite.
    pub(super) fn restored<const N: usize>(snapshot: &[u64]) -> Result<(Self, [f64; N]), Error> {
        let (head, numbers) = snapshot.split_first_chunk::<7>().ok_or(Error::Snapshot)?;
        let &[seeded, under_way, ref rng @ ..] = head;
        let episode = match (seeded, under_way) {
            (0, 0) => Self::default(),
            (1, 0 | 1) => {
                let rng = Pcg64::from_words(*rng).ok_or(Error::Snapshot)?;
                Self { rng: Some(rng), under_way: under_way == 1 }
            }
            _ => return Err(Error::Snapshot),
        };
        let numbers: [u64; N] = numbers.try_into().map_err(|_| Error::Snapshot)?;
        let numbers = numbers.map(f64::from_bits);
        if numbers.iter().all(|number| number.is_finite()) {
            Ok((episode, numbers))
        } else {
            Err(Error::Snapshot)
        }
    }

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
