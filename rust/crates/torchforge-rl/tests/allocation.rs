//! A training step allocates nothing.
#![allow(unsafe_code, reason = "an allocator cannot be written without; this one counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use torchforge_env::{CartPole, TimeLimit};
use torchforge_nn::{AdamOptions, DenseDqn};
use torchforge_rl::{Dqn, DqnOptions, Stream};

struct Counting;

thread_local! {
    /// Each thread's own: the test harness allocates in its.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_step_that_acts_learns_copies_and_resets_allocates_nothing() {
    let options = DqnOptions { steps: 2_000, learning_starts: 200, ..DqnOptions::default() };
    let adam = AdamOptions::default();
    let mut weights = Stream::Weights.of(1);
    let network = DenseDqn::new(&[4, 120, 84, 2], options.batch, options.gamma, adam, &mut weights).unwrap();
    let mut agent = Dqn::new(TimeLimit::new(CartPole::new(), 500), network, options, 1).unwrap();

    let before = ALLOCATIONS.get();
    let mut episodes = 0;
    while agent.environment_steps() < options.steps {
        episodes += u32::from(agent.step().unwrap().is_some());
    }
    let allocated = ALLOCATIONS.get() - before;

    assert_eq!(allocated, 0);
    assert!(agent.gradient_steps() == 179 && episodes > 10);
}
