//! Rows in a buffer of a pool.

use std::ops::Range;
use std::sync::Arc;

use super::pool::{Buffer, Pool};
use crate::DatasetError;

/// Some rows, copied column by column. A clone is another view of them.
#[derive(Debug, Clone)]
pub struct Copied {
    pool: Arc<Pool>,
    buffer: Arc<Buffer>,
    len: usize,
}

impl Copied {
    /// A copy of these rows: `copy` fills the memory of each column in turn.
    pub fn of(
        pool: &Arc<Pool>,
        rows: impl ExactSizeIterator<Item = usize>,
        mut copy: impl FnMut(usize, &[usize], &mut [u8]) -> Result<(), DatasetError>,
    ) -> Result<Self, DatasetError> {
        let len = rows.len();
        let mut buffer = pool.take();
        let result = {
            let buffer = Arc::get_mut(&mut buffer).expect("the pool gives what nobody else holds");
            let (rows, bytes) = buffer.begin(rows);
            let layout = pool.layout();
            (0..layout.widths().len())
                .try_for_each(|column| copy(column, rows, &mut bytes[layout.rows(column, len)]))
        };
        pool.keep(Arc::clone(&buffer));
        result?;
        Ok(Self { pool: Arc::clone(pool), buffer, len })
    }

    /// The bytes of a column.
    pub fn bytes(&self, column: usize) -> &[u8] {
        &self.buffer.bytes()[self.pool.layout().rows(column, self.len)]
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The memory, and where in it the bytes of each column lie. None where another view of it is left.
    pub fn into_memory(self) -> Option<(Vec<u8>, Vec<Range<usize>>)> {
        let (bytes, start) = self.pool.give_up(self.buffer)?;
        let layout = self.pool.layout();
        let columns = (0..layout.widths().len()).map(|column| layout.rows(column, self.len));
        Some((bytes, columns.map(|range| start + range.start..start + range.end).collect()))
    }
}
