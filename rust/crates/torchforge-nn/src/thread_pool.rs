//! Threads that wait for pieces of work, and the only `unsafe` outside of [`simd`](crate::simd).
//!
//! Part `i` of a piece of work is thread `i`'s, so that what a part reads and writes stays in the caches of one core. When
//! the caller's own part is done, the caller does the parts that no thread has begun. On a busy machine a thread may wait
//! for a processor for longer than all parts take. Nothing is shared between parts, so it changes no byte which thread
//! does one.

use std::any::Any;
use std::array;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

// What threads share: in the model's tests loom's, which goes through the orders in which it can happen.
#[cfg(not(all(loom, test)))]
use std::{
    hint,
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicUsize},
    thread::{self, JoinHandle, Thread},
};

#[cfg(all(loom, test))]
use loom::{
    hint,
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicUsize},
    thread::{self, JoinHandle, Thread},
};

use crate::Error;

/// Threads that are used at most, the caller's among them: there must be room for the parts on the stack.
pub const MOST_THREADS: usize = 16;

/// Looks at a counter before a thread sleeps. It stays awake through what one thread does alone in an update: to wake it
/// takes longer than most pieces of work.
const SPINS: u32 = 1 << 13;

/// The caller's thread and workers beside it. They end when the pool is dropped.
pub(crate) struct ThreadPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Makes a pool unfit to be borrowed by the tasks that it runs: a piece of work cannot hand out work itself.
    not_sync: PhantomData<Cell<()>>,
}

/// What a thread does in a round, given its number.
type Task = &'static (dyn Fn(usize) + Sync);

struct Shared {
    /// The task of this round, and who waits for its end.
    round: Mutex<Option<(Task, Thread)>>,
    /// Of each worker where its part of this round stands: one of the constants below.
    parts: Vec<CachePadded<AtomicUsize>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    spins: u32,
}

/// A worker's part is done, or the caller does it.
const NOTHING: usize = 0;
/// Nobody has begun it.
const OFFERED: usize = 1;
/// Its worker does it: until it is done, the round cannot end.
const BEGUN: usize = 2;
/// No part will follow.
const OVER: usize = 3;

/// A cache line of its own (two, because processors fetch pairs).
#[repr(align(128))]
struct CachePadded<T>(T);

impl ThreadPool {
    /// A pool of so many threads, the caller's among them, but of 16 at most; none where the caller's is the only one.
    pub(crate) fn new(threads: usize) -> Result<Option<Self>, Error> {
        let threads = threads.min(MOST_THREADS);
        // Where threads must share a processor, one that spins keeps another from working. To ask how many there are means to
        // read files of the control group, which takes as long as some updates: one thread needs no answer.
        let alone = threads <= 1 || threads <= available_parallelism().map_or(1, usize::from);
        Self::with_spins(threads, if alone { SPINS } else { 0 })
    }

