//! The calls of a repetition that its digest covers, where all of them would take longer than the calls.

use crate::operation::none_is_zero;
use crate::{Case, Failure};

/// One call of so many, from one on that a repetition's first number decides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covered {
    each: usize,
    begin: usize,
}

impl Covered {
    /// One of `each` calls of a repetition, or all where the case says nothing.
    pub(crate) fn new(case: &Case, each: Option<usize>, calls: usize) -> Result<Self, Failure> {
        let each = each.unwrap_or(1);
        none_is_zero(case, [("each", each), ("calls", calls)])?;
        if each > calls {
            return Err(
                case.fault("each is more than calls, so a digest would cover nothing; give at most calls")
            );
        }
        Ok(Self { each, begin: 0 })
    }

    /// Begins a repetition, given the number of its first call.
    pub(crate) fn begin(&mut self, number: u64) {
        self.begin = ((number >> 16) % self.each as u64) as usize;
    }

    /// What the digest covers of a repetition, whose calls these are.
    pub(crate) fn of<C>(self, calls: impl Iterator<Item = C>) -> impl Iterator<Item = C> {
        calls.skip(self.begin).step_by(self.each)
    }
}
