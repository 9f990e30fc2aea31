//! An allocator that counts.
#![allow(unsafe_code, reason = "an allocator cannot be written without; this one counts and hands on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

static BY_ALL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Each thread's own: the test's harness allocates when it likes.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: each call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BY_ALL.fetch_add(1, Ordering::Relaxed);
        HERE.set(HERE.get() + 1);
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

/// Allocations of this thread so far.
#[allow(dead_code, reason = "each program takes one of the two")]
pub fn allocations_here() -> usize {
    HERE.get()
}

/// Allocations of all threads so far, those of the test's harness among them.
#[allow(dead_code, reason = "each program takes one of the two")]
pub fn allocations() -> usize {
    BY_ALL.load(Ordering::Relaxed)
}
