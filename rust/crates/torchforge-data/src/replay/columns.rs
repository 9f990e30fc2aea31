//! Memory of transitions, and of whatever else has a value for each of them.

use super::copy::copy;
use super::rows::Row;
use super::{Error, Observation, Rows};
use crate::prefetch::fetch;

/// One array per field, so that a minibatch is copied from, and into, contiguous memory.
#[derive(Debug, Clone)]
pub struct Columns<A, O> {
    pub observation_len: usize,
    pub action_len: usize,
    pub observations: Vec<O>,
    pub next_observations: Vec<O>,
    pub actions: Vec<A>,
    pub rewards: Vec<f32>,
    pub terminations: Vec<f32>,
    pub truncations: Vec<f32>,
}

impl<A: Copy + Default, O: Observation> Columns<A, O> {
    /// So many rows; `what` names their number in an error.
    pub fn zeroed(
        rows: usize,
        what: &'static str,
        observation_len: usize,
        action_len: usize,
    ) -> Result<Self, Error> {
        let mut columns = Self::with_room(rows, what, observation_len, action_len)?;
        columns.touch(rows);
        Ok(columns)
    }

    /// No row, and room for so many.
    pub fn with_room(
        rows: usize,
        what: &'static str,
        observation_len: usize,
        action_len: usize,
    ) -> Result<Self, Error> {
        for (count, what) in
            [(rows, what), (observation_len, "observation length"), (action_len, "action length")]
        {
            if count == 0 {
                return Err(Error::Zero { what });
            }
        }
        let largest = size_of::<f32>().max(size_of::<A>()).max(size_of::<O>());
        let total = |values: usize| {
            rows.checked_mul(values)
                .filter(|&total| total <= isize::MAX as usize / largest)
                .ok_or(Error::TooLarge { rows, values })
        };
        let (values, action_values) = (total(observation_len)?, total(action_len)?);
        let too_large = Error::TooLarge { rows, values: observation_len.max(action_len) };
        Ok(Self {
            observation_len,
            action_len,
            observations: room(values, too_large)?,
            next_observations: room(values, too_large)?,
            actions: room(action_values, too_large)?,
            rewards: room(rows, too_large)?,
            terminations: room(rows, too_large)?,
            truncations: room(rows, too_large)?,
        })
    }

    /// Has at least so many rows from now on.
    #[inline]
    pub fn touch(&mut self, rows: usize) {
        if rows > self.rewards.len() {
            self.touch_more(rows);
        }
    }

    #[cold]
    fn touch_more(&mut self, rows: usize) {
        touch(&mut self.observations, rows * self.observation_len);
        touch(&mut self.next_observations, rows * self.observation_len);
        touch(&mut self.actions, rows * self.action_len);
        touch(&mut self.rewards, rows);
        touch(&mut self.terminations, rows);
        touch(&mut self.truncations, rows);
    }

    /// The first `len` rows, borrowed.
    pub fn rows(&mut self, len: usize) -> Rows<'_, A, O> {
        let values = len * self.observation_len;
        Rows {
            observations: &mut self.observations[..values],
            next_observations: &mut self.next_observations[..values],
            actions: &mut self.actions[..len * self.action_len],
            rewards: &mut self.rewards[..len],
            terminations: &mut self.terminations[..len],
            truncations: &mut self.truncations[..len],
        }
    }

    /// Has the processor fetch the transition in row `row`, and of long observations their beginnings and ends.
    #[inline(always)]
    pub fn fetch(&self, row: usize) {
        let (width, action_len) = (self.observation_len, self.action_len);
        fetch(&self.observations[row * width..][..width]);
        fetch(&self.next_observations[row * width..][..width]);
        fetch(&self.actions[row * action_len..][..action_len]);
        for values in [&self.rewards, &self.terminations, &self.truncations] {
            fetch(&values[row..=row]);
        }
    }

    /// Copies the transition in row `from` to where somebody else has it.
    #[inline]
    pub fn copy_to(&self, into: Row<'_, A, O>, from: usize) {
        let values = from * self.observation_len..(from + 1) * self.observation_len;
        copy(into.observation, &self.observations[values.clone()]);
        copy(into.next_observation, &self.next_observations[values]);
        copy(into.action, &self.actions[from * self.action_len..][..self.action_len]);
        *into.reward = self.rewards[from];
        *into.terminated = self.terminations[from];
        *into.truncated = self.truncations[from];
    }

    /// Copies `count` rows from row `from` on to the rows of `into` from row `at` on. The rows of a field are one copy.
    pub fn copy_rows(&self, into: &mut Rows<'_, A, O>, at: usize, from: usize, count: usize) {
        fn run<T: Copy>(into: &mut [T], at: usize, values: &[T], from: usize, count: usize, width: usize) {
            into[at * width..][..count * width].copy_from_slice(&values[from * width..][..count * width]);
        }
        let (width, action_len) = (self.observation_len, self.action_len);
        run(into.observations, at, &self.observations, from, count, width);
        run(into.next_observations, at, &self.next_observations, from, count, width);
        run(into.actions, at, &self.actions, from, count, action_len);
        run(into.rewards, at, &self.rewards, from, count, 1);
        run(into.terminations, at, &self.terminations, from, count, 1);
        run(into.truncations, at, &self.truncations, from, count, 1);
    }

    /// Copies the transition that leads from the beginning of row `from` of another storage to the end of its row `last`, and
    /// earns `reward`.
    #[inline]
    pub fn copy_span(&mut self, row: usize, other: &Self, from: usize, last: usize, reward: f32) {
        let (width, action_len) = (self.observation_len, self.action_len);
        let into = row * width..(row + 1) * width;
        copy(&mut self.observations[into.clone()], &other.observations[from * width..][..width]);
        copy(&mut self.next_observations[into], &other.next_observations[last * width..][..width]);
        copy(
            &mut self.actions[row * action_len..][..action_len],
            &other.actions[from * action_len..][..action_len],
        );
        self.rewards[row] = reward;
        self.terminations[row] = other.terminations[last];
        self.truncations[row] = other.truncations[last];
    }
}

/// A list with room for `len` values, or the error where there is no memory.
pub fn room<T>(len: usize, error: Error) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| error)?;
    Ok(values)
}

/// The list filled with so many values.
pub fn touched<T: Copy + Default>(mut values: Vec<T>, len: usize) -> Vec<T> {
    touch(&mut values, len);
    values
}

/// Makes a list of so many values longer, all of them written: `vec![0.0; n]` would leave the pages to be mapped by the first
/// pushes. The compiler may not see that the list is new, or it would take zeroed memory too.
///
/// A list that is filled at once lies in huge pages. One that grows takes no more memory than it needs.
fn touch<T: Copy + Default>(values: &mut Vec<T>, len: usize) {
    #[cfg(all(feature = "huge-pages", target_os = "linux"))]
    if values.is_empty() && len >= values.capacity() {
        super::huge_pages::prefer(values);
    }
    std::hint::black_box(values).resize(len, T::default());
}
