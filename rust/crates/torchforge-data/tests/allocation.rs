//! Buffers take their memory when they are made.

mod counting;

use counting::allocations_here;
use torchforge_data::{
    Batch, NStep, NStepBatch, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, ReplayBuffer,
    SequenceReplayBuffer, Transition,
};
use torchforge_env::Pcg64;

#[test]
fn pushing_and_sampling_allocate_nothing() {
    let n_step = NStep::new(3, 0.99).unwrap();
    let mut uniform = ReplayBuffer::for_pushes(100, 10, 4, 1).unwrap();
    let mut prioritized =
        PrioritizedReplayBuffer::new(100, 4, 1, PriorityOptions::default(), n_step).unwrap();
    let mut sequences = SequenceReplayBuffer::new(100, 4, 1, 5).unwrap();
    let mut plain = Batch::new(20, 4, 1).unwrap();
    let mut windows = NStepBatch::new(20, 4, 1).unwrap();
    let mut drawn = PrioritizedBatch::new(20, 4, 1).unwrap();
    let mut rng = Pcg64::new(1);

    let before = allocations_here();
    for number in 0..1_000_u32 {
        let transition = Transition {
            observation: &[number as f32; 4],
            next_observation: &[number as f32; 4],
            action: &[number],
            reward: 1.0,
            terminated: number % 37 == 36,
            truncated: number % 41 == 40,
        };
        uniform.push(transition).unwrap();
        prioritized.push(transition).unwrap();
        sequences.push(transition).unwrap();
        if number >= 5 {
            uniform.sample(&mut rng, &mut plain).unwrap();
            uniform.sample_n_step(&mut rng, n_step, &mut windows).unwrap();
            prioritized.sample(&mut rng, 0.4, &mut drawn).unwrap();
            prioritized.update_priorities(drawn.stamps(), &[number as f32; 20]).unwrap();
            sequences.sample(&mut rng, &mut plain).unwrap();
        }
    }
    assert_eq!(allocations_here() - before, 0);
}
