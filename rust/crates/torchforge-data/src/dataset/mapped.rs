//! Datasets whose rows are lent out of mapped files.

use std::path::Path;

use super::arrow;
use super::chunks::{Chunk, Chunks};
use super::mapping::Mapping;
use super::{Dataset, DatasetError, Schema, named};
use crate::prefetch::{ahead, fetch_start};

/// How many rows a gathered batch fetches ahead: rows of files are mostly longer than a replay buffer's.
const ROWS_AHEAD: usize = 4;

/// A dataset in one or several Arrow files, mapped into memory and never copied as a whole.
///
/// Opening reads what the files say of themselves and none of their rows. The system loads pages when they are read and
/// drops them when memory is short, so a dataset may be larger than memory. Any Arrow file (also called Feather version 2)
/// can be read whose columns are numbers or lists of fixed size of numbers, without nulls and compression.
///
/// # Files that change
///
/// A mapped file must not be changed in place. Replace it by renaming another one onto its name, which is how
/// [`DatasetWriter`](super::DatasetWriter) makes files: who has it open keeps the old rows. A file that has become shorter is
/// [`DatasetError::Shrunk`], found when a batch is made. One that shrinks before the batch is read ends the process with
/// SIGBUS; where that can happen, [`positioned`](Self::positioned) reads rows without the map.
#[derive(Debug)]
pub struct MmapDataset {
    shards: Vec<Mapping>,
    chunks: Chunks,
    positioned: bool,
}

impl MmapDataset {
    /// Opens one file.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Io`] where it cannot be read; [`DatasetError::Foreign`], [`DatasetError::Truncated`],
    /// [`DatasetError::Version`], [`DatasetError::Corrupt`] and [`DatasetError::Unsupported`] where it is no file of this
    /// format, with the offset of what was expected there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DatasetError> {
        Self::open_shards([path])
    }

    /// Opens several files as one dataset: the rows of the first, then those of the second, and so on.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), [`DatasetError::NoShard`] without a file, and [`DatasetError::Schema`] where the files'
    /// columns differ.
    pub fn open_shards<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, DatasetError> {
        let mut shards = Vec::new();
        let mut chunks: Option<Chunks> = None;
        for path in paths {
            let path = path.as_ref();
            let mapping = Mapping::open(path)?;
            let len = mapping.bytes().len();
            let (schema, blocks) = arrow::layout(len, |range| mapping.look(range), path)?;
            chunks.get_or_insert_with(|| Chunks::new(schema.clone())).add(
                shards.len(),
                &schema,
                blocks,
                path,
            )?;
            shards.push(mapping);
        }
        let chunks = chunks.ok_or(DatasetError::NoShard)?;
        Ok(Self { shards, chunks, positioned: false })
    }

    /// Batches are read through the files (pread) into memory of their own, and never are views of the map. A file that
    /// shrinks is then an error at any moment, for the price of a copy and a system call a row.
    pub fn positioned(self) -> Self {
        Self { positioned: true, ..self }
    }

    /// Reads all rows, compares each block with its checksum, and returns how many blocks had one. Files of other writers have
    /// none.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Checksum`] for the first block that differs, [`DatasetError::Shrunk`].
    pub fn verify(&self) -> Result<usize, DatasetError> {
        let mut verified = 0;
        for Chunk { shard, block, .. } in self.chunks.iter() {
            let mapping = &self.shards[*shard];
            mapping.check()?;
            let Some(expected) = block.checksum else { continue };
            let found = crc32fast::hash(&mapping.bytes()[block.body.clone()]);
            if found != expected {
                let (path, offset) = (named(mapping.path()), block.body.start as u64);
                return Err(DatasetError::Checksum { path, offset, expected, found });
            }
            verified += 1;
        }
        Ok(verified)
    }

    /// Where a row of a column lies: the number of its file, and its first byte there. A batch that is
    /// [lent](crate::RowBatch::first_lent) lies there whole.
    ///
    /// # Panics
    ///
    /// Where there is no such row or column.
    pub fn place(&self, column: usize, row: usize) -> (usize, usize) {
        self.chunks.place(column, row)
    }

    /// The first row of each block. Rows of one block lie side by side in every column.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().map(|chunk| chunk.first)
    }

    /// How many files it has.
    pub fn files(&self) -> usize {
        self.shards.len()
    }

    /// Compares the length of one file, by its number, with what it was when it was opened.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Shrunk`] where it is shorter: what is read beyond its end would end the process.
    ///
    /// # Panics
    ///
    /// Where there is no such file.
    pub fn check_file(&self, number: usize) -> Result<(), DatasetError> {
        self.shards[number].check()
    }
}

impl Dataset for MmapDataset {
    fn schema(&self) -> &Schema {
        self.chunks.schema()
    }

    fn len(&self) -> usize {
        self.chunks.len()
    }

    fn run(&self, column: usize, row: usize) -> &[u8] {
        let (chunk, width) = (self.chunks.of(row), self.schema().columns()[column].width());
        let start = chunk.block.starts[column];
        let within = (row - chunk.first) * width..chunk.block.rows * width;
        &self.shards[chunk.shard].bytes()[start + within.start..start + within.end]
    }

    fn copy_rows(&self, column: usize, rows: &[usize], into: &mut [u8]) -> Result<(), DatasetError> {
        let width = self.schema().columns()[column].width();
        let mut each = into.chunks_exact_mut(width).zip(rows);
        if self.positioned {
            return each.try_for_each(|(into, &row)| {
                let (shard, start) = self.place(column, row);
                self.shards[shard].read(start, into)
            });
        }
        ahead::<ROWS_AHEAD, _>(
            each.len(),
            |place| {
                let (shard, start) = self.place(column, rows[place]);
                &self.shards[shard].bytes()[start..start + width]
            },
            fetch_start,
            |_, row| {
                if let Some((into, _)) = each.next() {
                    into.copy_from_slice(row);
                }
            },
        );
        Ok(())
    }

    fn lends(&self) -> bool {
        !self.positioned
    }

    fn check(&self) -> Result<(), DatasetError> {
        self.shards.iter().try_for_each(Mapping::check)
    }
}
