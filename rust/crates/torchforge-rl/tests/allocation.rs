//! A training step allocates nothing, on no thread.
#![allow(unsafe_code, reason = "an allocator cannot be written without; this one counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use torchforge_env::{AutoresetMode, CartPole, Pendulum, TimeLimit, VectorEnv};
use torchforge_nn::{
    ActionRange, Activation, AdamOptions, DenseDqn, DensePpo, DenseSac, Mlp, PpoLossOptions, SacLossOptions,
    SacNetworks,
};
use torchforge_rl::{Dqn, DqnOptions, DqnPriorities, Ppo, PpoOptions, Sac, SacOptions, Stream};

/// What the names of worker threads begin with.
const WORKER: &[u8] = b"torchforge-";

struct Counting;

thread_local! {
    /// Each thread's own: the harness allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Of all workers.
static BY_WORKERS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        if is_worker() {
            BY_WORKERS.fetch_add(1, Ordering::Relaxed);
        }
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

/// Whether this thread bears a worker's name.
fn is_worker() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most the sixteen bytes that `name` has.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(WORKER)
}

/// Allocations of this thread and of workers so far.
fn allocations() -> u64 {
    ALLOCATIONS.get() + BY_WORKERS.load(Ordering::Relaxed)
}

/// Waits until so many workers sleep: what a thread allocates when it begins is behind them.
fn wait_for_workers(count: usize) {
    let asked = Instant::now();
    while sleeping_workers() < count {
        assert!(asked.elapsed() < Duration::from_secs(60), "fewer than {count} workers sleep");
        thread::yield_now();
    }
}

/// Threads of this process that bear a worker's name and sleep. In a line of `stat` the state follows the name, proc(5).
fn sleeping_workers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path().join("stat"));
    let asleep = |line: String| {
        line.split_once('(')
            .and_then(|(_, named)| named.split_once(") "))
            .is_some_and(|(name, rest)| name.as_bytes().starts_with(WORKER) && rest.starts_with('S'))
    };
    tasks.filter(|stat| fs::read_to_string(stat).is_ok_and(asleep)).count()
}

/// One test at a time: workers are told by their names, and the harness runs tests side by side.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_step_that_acts_learns_copies_and_resets_allocates_nothing() {
    let _alone = alone();
    let options = DqnOptions { steps: 2_000, learning_starts: 200, trace: true, ..DqnOptions::default() };
    steps_of_dqn_allocate_nothing(options, 1);
    let priorities = Some(DqnPriorities::default());
    steps_of_dqn_allocate_nothing(DqnOptions { n_step: 3, priorities, ..options }, 1);
    steps_of_dqn_allocate_nothing(options, 2);
}

fn steps_of_dqn_allocate_nothing(options: DqnOptions, threads: usize) {
    let adam = AdamOptions::default();
    let mut weights = Stream::Weights.of(1);
    let network = DenseDqn::new(&[4, 120, 84, 2], options.batch, 0.99, adam, &mut weights).unwrap();
    let network = network.on_threads(threads).unwrap();
    wait_for_workers(threads - 1);
    let mut agent = Dqn::new(TimeLimit::new(CartPole::new(), 500), network, options, 1).unwrap();

    let before = allocations();
    let mut episodes = 0;
    while agent.environment_steps() < options.steps {
        episodes += u32::from(agent.step().unwrap().is_some());
    }
    let allocated = allocations() - before;

    assert_eq!(allocated, 0, "on {threads} threads");
    assert!(agent.gradient_steps() == 179 && episodes > 10);
}

#[test]
fn an_iteration_of_ppo_allocates_nothing_but_in_the_callers_list() {
    let _alone = alone();
    for threads in [1, 2] {
        iterations_of_ppo_allocate_nothing(threads);
    }
}

fn iterations_of_ppo_allocate_nothing(threads: usize) {
    let environments = (0..4).map(|_| TimeLimit::new(CartPole::new(), 500)).collect();
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let options = PpoOptions { iterations: 4, trace: true, ..PpoOptions::default() };
    let mut rng = Stream::Weights.of(1);
    let mut network = |outputs| {
        Mlp::orthogonal(&[4, 64, 64, outputs], Activation::Tanh, &[1.4, 1.4, 1.0], &mut rng).unwrap()
    };
    let (actor, critic) = (network(2), network(1));
    let rows = options.minibatch_rows(4).unwrap();
    let networks =
        DensePpo::new(actor, critic, 4, rows, PpoLossOptions::default(), AdamOptions::default()).unwrap();
    let networks = networks.on_threads(threads).unwrap();
    wait_for_workers(threads - 1);
    let mut agent = Ppo::new(environments, networks, options, 1).unwrap();
    let mut episodes = Vec::with_capacity(1_000);

    let before = allocations();
    for _ in 0..options.iterations {
        agent.iterate(&mut episodes).unwrap();
    }
    let allocated = allocations() - before;

    assert_eq!(allocated, 0, "on {threads} threads");
    assert!(agent.gradient_steps() == 64 && episodes.len() > 10);
}

#[test]
fn a_step_of_sac_on_several_threads_allocates_nothing_on_any_of_them() {
    let _alone = alone();
    let mut rng = Stream::Weights.of(1);
    let critics = [0, 1].map(|_| Mlp::new(&[4, 256, 256, 1], &mut rng).unwrap());
    let actor = Mlp::new(&[3, 256, 256, 2], &mut rng).unwrap();
    let networks = SacNetworks { actor, targets: critics.clone(), critics, log_alpha: 0.0 };
    let range = ActionRange { bias: vec![0.0], scale: vec![2.0] };
    // A batch whose products are just large enough to be divided among threads.
    let options =
        SacOptions { steps: 600, learning_starts: 100, batch: 32, trace: true, ..SacOptions::default() };
    let networks = DenseSac::new(networks, range, options.batch, SacLossOptions::default()).unwrap();
    let networks = networks.on_threads(3).unwrap();
    wait_for_workers(2);
    let mut agent = Sac::new(TimeLimit::new(Pendulum::new(), 200), networks, options, 1).unwrap();

    let before = allocations();
    let mut episodes = 0;
    while agent.environment_steps() < options.steps {
        episodes += u32::from(agent.step().unwrap().is_some());
    }
    let allocated = allocations() - before;

    assert_eq!(allocated, 0);
    assert!(agent.gradient_steps() == 499 && episodes == 3);
}
