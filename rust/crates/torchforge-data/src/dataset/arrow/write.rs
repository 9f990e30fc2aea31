//! Messages of an Arrow file, as bytes.

use super::flatbuffer::{Field, written};
use super::{ALIGNMENT, CHECKSUM, CONTINUATION, V5, header, kind};
use crate::dataset::{Column, ElementType, Schema};

/// The message that a file begins with, to be written at `offset`. What follows it is aligned.
pub fn schema_message(schema: &Schema, offset: usize) -> Vec<u8> {
    message(header::SCHEMA, schema_table(schema), 0, Vec::new(), offset)
}

/// What stands before a block's body, to be written at `offset`: `rows`, where each column begins within the body, the
/// body's length and its checksum.
pub fn record_batch(
    schema: &Schema,
    rows: usize,
    starts: &[usize],
    body_len: usize,
    checksum: u32,
    offset: usize,
) -> Vec<u8> {
    let (mut nodes, mut buffers) = (Vec::new(), Vec::new());
    for (column, &start) in schema.columns().iter().zip(starts) {
        let mut length = rows as u64;
        // A node for each list around the numbers and one for them: its length, and no nulls. So no bitmap either.
        for dimension in [1].iter().chain(column.shape()) {
            length *= *dimension as u64;
            nodes.extend([length, 0]);
            buffers.extend([start as u64, 0]);
        }
        buffers.extend([start as u64, (rows * column.width()) as u64]);
    }
    let batch = vec![
        Field::U64(rows as u64),
        Field::Structs { len: nodes.len() / 2, words: nodes },
        Field::Structs { len: buffers.len() / 2, words: buffers },
    ];
    let checksum = vec![vec![Field::Text(CHECKSUM.into()), Field::Text(format!("{checksum:08x}"))]];
    message(header::RECORD_BATCH, batch, body_len as u64, checksum, offset)
}

/// The footer, its length and the last word: the end of a file whose blocks lie at these offsets, with so many bytes of
/// metadata and of body.
pub fn end_of_file(schema: &Schema, blocks: &[(u64, usize, usize)]) -> Vec<u8> {
    let words = blocks.iter().flat_map(|&(offset, metadata, body)| [offset, metadata as u64, body as u64]);
    let blocks = Field::Structs { len: blocks.len(), words: words.collect() };
    let root = [Field::U16(V5 as u16), Field::Table(schema_table(schema)), Field::Absent, blocks];
    // Without a message first: a reader of the stream stops here.
    let mut bytes = [CONTINUATION.to_le_bytes(), [0; 4]].concat();
    let footer = written(&root);
    bytes.extend(&footer);
    bytes.extend((footer.len() as u32).to_le_bytes());
    bytes.extend(&super::MAGIC[..super::END]);
    bytes
}

fn message(kind: u8, header: Vec<Field>, body_len: u64, custom: Vec<Vec<Field>>, offset: usize) -> Vec<u8> {
    let custom = if custom.is_empty() { Field::Absent } else { Field::Tables(custom) };
    let root = [Field::U16(V5 as u16), Field::U8(kind), Field::Table(header), Field::U64(body_len), custom];
    let mut metadata = written(&root);
    let end = (offset + 8 + metadata.len()).next_multiple_of(ALIGNMENT);
    metadata.resize(end - offset - 8, 0);
    let mut bytes = CONTINUATION.to_le_bytes().to_vec();
    bytes.extend((metadata.len() as u32).to_le_bytes());
    bytes.extend(metadata);
    bytes
}

fn schema_table(schema: &Schema) -> Vec<Field> {
    let fields = schema.columns().iter().map(|column| field(column.name(), column, column.shape()));
    vec![Field::U16(0), Field::Tables(fields.collect())]
}

/// A field of lists of lists of numbers, one level for each dimension that is left.
fn field(name: &str, column: &Column, shape: &[usize]) -> Vec<Field> {
    let (kind, r#type, children) = match shape.split_first() {
        Some((&length, rest)) => {
            let item = field("item", column, rest);
            (kind::FIXED_SIZE_LIST, vec![Field::U32(length as u32)], vec![item])
        }
        None => {
            let (kind, r#type) = number(column.element());
            (kind, r#type, Vec::new())
        }
    };
    // Name, not nullable, type, no dictionary, children.
    vec![
        Field::Text(name.into()),
        Field::U8(0),
        Field::U8(kind),
        Field::Table(r#type),
        Field::Absent,
        Field::Tables(children),
    ]
}

fn number(element: ElementType) -> (u8, Vec<Field>) {
    let bits = 8 * element.size() as u32;
    match element {
        // Precision: 1 is single and 2 is double.
        ElementType::F32 => (kind::FLOATING_POINT, vec![Field::U16(1)]),
        ElementType::F64 => (kind::FLOATING_POINT, vec![Field::U16(2)]),
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
            (kind::INT, vec![Field::U32(bits), Field::U8(0)])
        }
        ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64 => {
            (kind::INT, vec![Field::U32(bits), Field::U8(1)])
        }
    }
}
