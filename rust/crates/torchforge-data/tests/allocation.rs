//! Buffers take their memory when they are made. The only test of its program, so that nothing else allocates meanwhile.
#![allow(unsafe_code, reason = "an allocator cannot be written without; this one counts and hands on")]

mod generator;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use generator::SplitMix;
use torchforge_data::{
    Batch, NStep, NStepBatch, PrioritizedBatch, PrioritizedReplayBuffer, PriorityOptions, ReplayBuffer,
    SequenceReplayBuffer, Transition,
};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: each call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn pushing_and_sampling_allocate_nothing() {
    let n_step = NStep::new(3, 0.99).unwrap();
    let mut uniform = ReplayBuffer::new(100, 4, 1).unwrap();
    let mut prioritized =
        PrioritizedReplayBuffer::new(100, 4, 1, PriorityOptions::default(), n_step).unwrap();
    let mut sequences = SequenceReplayBuffer::new(100, 4, 1, 5).unwrap();
    let mut plain = Batch::new(20, 4, 1).unwrap();
    let mut windows = NStepBatch::new(20, 4, 1).unwrap();
    let mut drawn = PrioritizedBatch::new(20, 4, 1).unwrap();
    let mut rng = SplitMix(1);

    let before = ALLOCATIONS.load(Ordering::Relaxed);
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
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
}
