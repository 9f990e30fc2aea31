//! The file format of Apache Arrow, as far as columns of fixed width need it.
//!
//! "Arrow Columnar Format", <https://arrow.apache.org/docs/format/Columnar.html>: a file is the word `ARROW1`, a message with
//! the schema, a message with a body for each block of rows, and a footer that says where the blocks lie.
//! docs/decisions/dataset-files.md says why this is not a library's.

mod flatbuffer;
mod read;
mod write;

pub use read::{Block, layout};
#[cfg(feature = "async")]
pub use read::{Footer, block, ends, footer, footer_range};
pub use write::{end_of_file, record_batch, schema_message};

/// What a file begins with, padded to eight bytes, and ends with.
pub const MAGIC: &[u8; 8] = b"ARROW1\0\0";
/// Bytes of the word at the end.
pub const END: usize = 6;
/// What stands before a message.
const CONTINUATION: u32 = u32::MAX;
/// The version of the metadata: 1.0 and later.
const V5: u64 = 4;
/// The key of a message's own data under which a block's checksum stands.
const CHECKSUM: &str = "torchforge.crc32";
/// Blocks and columns begin at multiples of this, as Arrow recommends: a cache line, and a register of AVX-512.
pub const ALIGNMENT: usize = 64;
/// Bytes of an entry of the footer's list of blocks.
const BLOCK: usize = 24;

/// Kinds of messages, in Arrow's numbering.
mod header {
    pub const SCHEMA: u8 = 1;
    pub const RECORD_BATCH: u8 = 3;
}

/// Kinds of types, in Arrow's numbering.
mod kind {
    pub const INT: u8 = 2;
    pub const FLOATING_POINT: u8 = 3;
    pub const FIXED_SIZE_LIST: u8 = 16;
}
