//! Datasets of rows with columns of fixed width.

mod arrow;
mod chunks;
mod error;
mod mapped;
pub(crate) mod mapping;
#[cfg(feature = "async")]
mod objects;
pub(crate) mod partial;
mod schema;
mod writer;

use std::fmt;
use std::path::Path;

pub use error::DatasetError;
pub use mapped::MmapDataset;
#[cfg(feature = "async")]
pub use objects::ObjectDataset;
pub use schema::{Column, ElementType, Schema, Value, Values};
pub use writer::DatasetWriter;

/// Rows that are found by their number, and lent, not copied.
///
/// Columns have a fixed width, so a row of a column is an array of numbers. Implement it for rows that lie somewhere else
/// than in the files of [`MmapDataset`]; the [`DataLoader`](crate::DataLoader) asks for nothing more.
pub trait Dataset: Send + Sync {
    /// The columns that every row has.
    fn schema(&self) -> &Schema;

    /// Rows.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a column from row `row` on, as far as rows lie side by side in memory: at least that one. They begin at a
    /// multiple of the element's size.
    ///
    /// # Panics
    ///
    /// Where there is no such row or column.
    fn run(&self, column: usize, row: usize) -> &[u8];

    /// Copies these rows of a column one after another; `into` has their bytes.
    ///
    /// # Errors
    ///
    /// Whatever keeps a dataset from reading them.
    ///
    /// # Panics
    ///
    /// Where there is no such row or column.
    fn copy_rows(&self, column: usize, rows: &[usize], into: &mut [u8]) -> Result<(), DatasetError> {
        let width = self.schema().columns()[column].width();
        for (into, &row) in into.chunks_exact_mut(width).zip(rows) {
            into.copy_from_slice(&self.run(column, row)[..width]);
        }
        Ok(())
    }

    /// Whether batches may be views of the dataset's own memory. Otherwise every batch is copied row by row.
    fn lends(&self) -> bool {
        true
    }

    /// Whether the rows can still be read. A loader asks before each batch, or before several that it lends at once.
    ///
    /// # Errors
    ///
    /// What has become of them.
    fn check(&self) -> Result<(), DatasetError> {
        Ok(())
    }

    /// A view of one row.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Row`] where there is no such row, or what [`check`](Self::check) found.
    fn item(&self, row: usize) -> Result<Item<'_>, DatasetError>
    where
        Self: Sized,
    {
        if row >= self.len() {
            return Err(DatasetError::Row { row, rows: self.len() });
        }
        self.check()?;
        Ok(Item { dataset: self, row })
    }
}

/// One row, borrowed from its dataset.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    dataset: &'a dyn Dataset,
    row: usize,
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("row", &self.row).finish_non_exhaustive()
    }
}

impl<'a> Item<'a> {
    /// The row's values of a column, (the column's shape).
    ///
    /// # Errors
    ///
    /// [`DatasetError::NoColumn`] and [`DatasetError::Element`] where there is no such column, or it has other elements.
    pub fn column<T: Value>(&self, name: &str) -> Result<&'a [T], DatasetError> {
        let schema = self.dataset.schema();
        let index = schema.find::<T>(name)?;
        let width = schema.columns()[index].width();
        Ok(bytemuck::cast_slice(&self.dataset.run(index, self.row)[..width]))
    }
}

/// The path as errors name it.
pub(crate) fn named(path: &Path) -> Box<Path> {
    path.into()
}