    fn with_spins(threads: usize, spins: u32) -> Result<Option<Self>, Error> {
        let refused = |reason: String| Error::Threads { threads, reason };
        match threads {
            0 => return Err(refused("at least 1 does the work".into())),
            1 => return Ok(None),
            _ => {}
        }
        let shared = Arc::new(Shared {
            round: Mutex::new(None),
            parts: (1..threads).map(|_| CachePadded(AtomicUsize::new(NOTHING))).collect(),
            panic: Mutex::new(None),
            spins,
        });
        // Workers are added one by one, so that those already started end if the next one cannot be.
        let mut pool = Self { shared, workers: Vec::new(), not_sync: PhantomData };
        for number in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let worker = thread::Builder::new()
                .name(format!("torchforge-{number}"))
                .spawn(move || shared.work(number))
                .map_err(|error| refused(error.to_string()))?;
            pool.workers.push(worker);
        }
        Ok(Some(pool))
    }

    /// Threads, the caller's among them.
    pub(crate) fn threads(&self) -> usize {
        self.shared.parts.len() + 1
    }

    /// Does `task` with every part at the same time, at most one a thread, and returns when all are done. Allocates
    /// nothing.
    ///
    /// A panic in any of them is passed on once the others have ended.
    pub(crate) fn each<T: Send>(&self, mut parts: impl Iterator<Item = T>, task: impl Fn(T) + Sync) {
        let slots: [Mutex<Option<T>>; MOST_THREADS] = array::from_fn(|_| Mutex::new(parts.next()));
        let left = slots[self.threads()..].iter().any(|slot| lock(slot).is_some());
        assert!(!left && parts.next().is_none(), "at most one part a thread");
        self.run(&|thread| {
            let part = lock(&slots[thread]).take();
            part.into_iter().for_each(&task);
        });
    }

    /// Calls `task` once with the number of each thread, the caller's being 0: on that thread, or on the caller's where
    /// that thread does not begin in time.
    #[allow(unsafe_code)]
    fn run(&self, task: &(dyn Fn(usize) + Sync)) {
        // SAFETY: nobody uses the task after this call. A worker reads it out of `round` after it has turned its part from
        // offered to begun, and no more once it has turned that to nothing. This thread takes each part back that is still
        // offered, and waits for each that is begun; nothing before that returns or unwinds, because the caller's own
        // panic is caught. Then `round` is emptied.
        let task = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Task>(task) };
        let shared = &*self.shared;
        *lock(&shared.round) = Some((task, thread::current()));
        self.tell_all(OFFERED);
        shared.do_part(task, 0);
        for (number, CachePadded(part)) in (1..).zip(&shared.parts) {
            if part.compare_exchange(OFFERED, NOTHING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                shared.do_part(task, number);
            }
        }
        for CachePadded(part) in &shared.parts {
            shared.wait_until(|| part.load(Ordering::Acquire) == NOTHING);
        }
        *lock(&shared.round) = None;
        if let Some(payload) = lock(&shared.panic).take() {
            resume_unwind(payload);
        }
    }

    fn tell_all(&self, what: usize) {
        for CachePadded(part) in &self.shared.parts {
            part.store(what, Ordering::Release);
        }
        for worker in &self.workers {
            wake(worker.thread());
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.tell_all(OVER);
        for worker in self.workers.drain(..) {
            // Its panics were caught: there is none to pass on.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// The life of a worker.
    fn work(&self, number: usize) {
        let CachePadded(part) = &self.parts[number - 1];
        loop {
            self.wait_until(|| part.load(Ordering::Relaxed) != NOTHING);
            if part.load(Ordering::Relaxed) == OVER {
                return;
            }
            // The caller may have taken it back in this moment.
            if part.compare_exchange(OFFERED, BEGUN, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            let (task, caller) =
                lock(&self.round).clone().expect("a round does not end while a part of it is begun");
            self.do_part(task, number);
            part.store(NOTHING, Ordering::Release);
            wake(&caller);
        }
    }

    /// Does a part. The first panic of a round is kept until it ends.
    fn do_part(&self, task: Task, number: usize) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task(number))) {
            let mut first = lock(&self.panic);
            if first.is_none() {
                *first = Some(payload);
            } else {
                // To drop it could panic, and nothing may unwind before the round ends.
                std::mem::forget(payload);
            }
        }
    }

    /// Spins a little, then sleeps. Whoever makes `done` true unparks this thread afterwards.
    fn wait_until(&self, done: impl Fn() -> bool) {
        for _ in 0..self.spins {
            if done() {
                return;
            }
            hint::spin_loop();
        }
        while !done() {
            thread::park();
        }
    }
}

/// Ends the sleep of a thread, or its next one.
fn wake(sleeper: &Thread) {
    // Loom takes waking for a barrier of memory. Whoever comes before it has the counters alone.
    #[cfg(all(loom, test))]
    thread::yield_now();
    sleeper.unpark();
}

/// No panic happens under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every order of events, and every value that the memory model lets a thread see:
/// `RUSTFLAGS="--cfg loom" cargo test -p torchforge-nn --lib thread_pool`.
#[cfg(all(loom, test))]
#[allow(unsafe_code)]
mod model {
    use loom::cell::UnsafeCell;

    use super::*;

    /// What one thread writes and another reads. Loom panics where nothing orders the two.
    struct Part(UnsafeCell<usize>);

    // SAFETY: only loom's threads touch it, of which one runs at a time.
    unsafe impl Sync for Part {}

    impl Part {
        fn add_one(&self) {
            // SAFETY: loom hands out no pointer that writes while another is in use; it panics instead.
            self.0.with_mut(|value| unsafe { *value += 1 });
        }

        fn get(&self) -> usize {
            // SAFETY: loom hands out no pointer while one that writes is in use; it panics instead.
            self.0.with(|value| unsafe { *value })
        }
    }

    /// The caller and one worker: for two, loom takes a late wake-up for the end of what is joined.
    fn rounds(spins: u32, rounds: usize) {
        loom::model(move || {
            let pool = ThreadPool::with_spins(2, spins).unwrap().unwrap();
            let parts = [0, 0].map(|value| Part(UnsafeCell::new(value)));
            for round in 1..=rounds {
                // The task lives on this thread's stack, and ends with the round.
                let task = |thread: usize| parts[thread].add_one();
                pool.run(&task);
                assert!(parts.iter().all(|part| part.get() == round), "a part was left out or done twice");
            }
            // Loom panics where the worker never ends.
            drop(pool);
        });
    }

