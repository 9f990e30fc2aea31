//! A step allocates nothing, whether it begins an episode or not.
#![allow(unsafe_code, reason = "an allocator cannot be written without; this one counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use torchforge_env::{
    ActionSpace, AnyEnvironment, AutoresetMode, Environment, StepBatch, VectorEnv, ids, make,
};

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

const N: usize = 3;

/// Allocations of 1,200 steps with one action, and how many episodes ended in them.
fn steps<E: Environment>(environments: Vec<E>, action: <E::ActionSpace as ActionSpace>::Value) -> (u64, u32)
where
    <E::ActionSpace as ActionSpace>::Value: Copy,
{
    let mut environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let len = N * environments.observation_len();
    let (mut observations, mut final_observations) = (vec![0.0; len], vec![0.0; len]);
    let (mut rewards, mut terminated, mut truncated) = ([0.0; N], [false; N], [false; N]);
    environments.reset(Some(1), &mut observations).unwrap();
    let mut batch = StepBatch {
        observations: &mut observations,
        rewards: &mut rewards,
        terminated: &mut terminated,
        truncated: &mut truncated,
        final_observations: &mut final_observations,
    };
    let before = ALLOCATIONS.get();
    let mut ended = 0;
    for _ in 0..1200 {
        environments.step(&[action; N], &mut batch).unwrap();
        ended += batch.terminated.iter().zip(&*batch.truncated).filter(|(a, b)| **a || **b).count() as u32;
    }
    (ALLOCATIONS.get() - before, ended)
}

#[test]
fn steps_and_the_resets_in_them_allocate_nothing() {
    for id in ids() {
        let made = (0..N).map(|_| make(id).unwrap());
        let (allocated, ended) = match make(id).unwrap() {
            AnyEnvironment::Discrete(_) => steps(made.filter_map(AnyEnvironment::discrete).collect(), 1),
            AnyEnvironment::Continuous(_) => {
                steps(made.filter_map(AnyEnvironment::continuous).collect(), 0.5)
            }
        };
        assert_eq!(allocated, 0, "{id}");
        assert!(ended >= N as u32, "{id}: {ended} episodes ended");
    }
}
