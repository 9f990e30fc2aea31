//! Blocks of several files as one run of rows.

use std::path::Path;

use super::arrow::Block;
use super::{DatasetError, Schema, named};

/// Where the rows of a dataset lie in its files.
#[derive(Debug)]
pub struct Chunks {
    schema: Schema,
    chunks: Vec<Chunk>,
    len: usize,
}

/// A block of one of the files.
#[derive(Debug)]
pub struct Chunk {
    pub shard: usize,
    pub first: usize,
    pub block: Block,
}

impl Chunks {
    /// The rows of no file, with the first file's columns.
    pub fn new(schema: Schema) -> Self {
        Self { schema, chunks: Vec::new(), len: 0 }
    }

    /// Adds the rows of the next file.
    pub fn add(
        &mut self,
        shard: usize,
        found: &Schema,
        blocks: Vec<Block>,
        path: &Path,
    ) -> Result<(), DatasetError> {
        if self.schema != *found {
            let (expected, found) = (self.schema.to_string(), found.to_string());
            return Err(DatasetError::Schema { path: named(path), expected, found });
        }
        for block in blocks.into_iter().filter(|block| block.rows > 0) {
            let first = self.len;
            // Each row has bytes of its own in a file, so only forged files count that far.
            self.len = self.len.checked_add(block.rows).ok_or(DatasetError::Corrupt {
                path: named(path),
                offset: block.body.start as u64,
                expected: "blocks whose rows can be counted",
            })?;
            self.chunks.push(Chunk { shard, first, block });
        }
        Ok(())
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Rows of all files.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter()
    }

    /// The block that a row lies in.
    pub fn of(&self, row: usize) -> &Chunk {
        assert!(row < self.len, "row {row} of {}", self.len);
        &self.chunks[self.chunks.partition_point(|chunk| chunk.first <= row) - 1]
    }

    /// Where a row of a column lies: the number of its file, and its first byte there.
    pub fn place(&self, column: usize, row: usize) -> (usize, usize) {
        let chunk = self.of(row);
        let width = self.schema.columns()[column].width();
        (chunk.shard, chunk.block.starts[column] + (row - chunk.first) * width)
    }
}
