//! What a computation may use of the processor.

use crate::simd::{Simd, Work};
use crate::thread_pool::ThreadPool;

/// Instructions, and threads beside the caller's.
#[derive(Clone, Copy)]
pub(crate) struct Processor<'a, S> {
    pub(crate) simd: S,
    pool: Option<&'a ThreadPool>,
}

impl<'a, S: Simd> Processor<'a, S> {
    #[inline(always)]
    pub(crate) fn new(simd: S, pool: Option<&'a ThreadPool>) -> Self {
        Self { simd, pool }
    }

    /// The caller's thread alone.
    #[inline(always)]
    pub(crate) fn one_thread(simd: S) -> Self {
        Self { simd, pool: None }
    }

    /// Threads, the caller's among them.
    #[inline(always)]
    pub(crate) fn threads(self) -> usize {
        self.pool.map_or(1, ThreadPool::threads)
    }

    /// Does `task` with every part: at the same time, at most one a thread, where there are threads to do so.
    #[inline(always)]
    pub(crate) fn each<T: Send>(self, parts: impl Iterator<Item = T>, task: impl Fn(T) + Sync) {
        match self.pool {
            Some(pool) => pool.each(parts, task),
            None => parts.for_each(task),
        }
    }

    /// Does both, one after the other, or at the same time where there is a second thread: the first on the caller's.
    #[inline(always)]
    pub(crate) fn join<A: Work + Send, B: Work + Send>(self, first: A, second: B) -> (A::Done, B::Done)
    where
        A::Done: Send,
        B::Done: Send,
    {
        let Self { simd, pool } = self;
        let Some(pool) = pool else { return (simd.run(first), simd.run(second)) };
        let (mut works, mut done) = ((Some(first), Some(second)), (None, None));
        let mut first = || done.0 = works.0.take().map(|work| simd.run(work));
        let mut second = || done.1 = works.1.take().map(|work| simd.run(work));
        let both: [&mut (dyn FnMut() + Send); 2] = [&mut first, &mut second];
        pool.each(both.into_iter(), |part| part());
        done.0.zip(done.1).expect("both were done")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread::{self, ThreadId};

    use super::*;
    use crate::simd::Portable;

    /// Says what it was given, and which thread did it.
    struct Say(u8);

    impl Work for Say {
        type Done = (u8, ThreadId);

        #[inline(always)]
        fn with<S: Simd>(self, _simd: S) -> (u8, ThreadId) {
            (self.0, thread::current().id())
        }
    }

    #[test]
    fn of_two_works_the_first_is_the_callers_and_both_are_told_apart() {
        for threads in 1..=3 {
            let pool = ThreadPool::new(threads).unwrap();
            let (first, second) = Processor::new(Portable, pool.as_ref()).join(Say(1), Say(2));
            assert_eq!(first, (1, thread::current().id()));
            assert_eq!(second.0, 2);
        }
    }
}
