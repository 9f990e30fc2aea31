//! What the replay buffer promises.

use proptest::prelude::*;
use torchforge_data::{Batch, Error, ReplayBuffer, Rows, Transition};
use torchforge_env::Pcg64;

fn push_numbered(buffer: &mut ReplayBuffer<u32>, number: u32, width: usize) {
    let observation = vec![number as f32; width];
    let next_observation = vec![number as f32 + 0.5; width];
    buffer
        .push(Transition {
            observation: &observation,
            next_observation: &next_observation,
            action: &[number],
            reward: -(number as f32),
            terminated: number % 2 == 1,
            truncated: number % 3 == 1,
        })
        .unwrap();
}

proptest! {
    #[test]
    fn a_sampled_row_is_one_whole_transition_among_the_most_recent(
        capacity in 1_usize..40,
        foreseen in 0_usize..60,
        width in 1_usize..6,
        pushes in 1_u32..100,
        size in 1_usize..50,
        seed in any::<u64>(),
    ) {
        let mut buffer = ReplayBuffer::for_pushes(capacity, foreseen, width, 1).unwrap();
        for number in 0..pushes {
            push_numbered(&mut buffer, number, width);
        }
        prop_assert_eq!(buffer.len(), capacity.min(pushes as usize));

        let mut batch = Batch::new(size, width, 1).unwrap();
        buffer.sample(&mut Pcg64::new(seed), &mut batch).unwrap();
        for row in 0..size {
            let number = batch.actions()[row];
            prop_assert!(number < pushes && number >= pushes.saturating_sub(capacity as u32));
            let values = row * width..(row + 1) * width;
            prop_assert!(batch.observations()[values.clone()].iter().all(|&x| x == number as f32));
            prop_assert!(batch.next_observations()[values].iter().all(|&x| x == number as f32 + 0.5));
            prop_assert_eq!(batch.rewards()[row], -(number as f32));
            prop_assert_eq!(batch.terminations()[row], (number % 2 == 1) as u8 as f32);
            prop_assert_eq!(batch.truncations()[row], (number % 3 == 1) as u8 as f32);
        }
    }
}

#[test]
fn arrays_of_the_caller_get_what_a_batch_gets_or_an_error_by_name() {
    let mut buffer = ReplayBuffer::new(10, 2, 1).unwrap();
    (0..7).for_each(|number| push_numbered(&mut buffer, number, 2));
    let mut batch = Batch::new(5, 2, 1).unwrap();
    buffer.sample(&mut Pcg64::new(3), &mut batch).unwrap();

    let (mut observations, mut next_observations, mut actions) = ([0.0; 10], [0.0; 10], [0; 5]);
    let (mut rewards, mut terminations, mut truncations) = ([0.0; 5], [0.0; 5], [0.0; 5]);
    let mut sample = |actions: &mut [u32]| {
        let into = Rows {
            observations: &mut observations,
            next_observations: &mut next_observations,
            actions,
            rewards: &mut rewards,
            terminations: &mut terminations,
            truncations: &mut truncations,
        };
        buffer.sample_into(&mut Pcg64::new(3), into)
    };
    assert_eq!(sample(&mut [0; 4]), Err(Error::Len { what: "actions", expected: 5, found: 4 }));
    sample(&mut actions).unwrap();
    assert_eq!(
        (&observations[..], &next_observations[..]),
        (batch.observations(), batch.next_observations())
    );
    assert_eq!((&actions[..], &rewards[..]), (batch.actions(), batch.rewards()));
    assert_eq!((&terminations[..], &truncations[..]), (batch.terminations(), batch.truncations()));
}

#[test]
fn a_row_is_read_where_it_lies_and_none_where_nothing_was_pushed() {
    let mut buffer = ReplayBuffer::new(4, 1, 1).unwrap();
    assert!(buffer.row(0).is_none() && buffer.newest().is_none());
    (0..6).for_each(|number| push_numbered(&mut buffer, number, 1));
    let held: Vec<u32> = (0..4).map(|row| buffer.row(row).unwrap().action[0]).collect();
    assert_eq!(held, [4, 5, 2, 3]);
    assert_eq!(buffer.newest().unwrap().action, [5]);
    assert!(buffer.row(4).is_none());
}

#[test]
fn every_stored_transition_is_drawn_about_equally_often() {
    let mut buffer = ReplayBuffer::new(10, 1, 1).unwrap();
    for number in 0..10 {
        push_numbered(&mut buffer, number, 1);
    }
    let mut batch = Batch::new(100_000, 1, 1).unwrap();
    buffer.sample(&mut Pcg64::new(7), &mut batch).unwrap();
    for number in 0..10 {
        let drawn = batch.actions().iter().filter(|&&action| action == number).count();
        // The standard deviation is 95: this is more than five of them.
        assert!((9_500..10_500).contains(&drawn), "{number} was drawn {drawn} times");
    }
}

