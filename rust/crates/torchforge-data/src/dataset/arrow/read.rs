//! What an Arrow file says of itself: its columns, and where the rows lie.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use super::flatbuffer::{Buffer, Fault, Table};
use super::{BLOCK, CHECKSUM, CONTINUATION, END, MAGIC, V5, header, kind};
use crate::dataset::{Column, DatasetError, ElementType, Schema, named};

/// Bytes at a file's end that are looked at together.
const TAIL: usize = 4096;

/// A block of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub rows: usize,
    /// Where in the file each column begins.
    pub starts: Vec<usize>,
    /// Where in the file the body lies.
    pub body: Range<usize>,
    /// The body's checksum, where the writer left one.
    pub checksum: Option<u32>,
}

/// What was found instead of what is read.
enum Refusal {
    Corrupt(Fault),
    Unsupported(Fault),
    Version { offset: u64, found: u64 },
}

impl Refusal {
    fn of(self, path: &Path) -> DatasetError {
        let path = named(path);
        match self {
            Self::Corrupt(Fault { offset, expected }) => DatasetError::Corrupt { path, offset, expected },
            Self::Unsupported(Fault { offset, expected }) => {
                DatasetError::Unsupported { path, offset, expected }
            }
            Self::Version { offset, found } => DatasetError::Version { path, offset, expected: V5, found },
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Corrupt(fault)
    }
}

fn corrupt<T>(offset: u64, expected: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Corrupt(Fault { offset, expected }))
}

fn unsupported<T>(offset: u64, expected: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Unsupported(Fault { offset, expected }))
}

/// What the end of a file says: the columns, and where each block lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footer {
    pub schema: Schema,
    pub blocks: Vec<Entry>,
}

/// A block as the footer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where in the file the block's message lies.
    pub metadata: Range<usize>,
    /// Where in the file its rows lie.
    pub body: Range<usize>,
}

/// The bytes that a file of this length begins with, and those at its end: [`footer_range`] asks for both.
pub fn ends(len: usize) -> [Range<usize>; 2] {
    [0..len.min(MAGIC.len()), len.saturating_sub(4 + END)..len]
}

/// Where in a file of this length the footer lies, by the bytes of both [`ends`].
pub fn footer_range(len: usize, begin: &[u8], end: &[u8], path: &Path) -> Result<Range<usize>, DatasetError> {
    let truncated = |expected| DatasetError::Truncated { path: named(path), len: len as u64, expected };
    if *begin != MAGIC[..begin.len()] {
        return Err(DatasetError::Foreign {
            path: named(path),
            expected: "an Arrow file's first word, ARROW1",
        });
    }
    if len < MAGIC.len() + 4 + END || !end.ends_with(&MAGIC[..END]) {
        return Err(truncated("an Arrow file's last word, ARROW1"));
    }
    let end_of_footer = len - END - 4;
    let footer_len = u32_at(end, 0).map_or(0, |len| len as usize);
    let start = end_of_footer.checked_sub(footer_len).filter(|&start| start >= MAGIC.len() && footer_len > 0);
    match start {
        Some(start) => Ok(start..end_of_footer),
        None => Err(DatasetError::Corrupt {
            path: named(path),
            offset: end_of_footer as u64,
            expected: "the length of a footer within the file",
        }),
    }
}

/// Reads a footer that begins at `start`. Each block is checked to lie before it.
pub fn footer(bytes: &[u8], start: usize, path: &Path) -> Result<Footer, DatasetError> {
    contents(bytes, start).map_err(|refusal| refusal.of(path))
}

/// Reads the message of a block, whose bytes are `metadata`.
pub fn block(metadata: &[u8], entry: &Entry, schema: &Schema, path: &Path) -> Result<Block, DatasetError> {
    rows(metadata, entry, schema).map_err(|refusal| refusal.of(path))
}

/// Reads the schema and where the blocks lie; everything that the file claims is checked against its length.
///
/// `look` gives the bytes of a range of the file, whose length is `len`.
pub fn layout<'a>(
    len: usize,
    look: impl Fn(Range<usize>) -> Result<Cow<'a, [u8]>, DatasetError>,
    path: &Path,
) -> Result<(Schema, Vec<Block>), DatasetError> {
    let [begin, end] = ends(len);
    // The footer of most files lies in their last page whole.
    let tail_start = len.saturating_sub(TAIL);
    let (begin, tail) = (look(begin)?, look(tail_start..len)?);
    let range = footer_range(len, &begin, &tail[end.start - tail_start..], path)?;
    let Footer { schema, blocks } = match range.start.checked_sub(tail_start) {
        Some(start) => footer(&tail[start..range.end - tail_start], range.start, path)?,
        None => footer(&look(range.clone())?, range.start, path)?,
    };
    let blocks = blocks.iter().map(|entry| block(&look(entry.metadata.clone())?, entry, &schema, path));
    let blocks = blocks.collect::<Result<_, _>>()?;
    Ok((schema, blocks))
}

