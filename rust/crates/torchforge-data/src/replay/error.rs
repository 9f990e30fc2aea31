//! What a replay buffer cannot do.

/// What a buffer cannot do, and why.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A capacity, batch size, observation length or action length of zero was asked for.
    #[error("{what} is 0: give at least 1")]
    Zero {
        /// The argument's name.
        what: &'static str,
    },
    /// There is no memory for the arrays, or none could address them.
    #[error("there is no memory for {rows} rows of {values} values: use less")]
    TooLarge {
        /// Rows asked for.
        rows: usize,
        /// Values in one observation or action.
        values: usize,
    },
    /// An observation or an action has another length than the buffer's.
    #[error("{what} has {found} values and the buffer holds {expected}")]
    Len {
        /// What was given.
        what: &'static str,
        /// The buffer's length.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A buffer of this capacity cannot be filled like this.
    #[error("a buffer of {capacity} rows cannot hold {len} and write row {next} next")]
    Position {
        /// Rows that the buffer can hold.
        capacity: usize,
        /// Rows that it was to hold.
        len: usize,
        /// The row that was to be written next.
        next: usize,
    },
    /// A sample was asked of an empty buffer.
    #[error("the replay buffer is empty: push a transition before sampling")]
    Empty,
    /// An option has a value outside of its range.
    #[error("{what} is {value}: give {allowed}")]
    Option {
        /// The option's name.
        what: &'static str,
        /// The value that was given.
        value: f64,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// A temporal-difference error is no finite number, so no priority follows from it.
    #[error("the temporal-difference error at position {position} is {value}: the update may have diverged")]
    TemporalDifference {
        /// Its place among those that were given.
        position: usize,
        /// The error.
        value: f32,
    },
    /// A stored priority is negative, no number, or above the highest; or it is not 1 where alpha is 0.
    #[error(
        "the priority of row {row} is {value}: give a number of at least 0 that is not above the highest, \
             and 1 where alpha is 0"
    )]
    Priority {
        /// The row that it belongs to.
        row: usize,
        /// The priority.
        value: f64,
    },
    /// No row has a priority above 0.
    #[error("no transition has a priority above 0: push one, or use an epsilon above 0")]
    NoPriority,
    /// A sequence is longer than the buffer.
    #[error("a buffer of {capacity} rows holds no sequence of {length} steps: use shorter sequences")]
    TooLong {
        /// Rows that the buffer can hold.
        capacity: usize,
        /// Steps of a sequence.
        length: usize,
    },
    /// A batch cannot be divided into whole sequences.
    #[error(
        "a batch of {size} rows is no whole number of sequences of {length} steps: make its size a multiple"
    )]
    Sequences {
        /// Rows of the batch.
        size: usize,
        /// Steps of a sequence.
        length: usize,
    },
    /// No episode in the buffer is long enough for a sequence.
    #[error(
        "no episode in the buffer has {length} steps yet: push more transitions, or use shorter sequences"
    )]
    NoSequence {
        /// Steps of a sequence.
        length: usize,
    },
}
