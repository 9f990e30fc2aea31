//! The order of the minibatches that numbers choose.

use torchforge_nn::Error;

use super::{Call, Minibatches};

/// Minibatches that are chosen from.
const CHOICES: usize = 100;
/// From this bit on a number says how much is added to a first reward, in multiples of 2^-20.
const ADDEND_BITS: u32 = 44;
const ADDEND_STEP: f32 = 1.0 / 1_048_576.0;

/// For each update of a repetition a minibatch, and its rewards with the first one changed.
#[derive(Debug, Default)]
pub(crate) struct Order {
    minibatches: Vec<usize>,
    rewards: Vec<f32>,
    len: usize,
}

impl Order {
    /// Sees that a file has as many minibatches as are chosen from, and each as many rows as a case says, if it does.
    pub(crate) fn check(rewards: &Minibatches, rows: Option<usize>) -> Result<(), Error> {
        let (count, len) = (rewards.count(), rewards.len);
        if count >= CHOICES && rows.is_none_or(|rows| rows == len) {
            return Ok(());
        }
        let of_rows = rows.map(|rows| format!(" of {rows} rows")).unwrap_or_default();
        Err(Error::TensorKind {
            name: "rewards or returns".into(),
            expected: format!("F32 of at least {CHOICES} minibatches{of_rows}"),
            found: format!("{count} minibatches of {len} rows"),
        })
    }

    /// Takes the order from one number for each update. Nothing of the file but a row of rewards each is copied.
    pub(crate) fn draw(&mut self, numbers: &[u64], rewards: &Minibatches) {
        self.minibatches.clear();
        self.rewards.clear();
        self.len = rewards.len;
        for number in numbers {
            let minibatch = (number % CHOICES as u64) as usize;
            let first = self.rewards.len();
            self.rewards.extend_from_slice(rewards.get(minibatch));
            if let Some(reward) = self.rewards.get_mut(first) {
                *reward += (number >> ADDEND_BITS) as f32 * ADDEND_STEP;
            }
            self.minibatches.push(minibatch);
        }
    }

    /// The updates one after the other.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        let chosen = self.minibatches.iter().zip(self.rewards.chunks_exact(self.len.max(1)));
        chosen.enumerate().map(|(number, (&minibatch, rewards))| Call {
            number,
            minibatch,
            rewards: Some(rewards),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_a_minibatch_and_changes_its_first_reward() {
        let rewards = Minibatches { values: (0..200).map(|value| value as f32).collect(), len: 2 };
        Order::check(&rewards, None).unwrap();
        let mut order = Order::default();
        order.draw(&[3 << ADDEND_BITS, 0, u64::MAX], &rewards);
        let found: Vec<_> =
            order.calls().map(|call| (call.number, call.minibatch, call.rewards.unwrap())).collect();
        let three = ((3_u64 << 44) % 100) as usize;
        let most = (u64::MAX % 100) as usize;
        assert_eq!(
            found,
            [
                (0, three, &[2.0 * three as f32 + 3.0 / 1_048_576.0, 2.0 * three as f32 + 1.0][..]),
                (1, 0, &[0.0, 1.0]),
                (2, most, &[2.0 * most as f32 + 1_048_575.0 / 1_048_576.0, 2.0 * most as f32 + 1.0]),
            ]
        );
    }

    #[test]
    fn a_file_with_too_few_minibatches_is_an_error() {
        let rewards = Minibatches { values: vec![0.0; 198], len: 2 };
        assert!(Order::check(&rewards, None).unwrap_err().to_string().contains("99 minibatches"));
    }

    #[test]
    fn a_file_whose_minibatches_have_other_rows_is_an_error() {
        let rewards = Minibatches { values: vec![0.0; 200], len: 2 };
        Order::check(&rewards, Some(2)).unwrap();
        let refused = Order::check(&rewards, Some(3)).unwrap_err().to_string();
        assert!(refused.contains("minibatches of 3 rows") && refused.contains("minibatches of 2 rows"));
    }
}
