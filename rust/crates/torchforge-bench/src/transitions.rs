//! A tape of transitions: what replay buffers are filled with.

use std::path::Path;

use torchforge_data::Transition;

use crate::{Failure, files, npy};

/// So many transitions, a file a field.
pub(crate) struct Transitions {
    observation: usize,
    observations: Vec<f32>,
    next_observations: Vec<f32>,
    actions: Vec<f32>,
    /// In the file the number of the row.
    pub(crate) rewards: Vec<f32>,
    terminated: Vec<f32>,
    truncated: Vec<f32>,
}

impl Transitions {
    /// Reads `rows` transitions whose observations have `observation` values.
    pub(crate) fn read(folder: &Path, rows: usize, observation: usize) -> Result<Self, Failure> {
        let field = |name: &str, shape: &[usize]| {
            let path = folder.join(format!("{name}.npy"));
            npy::decode(&files::read(&path)?, shape).map_err(|reason| Failure::Input { path, reason })
        };
        Ok(Self {
            observation,
            observations: field("observations", &[rows, observation])?,
            next_observations: field("next_observations", &[rows, observation])?,
            actions: field("actions", &[rows, 1])?,
            rewards: field("rewards", &[rows])?,
            terminated: field("terminated", &[rows])?,
            truncated: field("truncated", &[rows])?,
        })
    }

    /// How many there are.
    pub(crate) fn rows(&self) -> usize {
        self.rewards.len()
    }

    /// One of them.
    pub(crate) fn row(&self, row: usize) -> Transition<'_, f32> {
        let values = row * self.observation..(row + 1) * self.observation;
        Transition {
            observation: &self.observations[values.clone()],
            next_observation: &self.next_observations[values],
            action: &self.actions[row..=row],
            reward: self.rewards[row],
            terminated: self.terminated[row] > 0.0,
            truncated: self.truncated[row] > 0.0,
        }
    }
}
