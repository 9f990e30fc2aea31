//! The actions that an environment takes.

/// Tells where one action lies in a batch of them.
pub trait ActionSpace {
    /// One action.
    type Action: ?Sized;

    /// What a batch of actions is a slice of.
    type Value;

    /// Values of one action in a batch.
    fn width(&self) -> usize;

    /// Action number `row` of a batch, which has [`width`](Self::width) values for each.
    ///
    /// # Panics
    ///
    /// Where the batch is shorter.
    fn action<'a>(&self, batch: &'a [Self::Value], row: usize) -> &'a Self::Action;
}

/// One of `count` actions: 0, 1, ... Gymnasium's `Discrete`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discrete {
    /// Number of actions.
    pub count: u32,
}

impl ActionSpace for Discrete {
    type Action = u32;
    type Value = u32;

    fn width(&self) -> usize {
        1
    }

    #[inline]
    fn action<'a>(&self, batch: &'a [u32], row: usize) -> &'a u32 {
        &batch[row]
    }
}

/// A real number for each dimension of the action. Gymnasium's `Box` of one dimension.
///
/// `low` and `high` have the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuous {
    /// The lower bound of each dimension.
    pub low: Vec<f32>,
    /// The upper bound of each dimension.
    pub high: Vec<f32>,
}

impl ActionSpace for Continuous {
    type Action = [f32];
    type Value = f32;

    fn width(&self) -> usize {
        self.low.len()
    }

    #[inline]
    fn action<'a>(&self, batch: &'a [f32], row: usize) -> &'a [f32] {
        &batch[row * self.width()..(row + 1) * self.width()]
    }
}