fn contents(bytes: &[u8], start: usize) -> Result<Footer, Refusal> {
    let footer = Buffer::new(bytes, start as u64).root()?;
    check_version(&footer)?;
    let schema = schema(&footer.table(1, "a schema in the footer")?)?;
    if footer.vector(2, BLOCK)?.len > 0 {
        return unsupported(footer.offset(2), "no dictionaries");
    }
    let list = footer.vector(3, BLOCK)?;
    let within = |from: u64, len: u64| {
        let end = from.checked_add(len).filter(|&end| end <= start as u64)?;
        Some(from as usize..end as usize)
    };
    let mut blocks = Vec::with_capacity(list.len);
    for index in 0..list.len {
        let (offset, metadata_len) = (list.u64(index, 0)?, u64::from(list.u32(index, 8)?));
        let metadata = within(offset, metadata_len);
        let body = offset.checked_add(metadata_len).zip(Some(list.u64(index, 16)?));
        let body = body.and_then(|(from, len)| within(from, len));
        let Some((metadata, body)) = metadata.zip(body) else {
            return corrupt(list.offset(index), "a block before the footer");
        };
        // Several entries that lie in one place would be read, and held, as often.
        if blocks.last().is_some_and(|last: &Entry| metadata.start < last.body.end) {
            return corrupt(list.offset(index), "a block after the one before");
        }
        blocks.push(Entry { metadata, body });
    }
    Ok(Footer { schema, blocks })
}

fn check_version(table: &Table<'_>) -> Result<(), Refusal> {
    let found = u64::from(table.u16(0)?);
    if found == V5 { Ok(()) } else { Err(Refusal::Version { offset: table.offset(0), found }) }
}

fn schema(table: &Table<'_>) -> Result<Schema, Refusal> {
    if table.u16(0)? != 0 {
        return unsupported(table.offset(0), "little-endian numbers");
    }
    let fields = table.vector(1, 4)?;
    if fields.len == 0 {
        return unsupported(table.offset(1), "at least one column");
    }
    // Several entries may point to one field, whose name would be copied for each of them.
    let mut room = table.buffer_len();
    let mut columns = Vec::new();
    for index in 0..fields.len {
        let column = column(&fields.table(index)?)?;
        let Some(left) = room.checked_sub(column.name().len()) else {
            return corrupt(fields.offset(index), "a field of its own for each column");
        };
        room = left;
        columns.push(column);
    }
    Schema::new(columns)
        .or_else(|_| unsupported(table.offset(1), "columns of different names, and rows below 2 GiB"))
}

fn column(field: &Table<'_>) -> Result<Column, Refusal> {
    let (name, start) = (field.text(0)?, field.offset(3));
    let mut shape = Vec::new();
    let mut field = *field;
    let element = loop {
        if field.has(4)? {
            return unsupported(field.offset(4), "a column without a dictionary");
        }
        if field.u8(2)? != kind::FIXED_SIZE_LIST {
            break number(&field)?;
        }
        let children = field.vector(5, 4)?;
        if children.len != 1 {
            return corrupt(field.offset(5), "one child of a list of fixed size");
        }
        // Lists within lists end here where a file leads in a circle.
        if shape.len() == 8 {
            return unsupported(field.offset(5), "lists of at most 8 dimensions");
        }
        shape.push(field.table(3, "the size of a list")?.u32(0)? as usize);
        field = children.table(0)?;
    };
    Column::new(name, element, &shape)
        .or_else(|_| unsupported(start, "lists of at least one number, in rows below 2 GiB"))
}

