//! A batch of rows.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::copied::Copied;
use super::pool::{Layout, Pool};
use crate::{Dataset, DatasetError, Schema, Value};

/// Some rows of a dataset, column by column: a view of the dataset's own memory, or of a buffer that the loader fills again
/// when no batch holds it any more. A clone is another view of the same rows.
///
/// It is experience, so it is nothing that may leave the device ([`Shareable`](crate::Shareable)):
///
/// ```compile_fail,E0277
/// # use torchforge_data::{MmapDataset, RowBatch, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(batch: &RowBatch<MmapDataset>) { send(batch) }
/// ```
pub struct RowBatch<D> {
    dataset: Arc<D>,
    memory: Memory,
}

/// How many rows; none of them is printed, for they are experience.
impl<D> fmt::Debug for RowBatch<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowBatch").field("rows", &self.memory.len()).finish_non_exhaustive()
    }
}

#[derive(Clone)]
enum Memory {
    /// The dataset's, from a row on.
    Lent { first: usize, len: usize },
    /// A copy.
    Copied(Copied),
}

impl Memory {
    fn len(&self) -> usize {
        match self {
            Self::Lent { len, .. } => *len,
            Self::Copied(copied) => copied.len(),
        }
    }
}

impl<D> Clone for RowBatch<D> {
    fn clone(&self) -> Self {
        Self { dataset: Arc::clone(&self.dataset), memory: self.memory.clone() }
    }
}

impl<D: Dataset> RowBatch<D> {
    /// A view of `len` rows from `first` on, where all of their columns lie side by side.
    pub(super) fn lent(dataset: &Arc<D>, layout: &Layout, first: usize, len: usize) -> Option<Self> {
        let lent = dataset.lends()
            && layout
                .widths()
                .enumerate()
                .all(|(column, width)| dataset.run(column, first).len() >= len * width);
        lent.then(|| Self { dataset: Arc::clone(dataset), memory: Memory::Lent { first, len } })
    }

    /// A copy of these rows.
    pub(super) fn copied(
        dataset: &Arc<D>,
        pool: &Arc<Pool>,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Self, DatasetError> {
        let copied = Copied::of(pool, rows, |column, rows, into| dataset.copy_rows(column, rows, into))?;
        Ok(Self { dataset: Arc::clone(dataset), memory: Memory::Copied(copied) })
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether there is no row, which no loader's batch is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The columns.
    pub fn schema(&self) -> &Schema {
        self.dataset.schema()
    }

    /// The first of the rows, where they are a view of the dataset's own memory.
    pub fn first_lent(&self) -> Option<usize> {
        match self.memory {
            Memory::Lent { first, .. } => Some(first),
            Memory::Copied(_) => None,
        }
    }

    /// Whether the rows are a view of the dataset's own memory.
    pub fn is_lent(&self) -> bool {
        self.first_lent().is_some()
    }

    /// The memory of a copied batch, and where in it the bytes of each column lie: it is the caller's from now on, and never
    /// filled again. None where the rows are lent, or another view of them is left.
    pub fn into_memory(self) -> Option<(Vec<u8>, Vec<Range<usize>>)> {
        let Memory::Copied(copied) = self.memory else { return None };
        copied.into_memory()
    }

    /// The values of a column, (rows, the column's shape).
    ///
    /// # Errors
    ///
    /// [`DatasetError::NoColumn`] and [`DatasetError::Element`] where there is no such column, or it has other elements.
    pub fn column<T: Value>(&self, name: &str) -> Result<&[T], DatasetError> {
        Ok(bytemuck::cast_slice(self.bytes(self.schema().find::<T>(name)?)))
    }

    /// The bytes of a column, by its place in the schema.
    ///
    /// # Panics
    ///
    /// Where there is no such column.
    pub fn bytes(&self, column: usize) -> &[u8] {
        match &self.memory {
            Memory::Lent { first, len } => {
                let width = self.schema().columns()[column].width();
                &self.dataset.run(column, *first)[..len * width]
            }
            Memory::Copied(copied) => copied.bytes(column),
        }
    }
}
