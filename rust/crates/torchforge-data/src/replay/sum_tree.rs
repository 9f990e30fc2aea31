//! A binary tree of sums: a leaf is found by its share of the whole in logarithmic time.

use super::{Error, columns};

/// What a node says of the leaves below it.
#[derive(Debug, Clone, Copy)]
struct Node {
    sum: f64,
    /// The smallest of those above 0; infinite where there is none.
    least: f64,
}

/// A leaf without weight, and a subtree of such.
const NOTHING: Node = Node { sum: 0.0, least: f64::INFINITY };

impl Default for Node {
    fn default() -> Self {
        NOTHING
    }
}

/// Weights of at least 0, one a row. Node 1 is the root, and the children of node `i` are `2i` and `2i + 1`.
///
/// Every sum is computed from its two children, never adjusted by a difference, so that rounding errors do not add up over
/// the updates: a sum is within `log2(rows)` roundings of the true one.
#[derive(Debug, Clone)]
pub struct SumTree {
    nodes: Vec<Node>,
    first_leaf: usize,
}

impl SumTree {
    /// A tree of `rows` weights of 0.
    pub fn new(rows: usize) -> Result<Self, Error> {
        let too_large = Error::TooLarge { rows, values: 1 };
        let first_leaf = rows.checked_next_power_of_two().ok_or(too_large)?;
        let nodes = first_leaf.checked_mul(2).ok_or(too_large)?;
        Ok(Self { nodes: columns::touched(columns::room(nodes, too_large)?, nodes), first_leaf })
    }

    /// The sum of all weights.
    pub fn total(&self) -> f64 {
        self.nodes[1].sum
    }

    /// The smallest weight above 0; infinite where there is none.
    pub fn least(&self) -> f64 {
        self.nodes[1].least
    }

    /// The weight of a row.
    pub fn get(&self, row: usize) -> f64 {
        self.nodes[self.first_leaf + row].sum
    }

    /// Changes the weight of a row to a finite number of at least 0.
    pub fn set(&mut self, row: usize, weight: f64) {
        let mut node = self.first_leaf + row;
        let mut value = if weight > 0.0 { Node { sum: weight, least: weight } } else { NOTHING };
        self.nodes[node] = value;
        while node > 1 {
            // A sum does not depend on which of the two comes first, so the one that changed stays in its register.
            let sibling = self.nodes[node ^ 1];
            let least = if sibling.least < value.least { sibling.least } else { value.least };
            value = Node { sum: value.sum + sibling.sum, least };
            node /= 2;
            self.nodes[node] = value;
        }
    }

    /// Finds the rows in whose parts of the whole the targets lie, when the weights are laid side by side. None of them has a
    /// weight of 0, whatever rounding did to its target, as long as the total is above 0. The targets are used up.
    ///
    /// All descend together, level by level: each waits for memory, and none for another.
    pub fn find(&self, targets: &mut [f64], rows: &mut [usize]) {
        rows.fill(1);
        for _ in 0..self.first_leaf.trailing_zeros() {
            for (target, node) in targets.iter_mut().zip(rows.iter_mut()) {
                let (left, right) = (self.nodes[2 * *node].sum, self.nodes[2 * *node + 1].sum);
                // A sum is above 0 exactly if a leaf below it is.
                let to_right = *target >= left && right > 0.0;
                *target -= if to_right { left } else { 0.0 };
                *node = 2 * *node + usize::from(to_right);
            }
        }
        rows.iter_mut().for_each(|node| *node -= self.first_leaf);
    }
}
