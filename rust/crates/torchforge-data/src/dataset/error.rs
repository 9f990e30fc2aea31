//! What a dataset or its loader cannot do.

use std::io;
use std::path::Path;

use super::ElementType;

/// What a dataset, its writer or its loader cannot do, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// The operating system refused.
    #[error("{}: {action} failed: {source}", path.display())]
    Io {
        /// The file.
        path: Box<Path>,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no dataset.
    #[error("{}: offset 0: expected {expected}: this is another kind of file", path.display())]
    Foreign {
        /// The file.
        path: Box<Path>,
        /// What a dataset begins with.
        expected: &'static str,
    },
    /// The file ends too early.
    #[error("{}: the file ends at offset {len}, expected {expected}: write or copy it again", path.display())]
    Truncated {
        /// The file.
        path: Box<Path>,
        /// The file's length in bytes.
        len: u64,
        /// What should stand there.
        expected: &'static str,
    },
    /// The file has another version of the format.
    #[error("{}: offset {offset}: expected version {expected} of the format, found {found}: write it again",
            path.display())]
    Version {
        /// The file.
        path: Box<Path>,
        /// Where the version stands.
        offset: u64,
        /// The version that is read, as the format counts.
        expected: u64,
        /// The version of the file.
        found: u64,
    },
    /// The file contradicts itself.
    #[error("{}: offset {offset}: expected {expected}: the file is corrupt, so copy it again", path.display())]
    Corrupt {
        /// The file.
        path: Box<Path>,
        /// Where it does.
        offset: u64,
        /// What should stand there.
        expected: &'static str,
    },
    /// The file holds what this crate does not read, though others may.
    #[error("{}: offset {offset}: expected {expected}: write it again like that", path.display())]
    Unsupported {
        /// The file.
        path: Box<Path>,
        /// Where it does.
        offset: u64,
        /// What is read.
        expected: &'static str,
    },
    /// A block's data differ from their checksum.
    #[error("{}: offset {offset}: the block has the checksum {found:08x}, expected {expected:08x}: copy the file again",
            path.display())]
    Checksum {
        /// The file.
        path: Box<Path>,
        /// Where the block's data begin.
        offset: u64,
        /// The checksum that was written.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// Another process, or another part of this one, writes to the file.
    #[error("{}: another buffer has the file open: close it first", path.display())]
    Locked {
        /// The file.
        path: Box<Path>,
    },
    /// A buffer cannot have these sizes.
    #[error(transparent)]
    Buffer(#[from] crate::Error),
    /// A file has become shorter since it was opened.
    #[error("{}: the file has {found} bytes and had {expected} when it was opened: replace files by renaming, \
             never in place", path.display())]
    Shrunk {
        /// The file.
        path: Box<Path>,
        /// Its length in bytes when it was opened.
        expected: u64,
        /// Its length now.
        found: u64,
    },
    /// Files of one dataset have other columns.
    #[error("{}: expected the columns {expected}, found {found}: shards of one dataset have the same", path.display())]
    Schema {
        /// The file.
        path: Box<Path>,
        /// The first shard's columns.
        expected: String,
        /// This shard's.
        found: String,
    },
    /// A dataset of no file was asked for.
    #[error("there is no shard: give at least one path")]
    NoShard,
    /// A schema is unfit to be written.
    #[error("column '{name}' {fault}")]
    Column {
        /// The column.
        name: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// There is no column of this name.
    #[error("there is no column '{name}': the columns are {columns}")]
    NoColumn {
        /// The name.
        name: String,
        /// The columns that there are.
        columns: String,
    },
    /// A column has other elements.
    #[error("column '{name}' has elements of type {expected}, not {found}")]
    Element {
        /// The column.
        name: String,
        /// The column's type.
        expected: ElementType,
        /// The type that was given or asked for.
        found: ElementType,
    },
    /// Values do not make up whole rows.
    #[error(
        "column '{name}' got {found} values, expected {expected}: give every column the same number of rows"
    )]
    Values {
        /// The column, or the schema where columns are missing.
        name: String,
        /// Values that would fit.
        expected: usize,
        /// Values that were given.
        found: usize,
    },
    /// There is no such row.
    #[error("there is no row {row}: the dataset has {rows}")]
    Row {
        /// The row.
        row: usize,
        /// Rows of the dataset.
        rows: usize,
    },
    /// An option of the loader makes no sense.
    #[error("{what} is {value}: give {allowed}")]
    Option {
        /// The option's name.
        what: &'static str,
        /// Its value.
        value: usize,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// A thread could not be started.
    #[error("worker {number} could not be started: {source}: use fewer workers")]
    Thread {
        /// The worker.
        number: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A worker panicked while it made a batch.
    #[error("a worker panicked in batch {batch}: the dataset's own code has a fault")]
    Panicked {
        /// The batch's number in its epoch.
        batch: usize,
    },
    /// A store of objects refused, or could not be reached.
    #[cfg(feature = "async")]
    #[error("{}: {action} failed: {source}: look whether the store is there and allows it", path.display())]
    Store {
        /// The object.
        path: Box<Path>,
        /// What was tried.
        action: &'static str,
        /// What the store said.
        source: object_store::Error,
    },
    /// An object is another one than when it was opened.
    #[cfg(feature = "async")]
    #[error("{}: the object has changed since it was opened: open it again", path.display())]
    Changed {
        /// The object.
        path: Box<Path>,
    },
    /// An asynchronous loader was made outside of a runtime.
    #[cfg(feature = "async")]
    #[error("there is no tokio runtime here: make the loader within one")]
    NoRuntime,
    /// The runtime ended while it made a batch.
    #[cfg(feature = "async")]
    #[error("the runtime ended before batch {batch} was made: let it live as long as the stream")]
    RuntimeEnded {
        /// The batch's number in its epoch.
        batch: usize,
    },
    /// A loader was iterated anew while this iterator went on.
    #[error("another iteration of this loader began: use one iterator at a time")]
    Superseded,
    /// A saved state belongs to another loader.
    #[error(
        "the saved state has {what} {found} and this loader has {expected}: resume with the same dataset and options"
    )]
    State {
        /// What differs.
        what: &'static str,
        /// The loader's.
        expected: u64,
        /// The state's.
        found: u64,
    },
    /// Bytes are no saved state.
    #[error("these {len} bytes are no saved state of a loader: use what LoaderState::to_bytes returned")]
    NoState {
        /// Their number.
        len: usize,
    },
}