#[test]
fn actions_of_several_values_stay_whole_and_the_newest_transition_can_be_read_back() {
    let mut buffer = ReplayBuffer::new(3, 1, 2).unwrap();
    assert!(buffer.newest().is_none());
    for number in 0..7_u8 {
        let value = f32::from(number);
        buffer
            .push(Transition {
                observation: &[value],
                next_observation: &[value + 1.0],
                action: &[value, -value],
                reward: 0.0,
                terminated: false,
                truncated: number == 6,
            })
            .unwrap();
        let newest = buffer.newest().unwrap();
        assert_eq!((newest.action, newest.next_observation), (&[value, -value][..], &[value + 1.0][..]));
        assert_eq!((newest.terminated, newest.truncated), (false, number == 6));
    }
    let mut batch = Batch::new(50, 1, 2).unwrap();
    buffer.sample(&mut Pcg64::new(3), &mut batch).unwrap();
    for (action, observation) in batch.actions().chunks(2).zip(batch.observations()) {
        assert_eq!(action, [*observation, -observation]);
    }
}

#[test]
fn a_misused_buffer_says_what_is_wrong() {
    assert_eq!(ReplayBuffer::<u32>::new(0, 4, 1).unwrap_err(), Error::Zero { what: "capacity" });
    assert_eq!(Batch::<u32>::new(3, 0, 1).unwrap_err(), Error::Zero { what: "observation length" });
    for capacity in [1 << 44, usize::MAX] {
        let error = ReplayBuffer::<u32>::new(capacity, 4, 1).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let error = Batch::<u32>::new(capacity, 4, 1).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }

    let mut buffer = ReplayBuffer::new(2, 4, 1).unwrap();
    let mut batch = Batch::new(2, 4, 1).unwrap();
    assert_eq!(buffer.sample(&mut Pcg64::new(1), &mut batch).unwrap_err(), Error::Empty);

    push_numbered(&mut buffer, 0, 4);
    let mut narrow = Batch::new(2, 3, 1).unwrap();
    let expected = Error::Len { what: "a batch's observation", expected: 4, found: 3 };
    assert_eq!(buffer.sample(&mut Pcg64::new(1), &mut narrow).unwrap_err(), expected);
}

#[test]
fn rows_that_were_lent_make_another_buffer_of_the_same() {
    for pushed in [0, 3, 5, 8] {
        let mut first = ReplayBuffer::new(5, 2, 1).unwrap();
        (0..pushed).for_each(|number| push_numbered(&mut first, number, 2));
        let mut second = ReplayBuffer::for_pushes(5, 0, 2, 1).unwrap();
        second.resume_at(first.len(), first.next_row()).unwrap();
        let (from, into) = (first.rows_mut(), second.rows_mut());
        into.observations.copy_from_slice(from.observations);
        into.next_observations.copy_from_slice(from.next_observations);
        into.actions.copy_from_slice(from.actions);
        into.rewards.copy_from_slice(from.rewards);
        into.terminations.copy_from_slice(from.terminations);
        into.truncations.copy_from_slice(from.truncations);
        for buffer in [&mut first, &mut second] {
            push_numbered(buffer, 100, 2);
        }
        let sampled = |buffer: &ReplayBuffer<u32>| {
            let mut batch = Batch::new(64, 2, 1).unwrap();
            buffer.sample(&mut Pcg64::new(1), &mut batch).unwrap();
            (batch.observations().to_vec(), batch.next_observations().to_vec(), batch.actions().to_vec())
        };
        assert_eq!(sampled(&first), sampled(&second), "after {pushed}");
    }
}

/// Bytes of this process that lie in memory.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

#[test]
fn memory_for_more_than_the_pushes_to_come_is_not_touched() {
    const ROWS: usize = 10_000_000;
    // Two observations of four values, an action, a reward and two flags.
    const BYTES: u64 = 4 * 12 * ROWS as u64;
    let before = resident_bytes();
    let mut buffer = ReplayBuffer::for_pushes(ROWS, 10, 4, 1).unwrap();
    (0..20).for_each(|number| push_numbered(&mut buffer, number, 4));
    assert_eq!((buffer.len(), buffer.capacity()), (20, ROWS));
    assert!(resident_bytes() < before + BYTES / 4);
}

#[test]
fn a_buffer_resumes_only_at_a_place_that_pushing_leads_to() {
    let mut buffer = ReplayBuffer::<u32>::new(5, 2, 1).unwrap();
    for (len, next) in [(0, 0), (3, 3), (5, 0), (5, 4)] {
        assert_eq!(buffer.resume_at(len, next), Ok(()));
    }
    for (len, next) in [(6, 0), (5, 5), (3, 2), (0, 1), (usize::MAX, 0)] {
        assert_eq!(buffer.resume_at(len, next), Err(Error::Position { capacity: 5, len, next }));
    }
    assert_eq!((buffer.len(), buffer.next_row()), (5, 4), "as before");
}
