//! What prioritised replay promises.

use proptest::prelude::*;
use torchforge_data::{
    Error, NStep, NStepBatch, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, ReplayBuffer,
    Stamp, Transition,
};
use torchforge_env::Pcg64;

/// Errors become priorities as they are.
const PLAIN: PriorityOptions = PriorityOptions { alpha: 1.0, epsilon: 0.0 };

fn buffer(capacity: usize, options: PriorityOptions) -> PrioritizedReplayBuffer<u32> {
    PrioritizedReplayBuffer::new(capacity, 1, 1, options, NStep::new(1, 0.9).unwrap()).unwrap()
}

fn push(buffer: &mut PrioritizedReplayBuffer<u32>, number: u32) {
    with_transition(number, |transition| buffer.push(transition)).unwrap();
}

fn with_transition<T>(number: u32, push: impl FnOnce(Transition<'_, u32>) -> T) -> T {
    push(Transition {
        observation: &[number as f32],
        next_observation: &[number as f32 + 0.5],
        action: &[number],
        reward: 0.0,
        terminated: false,
        truncated: false,
    })
}

fn sample(buffer: &PrioritizedReplayBuffer<u32>, seed: u64, beta: f64, size: usize) -> PrioritizedBatch<u32> {
    let mut batch = PrioritizedBatch::new(size, 1, 1).unwrap();
    buffer.sample(&mut Pcg64::new(seed), beta, &mut batch).unwrap();
    batch
}

/// The stamp of each transition held now, found by sampling. All of them must have a priority above 0.
fn stamps(buffer: &PrioritizedReplayBuffer<u32>) -> Vec<(u32, Stamp)> {
    let batch = sample(buffer, 1, 0.0, 64 * buffer.len());
    let mut stamps: Vec<(u32, Stamp)> =
        batch.transitions().actions().iter().copied().zip(batch.stamps().iter().copied()).collect();
    stamps.sort_by_key(|&(number, _)| number);
    stamps.dedup();
    assert_eq!(stamps.len(), buffer.len(), "every transition is drawn once at least");
    stamps
}

/// What happens to a buffer.
#[derive(Debug, Clone)]
enum Event {
    Push,
    /// Errors for transitions that were drawn then, a stale one perhaps among them.
    Update(Vec<f32>),
    Draw(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let error =
        prop_oneof![1 => Just(0.0_f32), 4 => -1e3_f32..1e3, 1 => 1e-20_f32..1e-10, 1 => 1e20_f32..1e30];
    prop_oneof![
        4 => Just(Event::Push),
        2 => prop::collection::vec(error, 8).prop_map(Event::Update),
        2 => any::<u64>().prop_map(Event::Draw),
    ]
}

proptest! {
    #[test]
    fn priorities_are_those_of_a_list_whatever_happens(
        capacity in 1_usize..20,
        alpha in 0.0_f64..=1.0,
        epsilon in prop_oneof![Just(0.0), Just(1e-6)],
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut buffer = buffer(capacity, PriorityOptions { alpha, epsilon });
        // The naive reference: the number and priority of every transition ever pushed, and the numbers drawn last.
        let mut list: Vec<f64> = Vec::new();
        let mut highest = 1.0_f64;
        let mut drawn = PrioritizedBatch::new(8, 1, 1).unwrap();
        let mut numbers: Option<Vec<u32>> = None;
        for event in events {
            let oldest = list.len().saturating_sub(capacity);
            match event {
                Event::Push => {
                    push(&mut buffer, list.len() as u32);
                    list.push(highest);
                }
                Event::Draw(seed) => match buffer.sample(&mut Pcg64::new(seed), 0.5, &mut drawn) {
                    Ok(()) => {
                        let least = list[oldest..].iter().copied().filter(|&p| p > 0.0).fold(f64::INFINITY, f64::min);
                        for (&number, &weight) in drawn.transitions().actions().iter().zip(drawn.weights()) {
                            let priority = list[number as usize];
                            prop_assert!(number as usize >= oldest && priority > 0.0);
                            prop_assert_eq!(weight, (least / priority).powf(0.5) as f32);
                        }
                        numbers = Some(drawn.transitions().actions().to_vec());
                    }
                    Err(Error::Empty) => prop_assert!(list.is_empty()),
                    Err(error) => {
                        prop_assert_eq!(error, Error::NoPriority);
                        prop_assert!(list[oldest..].iter().all(|&priority| priority == 0.0));
                    }
                },
                Event::Update(errors) => {
                    let Some(numbers) = &numbers else { continue };
                    let stale = buffer.update_priorities(drawn.stamps(), &errors).unwrap();
                    let mut expected = 0;
                    for (&number, &error) in numbers.iter().zip(&errors) {
                        if (number as usize) < oldest {
                            expected += 1;
                        } else {
                            let priority = (f64::from(error.abs()) + epsilon).powf(alpha);
                            list[number as usize] = priority;
                            highest = highest.max(priority);
                        }
                    }
                    prop_assert_eq!(stale, expected);
                }
            }
            let oldest = list.len().saturating_sub(capacity);
            let mut expected = vec![0.0; list.len() - oldest];
            for number in oldest..list.len() {
                expected[number % capacity] = list[number];
            }
            prop_assert_eq!(buffer.priorities().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn an_alpha_of_0_draws_the_rows_of_a_uniform_buffer(
        capacity in 1_usize..40,
        pushes in 1_u32..100,
        size in 1_usize..70,
        seed in any::<u64>(),
        beta in 0.0_f64..=1.0,
    ) {
        let mut equal = buffer(capacity, PriorityOptions { alpha: 0.0, ..PriorityOptions::default() });
        let mut uniform = ReplayBuffer::<u32>::new(capacity, 1, 1).unwrap();
        for number in 0..pushes {
            push(&mut equal, number);
            with_transition(number, |transition| uniform.push(transition)).unwrap();
        }
        let (one, mut other) = (sample(&equal, seed, beta, size), NStepBatch::new(size, 1, 1).unwrap());
        uniform.sample_n_step(&mut Pcg64::new(seed), NStep::new(1, 0.9).unwrap(), &mut other).unwrap();
        prop_assert_eq!(one.transitions().actions(), other.transitions().actions());
        prop_assert!(one.weights().iter().all(|&weight| weight == 1.0));

        // Errors change nothing, whatever they are.
        equal.update_priorities(one.stamps(), &vec![seed as f32; size]).unwrap();
        let again = sample(&equal, seed, beta, size);
        prop_assert_eq!(again.stamps(), one.stamps());
        prop_assert!(equal.priorities().all(|priority| priority == 1.0));
        prop_assert_eq!(equal.priorities().len(), equal.len());
    }
}

#[test]
fn transitions_are_drawn_in_proportion_to_their_priorities() {
    let mut buffer = buffer(10, PLAIN);
    (0..10).for_each(|number| push(&mut buffer, number));
    for (number, stamp) in stamps(&buffer) {
        buffer.update_priorities(&[stamp], &[number as f32]).unwrap();
    }
    // Batches of one row, so that nothing is stratified.
    let mut drawn = [0_u32; 10];
    let mut rng = Pcg64::new(3);
    let mut batch = PrioritizedBatch::new(1, 1, 1).unwrap();
    for _ in 0..90_000 {
        buffer.sample(&mut rng, 0.4, &mut batch).unwrap();
        drawn[batch.transitions().actions()[0] as usize] += 1;
    }
    assert_eq!(drawn[0], 0, "a priority of 0 is never drawn");
    let statistic: f64 = (1..10)
        .map(|number| {
            let expected = 2_000.0 * f64::from(number);
            (f64::from(drawn[number as usize]) - expected).powi(2) / expected
        })
        .sum();
    // Chi-square with 8 degrees of freedom: 26.1 is exceeded once in a thousand seeds.
    assert!(statistic < 26.1, "chi-square {statistic} of {drawn:?}");
}

#[test]
fn a_batch_takes_one_transition_from_each_equal_part_of_the_whole() {
    let mut buffer = buffer(64, PLAIN);
    (0..64).for_each(|number| push(&mut buffer, number));
    let batch = sample(&buffer, 9, 1.0, 64);
    let expected: Vec<u32> = (0..64).collect();
    assert_eq!(batch.transitions().actions(), expected, "all priorities are equal");
    assert!(batch.weights().iter().all(|&weight| weight == 1.0));
}

#[test]
fn weights_times_probabilities_are_uniform_with_a_beta_of_one() {
    let mut buffer = buffer(4, PLAIN);
    (0..4).for_each(|number| push(&mut buffer, number));
    for (number, stamp) in stamps(&buffer) {
        buffer.update_priorities(&[stamp], &[(1 << number) as f32]).unwrap();
    }
    let batch = sample(&buffer, 2, 1.0, 256);
    for (&number, &weight) in batch.transitions().actions().iter().zip(batch.weights()) {
        assert_eq!(weight, 1.0 / (1 << number) as f32);
    }
}

#[test]
fn a_million_updates_of_very_different_sizes_leave_the_sum_exact() {
    let mut buffer = buffer(1_000, PLAIN);
    (0..1_000).for_each(|number| push(&mut buffer, number));
    let mut rng = Pcg64::new(11);
    let mut batch = PrioritizedBatch::new(100, 1, 1).unwrap();
    for round in 0..10_000 {
        buffer.sample(&mut rng, 0.4, &mut batch).unwrap();
        // Huge errors first: what a tree of differences would keep of them would drown the small ones.
        let error = if round < 5_000 { 1e30 } else { 1.0 };
        buffer.update_priorities(batch.stamps(), &[error; 100]).unwrap();
    }
    // Those that were drawn with huge errors were all drawn again, so only ones are left.
    let priorities: Vec<f64> = buffer.priorities().collect();
    assert!(priorities.iter().all(|&priority| priority == 1.0), "{priorities:?}");
    let batch = sample(&buffer, 4, 1.0, 1_000);
    let expected: Vec<u32> = (0..1_000).collect();
    assert_eq!(batch.transitions().actions(), expected, "each has its thousandth of the sum");
}

#[test]
fn the_error_of_a_replaced_transition_does_not_become_its_successors() {
    let mut buffer = buffer(2, PLAIN);
    (0..2).for_each(|number| push(&mut buffer, number));
    let before = stamps(&buffer);
    push(&mut buffer, 2); // in the row of transition 0
    let (stamps, errors) = ([before[0].1, before[1].1], [7.0, 5.0]);
    assert_eq!(buffer.update_priorities(&stamps, &errors), Ok(1));
    assert_eq!(buffer.priorities().collect::<Vec<_>>(), [1.0, 5.0]);
}

#[test]
fn an_update_with_an_error_that_is_no_number_changes_nothing() {
    let mut buffer = buffer(2, PLAIN);
    (0..2).for_each(|number| push(&mut buffer, number));
    let stamps: Vec<Stamp> = stamps(&buffer).into_iter().map(|(_, stamp)| stamp).collect();
    for bad in [f32::NAN, f32::INFINITY] {
        let error = buffer.update_priorities(&stamps, &[7.0, bad]).unwrap_err();
        assert!(matches!(error, Error::TemporalDifference { position: 1, .. }));
    }
    let error = buffer.update_priorities(&stamps, &[7.0]).unwrap_err();
    assert!(matches!(error, Error::Len { expected: 2, found: 1, .. }));
    assert_eq!(buffer.priorities().collect::<Vec<_>>(), [1.0, 1.0]);
}

#[test]
fn a_buffer_that_resumes_draws_what_the_first_one_draws() {
    for pushed in [0, 3, 5, 13] {
        let mut first = buffer(5, PriorityOptions::default());
        (0..pushed).for_each(|number| push(&mut first, number));
        if pushed > 0 {
            for (number, stamp) in stamps(&first) {
                first.update_priorities(&[stamp], &[number as f32]).unwrap();
            }
        }
        let mut second = buffer(5, PriorityOptions::default());
        let priorities: Vec<f64> = first.priorities().collect();
        second.resume_at(&priorities, first.next_row(), first.highest_priority()).unwrap();
        let (from, into) = (first.rows_mut(), second.rows_mut());
        into.observations.copy_from_slice(from.observations);
        into.next_observations.copy_from_slice(from.next_observations);
        into.actions.copy_from_slice(from.actions);
        for buffer in [&mut first, &mut second] {
            push(buffer, 100);
        }
        let (first, second) = (sample(&first, 8, 0.4, 64), sample(&second, 8, 0.4, 64));
        assert_eq!(first.transitions().actions(), second.transitions().actions(), "after {pushed}");
        assert_eq!(first.weights(), second.weights());
    }
}

#[test]
fn a_misused_buffer_says_what_is_wrong() {
    let n_step = NStep::new(1, 0.9).unwrap();
    for (alpha, epsilon) in [(1.5, 0.0), (f64::NAN, 0.0), (0.5, -1.0)] {
        let options = PriorityOptions { alpha, epsilon };
        let error = PrioritizedReplayBuffer::<u32>::new(2, 1, 1, options, n_step).unwrap_err();
        assert!(matches!(error, Error::Option { .. }));
    }
    let mut buffer = buffer(2, PLAIN);
    let mut batch = PrioritizedBatch::new(2, 1, 1).unwrap();
    assert_eq!(buffer.sample(&mut Pcg64::new(1), 0.4, &mut batch), Err(Error::Empty));
    push(&mut buffer, 0);
    assert!(matches!(
        buffer.sample(&mut Pcg64::new(1), 2.0, &mut batch),
        Err(Error::Option { what: "beta", .. })
    ));
    let (_, stamp) = stamps(&buffer)[0];
    buffer.update_priorities(&[stamp], &[0.0]).unwrap();
    assert_eq!(buffer.sample(&mut Pcg64::new(1), 0.4, &mut batch), Err(Error::NoPriority));

    assert!(matches!(buffer.resume_at(&[1.0], 1, 0.5), Err(Error::Option { .. })));
    assert!(matches!(buffer.resume_at(&[2.0], 1, 1.0), Err(Error::Priority { row: 0, .. })));
    assert!(matches!(buffer.resume_at(&[1.0], 0, 1.0), Err(Error::Position { .. })));

    let mut equal = self::buffer(2, PriorityOptions { alpha: 0.0, epsilon: 0.0 });
    assert!(matches!(equal.resume_at(&[1.0], 1, 2.0), Err(Error::Option { what: "highest priority", .. })));
    assert!(matches!(equal.resume_at(&[1.0, 0.5], 0, 1.0), Err(Error::Priority { row: 1, .. })));
    assert!(equal.is_empty());
    equal.resume_at(&[1.0], 1, 1.0).unwrap();
    assert_eq!(equal.len(), 1);
}
