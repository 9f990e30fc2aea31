//! What is led: windows, and the outputs that are asked for afterwards.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::{Digest, Error, Memory};

/// One case that a referee leads. An [`Operation`](crate::Operation) is one; a training is another.
pub trait Work {
    /// Does what a window asks for. None of it was done beforehand.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn round(&mut self, window: &Window) -> Result<Round, Error>;

    /// Writes what a repetition of this nonce gives into a folder, which is there already.
    ///
    /// # Errors
    ///
    /// Any of the implementation's own: [`serve`](crate::serve) ends with it.
    fn outputs(&mut self, nonce: u64, repetition: u64, folder: &Path) -> Result<(), Error>;
}

/// What the referee asks for when it opens a window.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// What the inputs come from.
    pub nonce: u64,
    /// The number of the first repetition.
    pub first: u64,
    /// How many repetitions follow one another; there may be none.
    pub repetitions: u64,
    /// The seed of a training, said when the window opens.
    pub seed: Option<u64>,
    /// When this process said that it is ready.
    pub ready: Instant,
    /// When the order was heard.
    pub heard: Instant,
}

/// What a window gives.
#[derive(Debug)]
pub struct Round {
    /// What is claimed, by the names of the benchmark's metrics.
    pub metrics: BTreeMap<&'static str, Figure>,
    /// How much work was done, by the names of the benchmark's counts.
    pub counts: BTreeMap<&'static str, u64>,
    /// One of each repetition.
    pub digests: Vec<Digest>,
    /// Peaks of memory.
    pub memory: Memory,
    /// Seconds of all timed parts. The rest of the window is claimed as spent between them.
    pub timed_seconds: f64,
}

impl Round {
    /// What a window of no repetition gives where no metric has a figure for each.
    pub fn empty() -> Self {
        Self {
            metrics: BTreeMap::new(),
            counts: BTreeMap::new(),
            digests: Vec::new(),
            memory: Memory::now(),
            timed_seconds: 0.0,
        }
    }
}

/// One figure, or one for each timed repetition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// One for all.
    One(f64),
    /// One for each.
    Each(Vec<f64>),
}