fn number(field: &Table<'_>) -> Result<ElementType, Refusal> {
    let kind = field.u8(2)?;
    if kind == kind::INT {
        let r#type = field.table(3, "the width of an integer")?;
        return match (r#type.u32(0)?, r#type.u8(1)? != 0) {
            (8, false) => Ok(ElementType::U8),
            (16, false) => Ok(ElementType::U16),
            (32, false) => Ok(ElementType::U32),
            (64, false) => Ok(ElementType::U64),
            (8, true) => Ok(ElementType::I8),
            (16, true) => Ok(ElementType::I16),
            (32, true) => Ok(ElementType::I32),
            (64, true) => Ok(ElementType::I64),
            _ => corrupt(r#type.offset(0), "an integer of 8, 16, 32 or 64 bits"),
        };
    }
    if kind == kind::FLOATING_POINT {
        let r#type = field.table(3, "the precision of a floating-point number")?;
        return match r#type.u16(0)? {
            1 => Ok(ElementType::F32),
            2 => Ok(ElementType::F64),
            _ => unsupported(r#type.offset(0), "floating-point numbers of 32 or 64 bits"),
        };
    }
    unsupported(
        field.offset(2),
        "integers, floating-point numbers, or lists of fixed size of them (booleans as uint8)",
    )
}

fn rows(metadata: &[u8], Entry { metadata: lies, body }: &Entry, schema: &Schema) -> Result<Block, Refusal> {
    let offset = lies.start as u64;
    if metadata.len() < 8 || u32_at(metadata, 0) != Some(CONTINUATION) {
        return corrupt(offset, "a message, which begins with ffffffff");
    }
    let message = Buffer::new(&metadata[8..], offset + 8).root()?;
    check_version(&message)?;
    if message.u8(1)? != header::RECORD_BATCH {
        return corrupt(message.offset(1), "a block of rows");
    }
    let batch = message.table(2, "the description of a block")?;
    if batch.has(3)? {
        return unsupported(batch.offset(3), "blocks that are not compressed");
    }
    let Some(rows) = usize::try_from(batch.u64(0)?).ok().filter(|&rows| rows < 1 << 48) else {
        return corrupt(batch.offset(0), "a number of rows");
    };
    let starts = columns(&batch, schema, rows, body)?;
    let checksum = checksum(&message)?;
    Ok(Block { rows, starts, body: body.clone(), checksum })
}

/// Where each column of a block begins in the file.
fn columns(
    batch: &Table<'_>,
    schema: &Schema,
    rows: usize,
    body: &Range<usize>,
) -> Result<Vec<usize>, Refusal> {
    let (nodes, buffers) = (batch.vector(1, 16)?, batch.vector(2, 16)?);
    let (mut node, mut buffer) = (0, 0);
    let mut starts = Vec::with_capacity(schema.columns().len());
    for column in schema.columns() {
        let mut length = rows as u128;
        for dimension in [1].iter().chain(column.shape()) {
            length *= *dimension as u128;
            if node == nodes.len {
                return corrupt(nodes.offset(0), "the length of every column");
            }
            if u128::from(nodes.u64(node, 0)?) != length {
                return corrupt(nodes.offset(node), "a column as long as its block");
            }
            if nodes.u64(node, 8)? != 0 {
                return unsupported(nodes.offset(node) + 8, "columns without nulls");
            }
            node += 1;
            // The bitmap of nulls, which says nothing where there is none.
            buffer += 1;
        }
        if buffer >= buffers.len {
            return corrupt(buffers.offset(0), "a buffer for every column");
        }
        let (start, len) = (buffers.u64(buffer, 0)?, buffers.u64(buffer, 8)?);
        let at = buffers.offset(buffer);
        buffer += 1;
        let needed = rows as u128 * column.width() as u128;
        if u128::from(len) < needed || u128::from(start) + u128::from(len) > body.len() as u128 {
            return corrupt(at, "a column's numbers within the block");
        }
        let start = body.start + start as usize;
        if !start.is_multiple_of(column.element().size()) {
            return unsupported(at, "numbers at a multiple of their size");
        }
        starts.push(start);
    }
    Ok(starts)
}

fn checksum(message: &Table<'_>) -> Result<Option<u32>, Refusal> {
    let custom = message.vector(4, 4)?;
    for index in 0..custom.len {
        let pair = custom.table(index)?;
        if pair.text(0)? == CHECKSUM {
            let Ok(checksum) = u32::from_str_radix(pair.text(1)?, 16) else {
                return corrupt(pair.offset(1), "a checksum of hexadecimal digits");
            };
            return Ok(Some(checksum));
        }
    }
    Ok(None)
}

fn u32_at(file: &[u8], position: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*file.get(position..)?.first_chunk()?))
}
