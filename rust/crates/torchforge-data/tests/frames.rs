//! Rings whose observations are bytes draw what rings of `f32` draw.

use proptest::prelude::*;
use torchforge_data::{
    Batch, NStep, NStepBatch, Observation, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions,
    ReplayBuffer, SequenceReplayBuffer, Transition,
};
use torchforge_env::Pcg64;

/// Bytes of an observation.
const WIDTH: usize = 5;
const CAPACITY: usize = 7;
const BATCH: usize = 12;
const SEQUENCE: usize = 2;

/// The rings, of one type of observations.
struct Rings<O> {
    uniform: ReplayBuffer<u32, O>,
    prioritized: PrioritizedReplayBuffer<u32, O>,
    sequences: SequenceReplayBuffer<u32, O>,
}

impl<O: Observation + From<u8>> Rings<O> {
    fn filled(ends: &[bool]) -> Self {
        let n_step = NStep::new(3, 0.9).unwrap();
        let mut rings = Self {
            uniform: ReplayBuffer::new(CAPACITY, WIDTH, 1).unwrap(),
            prioritized: PrioritizedReplayBuffer::new(CAPACITY, WIDTH, 1, PriorityOptions::default(), n_step)
                .unwrap(),
            sequences: SequenceReplayBuffer::new(CAPACITY, WIDTH, 1, SEQUENCE).unwrap(),
        };
        for (number, &terminated) in ends.iter().enumerate() {
            let frame = |first: usize| -> [O; WIDTH] {
                std::array::from_fn(|place| O::from(((first * 31 + place * 67) % 256) as u8))
            };
            let (observation, next_observation) = (frame(number), frame(number + 1));
            let transition = Transition {
                observation: &observation,
                next_observation: &next_observation,
                action: &[number as u32],
                reward: number as f32,
                terminated,
                truncated: false,
            };
            rings.uniform.push(transition).unwrap();
            rings.prioritized.push(transition).unwrap();
            rings.sequences.push(transition).unwrap();
        }
        rings
    }

    /// Every field of a draw from each, as `f32`. A ring without a whole sequence says so.
    fn drawn(&mut self, seed: u64) -> Vec<Vec<f32>>
    where
        f32: From<O>,
    {
        let rng = &mut Pcg64::new(seed);
        let mut fields = Vec::new();
        let mut batch = Batch::new(BATCH, WIDTH, 1).unwrap();
        self.uniform.sample(rng, &mut batch).unwrap();
        fields.extend(fields_of(&batch));
        let mut windows = NStepBatch::new(BATCH, WIDTH, 1).unwrap();
        self.uniform.sample_n_step(rng, NStep::new(2, 0.5).unwrap(), &mut windows).unwrap();
        fields.extend(fields_of(windows.transitions()));
        fields.push(windows.discounts().to_vec());
        let mut prioritized = PrioritizedBatch::new(BATCH, WIDTH, 1).unwrap();
        self.prioritized.sample(rng, 0.4, &mut prioritized).unwrap();
        fields.extend(fields_of(prioritized.transitions()));
        fields.push(prioritized.weights().to_vec());
        if self.sequences.sequences() > 0 {
            self.sequences.sample(rng, &mut batch).unwrap();
            fields.extend(fields_of(&batch));
        }
        fields
    }
}

fn fields_of<O: Observation>(batch: &Batch<u32, O>) -> [Vec<f32>; 5]
where
    f32: From<O>,
{
    let floats = |values: &[O]| values.iter().map(|&value| f32::from(value)).collect();
    [
        floats(batch.observations()),
        floats(batch.next_observations()),
        batch.actions().iter().map(|&action| action as f32).collect(),
        batch.rewards().to_vec(),
        batch.terminations().to_vec(),
    ]
}

proptest! {
    #[test]
    fn rings_of_bytes_draw_what_rings_of_f32_draw(
        ends in prop::collection::vec(any::<bool>(), 1..3 * CAPACITY),
        seed in any::<u64>(),
    ) {
        let bytes = Rings::<u8>::filled(&ends).drawn(seed);
        prop_assert_eq!(bytes, Rings::<f32>::filled(&ends).drawn(seed));
    }
}

#[test]
fn a_ring_of_bytes_lends_its_rows_as_bytes() {
    let mut rings = Rings::<u8>::filled(&[false, true]);
    let rows = rings.uniform.rows_mut();
    assert_eq!(rows.observations, &[0, 67, 134, 201, 12, 31, 98, 165, 232, 43]);
    assert_eq!(rows.next_observations[..WIDTH], rows.observations[WIDTH..]);
}

#[test]
fn literals_alone_make_a_ring_of_f32() {
    let mut ring = ReplayBuffer::new(1, 1, 1).unwrap();
    let (observation, next_observation) = (&[0.5], &[1.5]);
    let action = &[0_u32];
    ring.push(Transition {
        observation,
        next_observation,
        action,
        reward: 0.0,
        terminated: false,
        truncated: false,
    })
    .unwrap();
    assert_eq!(size_of_val(ring.newest().unwrap().observation), size_of::<f32>());
}
