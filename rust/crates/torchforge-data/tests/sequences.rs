//! What sampling of sequences promises, against a reference that searches the list of all steps ever made.

use std::collections::BTreeSet;

use proptest::prelude::*;
use torchforge_data::{Batch, Error, Rows, SequenceReplayBuffer, Transition};
use torchforge_env::Pcg64;

/// Several values, so that fields differ in their width.
fn observation(number: usize) -> [f32; 2] {
    [number as f32, -(number as f32)]
}

fn action(number: usize) -> [u32; 3] {
    [number as u32, 7, number as u32 + 1]
}

fn push(buffer: &mut SequenceReplayBuffer<u32>, number: usize, ends: bool) {
    buffer
        .push(Transition {
            observation: &observation(number),
            next_observation: &observation(number).map(|value| value + 0.5),
            action: &action(number),
            reward: number as f32,
            terminated: ends && number.is_multiple_of(2),
            truncated: ends && number % 2 == 1,
        })
        .unwrap();
}

/// First steps of all sequences within one episode whose steps are all held.
fn starts(ends: &[bool], capacity: usize, length: usize) -> BTreeSet<usize> {
    let oldest = ends.len().saturating_sub(capacity);
    (oldest..ends.len())
        .filter(|&start| start + length <= ends.len())
        .filter(|&start| !ends[start..start + length - 1].contains(&true))
        .collect()
}

proptest! {
    #[test]
    fn every_whole_sequence_of_an_episode_is_drawn_and_no_other(
        ends in prop::collection::vec(prop::bool::weighted(0.2), 0..80),
        capacity in 1_usize..30,
        length in 1_usize..8,
        resumed in any::<bool>(),
        seed in any::<u64>(),
    ) {
        prop_assume!(length <= capacity);
        let mut buffer = SequenceReplayBuffer::new(capacity, 2, 3, length).unwrap();
        for (number, &ends) in ends.iter().enumerate() {
            push(&mut buffer, number, ends);
        }
        if resumed {
            let mut again = SequenceReplayBuffer::new(capacity, 2, 3, length).unwrap();
            let (len, next) = (buffer.len(), buffer.next_row());
            again.resume_at(len, next, |into| {
                let from = buffer.rows_mut();
                into.observations.copy_from_slice(from.observations);
                into.next_observations.copy_from_slice(from.next_observations);
                into.actions.copy_from_slice(from.actions);
                into.rewards.copy_from_slice(from.rewards);
                into.terminations.copy_from_slice(from.terminations);
                into.truncations.copy_from_slice(from.truncations);
            }).unwrap();
            buffer = again;
        }
        // An episode whose beginning a resumed buffer does not know begins with its oldest step, which changes no sequence.
        let expected = starts(&ends, capacity, length);
        prop_assert_eq!(buffer.sequences(), expected.len());
        let mut batch = Batch::new(400 * length, 2, 3).unwrap();
        match buffer.sample(&mut Pcg64::new(seed), &mut batch) {
            Ok(()) => {
                let mut drawn = BTreeSet::new();
                for (place, rewards) in batch.rewards().chunks(length).enumerate() {
                    let (start, rows) = (rewards[0] as usize, place * length..(place + 1) * length);
                    for (row, number) in rows.zip(start..) {
                        let of = |width: usize| row * width..(row + 1) * width;
                        prop_assert_eq!(&batch.observations()[of(2)], observation(number));
                        let next = observation(number).map(|value| value + 0.5);
                        prop_assert_eq!(&batch.next_observations()[of(2)], next);
                        prop_assert_eq!(&batch.actions()[of(3)], action(number));
                        prop_assert_eq!(batch.rewards()[row], number as f32);
                        let end = (ends[number] && number % 2 == 0, ends[number] && number % 2 == 1);
                        prop_assert_eq!((batch.terminations()[row] > 0.0, batch.truncations()[row] > 0.0), end);
                    }
                    drawn.insert(start);
                }
                prop_assert_eq!(drawn, expected);
            }
            Err(error) => {
                prop_assert!(expected.is_empty());
                prop_assert_eq!(error, if ends.is_empty() { Error::Empty } else { Error::NoSequence { length } });
            }
        }
    }
}

#[test]
fn a_misused_buffer_says_what_is_wrong() {
    assert_eq!(
        SequenceReplayBuffer::<u32>::new(4, 1, 1, 5).unwrap_err(),
        Error::TooLong { capacity: 4, length: 5 }
    );
    assert_eq!(
        SequenceReplayBuffer::<u32>::new(4, 1, 1, 0).unwrap_err(),
        Error::Zero { what: "sequence length" }
    );
    let mut buffer = SequenceReplayBuffer::new(4, 2, 3, 3).unwrap();
    push(&mut buffer, 0, false);
    let mut batch = Batch::new(4, 2, 3).unwrap();
    assert_eq!(
        buffer.sample(&mut Pcg64::new(1), &mut batch).unwrap_err(),
        Error::Sequences { size: 4, length: 3 }
    );
    let into = Rows {
        observations: &mut [0.0; 6],
        next_observations: &mut [0.0; 6],
        actions: &mut [0; 8],
        rewards: &mut [0.0; 3],
        terminations: &mut [0.0; 3],
        truncations: &mut [0.0; 3],
    };
    let refused = buffer.sample_into(&mut Pcg64::new(1), into);
    assert_eq!(refused, Err(Error::Len { what: "actions", expected: 9, found: 8 }));
}
