//! What a computation may use of the processor.

use crate::simd::Simd;
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
}
