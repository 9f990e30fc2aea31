//! Memory for numbers that begins with a cache line.

use std::ops::{Deref, DerefMut};

use crate::simd::LANES;

/// Numbers whose first lies at the beginning of a cache line: no vector of a row of whole vectors then lies in two of
/// them, which would take twice as long to load.
#[derive(Debug)]
pub(crate) struct Buffer {
    values: Vec<f32>,
    first: usize,
    len: usize,
}

impl Buffer {
    /// So many zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let values = vec![0.0_f32; len + LANES - 1];
        let first = values.as_ptr().align_offset(LANES * size_of::<f32>());
        // An allocator of which nothing can be asked would answer with the largest number.
        Self { first: first.min(LANES - 1), values, len }
    }
}

impl Clone for Buffer {
    /// The copy lies elsewhere, and is aligned there.
    fn clone(&self) -> Self {
        let mut copy = Self::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Buffer {
    type Target = [f32];

    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &self.values[self.first..][..self.len]
    }
}

impl DerefMut for Buffer {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values[self.first..][..self.len]
    }
}

/// What lies on the stack and begins with a cache line, as a [`Buffer`] does; an array alone begins anywhere.
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub(crate) T);

const _: () = assert!(align_of::<Aligned<f32>>() == LANES * size_of::<f32>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_and_its_copy_begin_with_a_cache_line() {
        for len in 0..40 {
            let mut buffer = Buffer::zeros(len);
            buffer.fill(1.0);
            for buffer in [&buffer, &buffer.clone()] {
                assert_eq!((buffer.as_ptr() as usize % 64, &buffer[..]), (0, &vec![1.0; len][..]));
            }
        }
    }
}
