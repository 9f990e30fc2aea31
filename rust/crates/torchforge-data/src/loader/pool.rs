//! Buffers for batches that have to be copied.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Column, Schema};

/// Columns begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// Where in a buffer each column of a batch lies.
#[derive(Debug)]
pub struct Layout {
    /// Begin and bytes of a row.
    columns: Vec<(usize, usize)>,
    len: usize,
    rows: usize,
}

impl Layout {
    /// None where a batch has 2^48 bytes.
    pub fn new(schema: &Schema, rows: usize) -> Option<Self> {
        let mut len = 0_usize;
        let mut columns = Vec::with_capacity(schema.columns().len());
        for width in schema.columns().iter().map(Column::width) {
            columns.push((len, width));
            let bytes = rows.checked_mul(width).filter(|&bytes| bytes < 1 << 48)?;
            len = len.checked_add(bytes.next_multiple_of(ALIGNMENT)).filter(|&len| len < 1 << 48)?;
        }
        Some(Self { columns, len, rows })
    }

    /// Where the first rows of a column lie.
    pub fn rows(&self, column: usize, rows: usize) -> Range<usize> {
        let (start, width) = self.columns[column];
        start..start + rows * width
    }

    pub fn widths(&self) -> impl ExactSizeIterator<Item = usize> {
        self.columns.iter().map(|&(_, width)| width)
    }
}

/// Memory of one batch.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    /// What has to be left out for the columns to be aligned.
    start: usize,
    /// Which rows of the dataset the batch has.
    rows: Vec<usize>,
}

impl Buffer {
    fn new(layout: &Layout) -> Self {
        let bytes = vec![0; layout.len + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, rows: Vec::with_capacity(layout.rows) }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Takes down the rows of a batch, at most as many as the layout has, and returns them beside the memory for them.
    pub fn begin(&mut self, rows: impl Iterator<Item = usize>) -> (&[usize], &mut [u8]) {
        self.rows.clear();
        self.rows.extend(rows);
        (&self.rows, &mut self.bytes[self.start..])
    }
}

/// Buffers that are used again once nobody looks at them.
#[derive(Debug)]
pub struct Pool {
    layout: Layout,
    buffers: Mutex<Vec<Arc<Buffer>>>,
}

impl Pool {
    pub fn new(layout: Layout) -> Self {
        Self { layout, buffers: Mutex::new(Vec::new()) }
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A buffer that nobody else holds: one of the pool's, or a new one.
    pub fn take(&self) -> Arc<Buffer> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        // The pool's own count is one. Nobody can add to it meanwhile: there is no other to clone.
        match buffers.iter_mut().position(|buffer| Arc::get_mut(buffer).is_some()) {
            Some(free) => buffers.swap_remove(free),
            None => Arc::new(Buffer::new(&self.layout)),
        }
    }

    /// The bytes of a buffer that nobody but the pool and the caller holds, and what has to be left out for the columns to be
    /// aligned. The pool makes another in its place when it needs one.
    pub fn give_up(&self, buffer: Arc<Buffer>) -> Option<(Vec<u8>, usize)> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::strong_count(&buffer) == 2
            && let Some(kept) = buffers.iter().position(|kept| Arc::ptr_eq(kept, &buffer))
        {
            buffers.swap_remove(kept);
        }
        drop(buffers);
        Arc::try_unwrap(buffer).ok().map(|buffer| (buffer.bytes, buffer.start))
    }

    /// Keeps a buffer for later, when its views are gone.
    pub fn keep(&self, buffer: Arc<Buffer>) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}