    #[test]
    fn each_round_is_whole_and_the_worker_ends_whether_threads_sleep_or_spin() {
        rounds(0, 3);
        rounds(1, 2);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Pools whose threads spin, and pools whose threads sleep at once.
    fn pools(threads: usize) -> [ThreadPool; 2] {
        [SPINS, 0].map(|spins| ThreadPool::with_spins(threads, spins).unwrap().unwrap())
    }

    fn message(payload: &(dyn Any + Send)) -> &str {
        payload.downcast_ref::<&str>().copied().unwrap_or("not a word")
    }

    #[test]
    fn every_part_is_done_once_by_the_thread_of_its_number_or_by_the_caller() {
        let caller = thread::current().id();
        for pool in [2, 3, MOST_THREADS].into_iter().flat_map(pools) {
            let own = pool.workers.iter().map(|worker| worker.thread().id());
            let threads: Vec<_> = [caller].into_iter().chain(own).collect();
            for round in 0..200 {
                let mut found = vec![(0, None); round % pool.threads() + 1];
                pool.each(found.iter_mut(), |(calls, by)| {
                    *calls += 1;
                    *by = Some(thread::current().id());
                });
                for ((calls, by), own) in found.into_iter().zip(&threads) {
                    assert_eq!(calls, 1);
                    assert!(by == Some(*own) || by == Some(caller), "{by:?} did the part of {own:?}");
                }
            }
        }
    }

    #[test]
    fn a_worker_does_its_part_while_the_caller_does_another() {
        for pool in pools(2) {
            let begun = AtomicUsize::new(0);
            let mut threads = [None; 2];
            pool.each(threads.iter_mut(), |by| {
                *by = Some(thread::current().id());
                begun.fetch_add(1, Ordering::Relaxed);
                let asked = Instant::now();
                while begun.load(Ordering::Relaxed) < 2 {
                    assert!(asked.elapsed() < Duration::from_secs(60), "the other part does not begin");
                    thread::yield_now();
                }
            });
            assert_ne!(threads[0], threads[1]);
        }
    }

    #[test]
    fn the_caller_does_what_a_thread_that_gets_no_processor_was_to_do() {
        let shared = Shared {
            round: Mutex::new(None),
            parts: (1..3).map(|_| CachePadded(AtomicUsize::new(NOTHING))).collect(),
            panic: Mutex::new(None),
            spins: 0,
        };
        let pool = ThreadPool { shared: Arc::new(shared), workers: Vec::new(), not_sync: PhantomData };
        let mut sums = [1, 2, 3];
        pool.each(sums.iter_mut(), |sum| *sum *= 2);
        assert_eq!(sums, [2, 4, 6]);
    }

    #[test]
    fn a_panic_in_any_part_is_passed_on_and_the_pool_goes_on() {
        for pool in pools(3) {
            for unlucky in 0..3 {
                let mut done = [false; 3];
                let panic = catch_unwind(AssertUnwindSafe(|| {
                    pool.each(done.iter_mut().enumerate(), |(part, done)| {
                        assert!(part != unlucky, "as meant");
                        *done = true;
                    });
                }));
                assert_eq!(message(&*panic.unwrap_err()), "as meant");
                assert_eq!(done, array::from_fn(|part| part != unlucky), "the others were waited for");
            }
            let mut sums = [1, 2, 3];
            pool.each(sums.iter_mut(), |sum| *sum *= 2);
            assert_eq!(sums, [2, 4, 6]);
        }
    }

    #[test]
    fn threads_end_with_their_pool() {
        for pool in pools(4) {
            let shared = Arc::downgrade(&pool.shared);
            assert_eq!(shared.strong_count(), 4, "the caller's and three workers'");
            drop(pool);
            assert_eq!(shared.strong_count(), 0);
        }
    }

    #[test]
    fn a_pool_refuses_more_parts_than_threads() {
        for (parts, refused) in [(2, false), (3, true), (MOST_THREADS + 1, true)] {
            for pool in pools(2) {
                let found = catch_unwind(AssertUnwindSafe(|| pool.each(0..parts, drop)));
                assert_eq!(found.is_err(), refused, "{parts} parts");
            }
        }
    }

    #[test]
    fn one_thread_needs_no_pool_and_none_is_an_error() {
        assert!(ThreadPool::new(1).unwrap().is_none());
        assert!(matches!(ThreadPool::new(0), Err(Error::Threads { threads: 0, .. })));
        assert_eq!(ThreadPool::new(MOST_THREADS + 1).unwrap().unwrap().threads(), MOST_THREADS);
    }
}
