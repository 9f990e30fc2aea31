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
        self.nodes[node] = if weight > 0.0 { Node { sum: weight, least: weight } } else { NOTHING };
        while node > 1 {
            node /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            self.nodes[node] = Node { sum: left.sum + right.sum, least: left.least.min(right.least) };
        }
    }

    /// The row in whose part of the whole `target` lies, when the weights are laid side by side. It never has a weight of 0,
    /// whatever rounding did to the target, as long as the total is above 0.
    pub fn find(&self, mut target: f64) -> usize {
        let mut node = 1;
        while node < self.first_leaf {
            node *= 2;
            let (left, right) = (self.nodes[node].sum, self.nodes[node + 1].sum);
            // A sum is above 0 exactly if a leaf below it is.
            if target >= left && right > 0.0 {
                target -= left;
                node += 1;
            }
        }
        node - self.first_leaf
    }
}
