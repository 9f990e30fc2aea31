//! What the rows of a ring are drawn by.

use rand_core::Rng;

use super::sum_tree::SumTree;
use super::{Error, draw};

/// A priority for each row.
#[derive(Debug, Clone)]
pub enum Priorities {
    /// Each is 1, so a row is drawn by its number.
    Equal,
    /// Each is its own.
    Tree(SumTree),
}

impl Priorities {
    /// Those of `rows` rows, whose exponent is `alpha`: all priorities are 1 where that is 0.
    pub fn new(rows: usize, alpha: f64) -> Result<Self, Error> {
        if alpha == 0.0 { Ok(Self::Equal) } else { SumTree::new(rows).map(Self::Tree) }
    }

    /// The sum of those of the first `held` rows. All others are 0.
    pub fn total(&self, held: usize) -> f64 {
        match self {
            Self::Equal => held as f64,
            Self::Tree(tree) => tree.total(),
        }
    }

    /// The priority of a row that is held.
    pub fn get(&self, row: usize) -> f64 {
        match self {
            Self::Equal => 1.0,
            Self::Tree(tree) => tree.get(row),
        }
    }

    /// Changes the priority of a row.
    pub fn set(&mut self, row: usize, priority: f64) {
        if let Self::Tree(tree) = self {
            tree.set(row, priority);
        }
    }

    /// Draws rows of the first `held`: each by itself where all are as probable, else one from each equal part of the total
    /// (Schaul et al., 2016, appendix B.2.1). `targets`, as many, are a tree's to write.
    pub fn draw(&self, rng: &mut impl Rng, held: usize, targets: &mut [f64], rows: &mut [usize]) {
        match self {
            Self::Equal => rows.fill_with(|| draw::index_below(rng, held)),
            Self::Tree(tree) => {
                let part = tree.total() / targets.len() as f64;
                for (place, target) in targets.iter_mut().enumerate() {
                    *target = (place as f64 + draw::unit(rng)) * part;
                }
                tree.find(targets, rows);
            }
        }
    }

    /// The importance-sampling weights of rows: the least priority over each one's, to the power of `beta`.
    pub fn weigh(&self, rows: &[usize], beta: f64, weights: &mut [f32]) {
        match self {
            Self::Equal => weights.fill(1.0),
            Self::Tree(tree) => {
                let least = tree.least();
                for (weight, &row) in weights.iter_mut().zip(rows) {
                    *weight = (least / tree.get(row)).powf(beta) as f32;
                }
            }
        }
    }
}
