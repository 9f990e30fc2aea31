//! Flatbuffers, read with every access checked, and written front to back.
//!
//! <https://flatbuffers.dev/internals/>: a table begins with the distance back to its vtable, whose entries say where in the
//! table each field lies. A field of variable length is the distance forward to it.

/// What is wrong with a buffer, and where in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub offset: u64,
    pub expected: &'static str,
}

/// Bytes of a file, and where in the file they begin.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> Buffer<'a> {
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { bytes, offset }
    }

    /// The table that the buffer is of.
    pub fn root(self) -> Result<Table<'a>, Fault> {
        self.table(self.follow(0)?)
    }

    pub fn fault<T>(self, position: usize, expected: &'static str) -> Result<T, Fault> {
        Err(Fault { offset: self.offset + position as u64, expected })
    }

    fn bytes<const N: usize>(self, position: usize) -> Result<[u8; N], Fault> {
        match self.bytes.get(position..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(*bytes),
            None => self.fault(position, "a number within the metadata"),
        }
    }

    /// Where the distance at `position` leads.
    fn follow(self, position: usize) -> Result<usize, Fault> {
        let distance = u32::from_le_bytes(self.bytes(position)?) as usize;
        match position.checked_add(distance).filter(|&target| target < self.bytes.len()) {
            Some(target) => Ok(target),
            None => self.fault(position, "a distance within the metadata"),
        }
    }

    fn table(self, position: usize) -> Result<Table<'a>, Fault> {
        let back = i64::from(i32::from_le_bytes(self.bytes(position)?));
        let vtable = usize::try_from(position as i64 - back)
            .or_else(|_| self.fault(position, "a distance back to a vtable"))?;
        let vtable_len = u16::from_le_bytes(self.bytes(vtable)?) as usize;
        Ok(Table { buffer: self, position, vtable, vtable_len })
    }
}

/// A table; fields are named by their places in its definition.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    buffer: Buffer<'a>,
    position: usize,
    vtable: usize,
    vtable_len: usize,
}

impl<'a> Table<'a> {
    /// Bytes of the buffer that holds it, and all that it points to.
    pub fn buffer_len(&self) -> usize {
        self.buffer.bytes.len()
    }

    /// Where in the file a field lies, or the table where it is left out.
    pub fn offset(&self, field: usize) -> u64 {
        let position = self.position_of(field).ok().flatten().unwrap_or(self.position);
        self.buffer.offset + position as u64
    }

    fn position_of(&self, field: usize) -> Result<Option<usize>, Fault> {
        let entry = 4 + 2 * field;
        if entry + 2 > self.vtable_len {
            return Ok(None);
        }
        let within = u16::from_le_bytes(self.buffer.bytes(self.vtable + entry)?) as usize;
        Ok((within != 0).then_some(self.position + within))
    }

    /// A number of `N` bytes; 0 where it is left out.
    fn number<const N: usize>(&self, field: usize) -> Result<[u8; N], Fault> {
        self.position_of(field)?.map_or(Ok([0; N]), |position| self.buffer.bytes(position))
    }

    pub fn u8(&self, field: usize) -> Result<u8, Fault> {
        self.number(field).map(u8::from_le_bytes)
    }

    pub fn u16(&self, field: usize) -> Result<u16, Fault> {
        self.number(field).map(u16::from_le_bytes)
    }

    pub fn u32(&self, field: usize) -> Result<u32, Fault> {
        self.number(field).map(u32::from_le_bytes)
    }

    pub fn u64(&self, field: usize) -> Result<u64, Fault> {
        self.number(field).map(u64::from_le_bytes)
    }

    pub fn has(&self, field: usize) -> Result<bool, Fault> {
        Ok(self.position_of(field)?.is_some())
    }

    pub fn table(&self, field: usize, expected: &'static str) -> Result<Table<'a>, Fault> {
        match self.position_of(field)? {
            Some(position) => self.buffer.table(self.buffer.follow(position)?),
            None => self.buffer.fault(self.position, expected),
        }
    }

    /// A list of elements of `size` bytes; empty where it is left out.
    pub fn vector(&self, field: usize, size: usize) -> Result<Vector<'a>, Fault> {
        let Some(position) = self.position_of(field)? else {
            return Ok(Vector { buffer: self.buffer, position: self.position, len: 0, size });
        };
        let start = self.buffer.follow(position)?;
        let len = u32::from_le_bytes(self.buffer.bytes(start)?) as usize;
        let room = self.buffer.bytes.len() - start - 4;
        if len > room / size {
            return self.buffer.fault(start, "a list within the metadata");
        }
        Ok(Vector { buffer: self.buffer, position: start + 4, len, size })
    }

    pub fn text(&self, field: usize) -> Result<&'a str, Fault> {
        let list = self.vector(field, 1)?;
        let bytes = &self.buffer.bytes[list.position..][..list.len];
        str::from_utf8(bytes).or_else(|_| self.buffer.fault(list.position, "text in UTF-8"))
    }
}

/// A list.
#[derive(Debug, Clone, Copy)]
pub struct Vector<'a> {
    buffer: Buffer<'a>,
    position: usize,
    pub len: usize,
    size: usize,
}

impl<'a> Vector<'a> {
    /// Where in the file an element lies.
    pub fn offset(&self, index: usize) -> u64 {
        self.buffer.offset + (self.position + index * self.size) as u64
    }

    /// The number of 64 bits that begins so many bytes within an element.
    pub fn u64(&self, index: usize, within: usize) -> Result<u64, Fault> {
        self.buffer.bytes(self.position + index * self.size + within).map(u64::from_le_bytes)
    }

    /// The number of 32 bits that begins so many bytes within an element.
    pub fn u32(&self, index: usize, within: usize) -> Result<u32, Fault> {
        self.buffer.bytes(self.position + index * self.size + within).map(u32::from_le_bytes)
    }

    /// The table that an element is the distance to.
    pub fn table(&self, index: usize) -> Result<Table<'a>, Fault> {
        self.buffer.table(self.buffer.follow(self.position + index * self.size)?)
    }
}

/// What a table's field is made of.
pub enum Field {
    Absent,
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    Table(Vec<Field>),
    Tables(Vec<Vec<Field>>),
    Text(String),
    /// Elements of whole 64-bit words.
    Structs {
        len: usize,
        words: Vec<u64>,
    },
}

impl Field {
    /// Bytes within the table.
    fn size(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U64(_) => 8,
            _ => 4,
        }
    }
}

/// A buffer with one table in it, padded to a multiple of eight bytes.
pub fn written(root: &[Field]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    let table = table(&mut bytes, root);
    point(&mut bytes, 0, table);
    pad(&mut bytes, 8, 0);
    bytes
}

/// Writes a table, then what its fields lead to, and returns where it begins.
fn table(bytes: &mut Vec<u8>, fields: &[Field]) -> usize {
    // The widest first, so that each is aligned to its size behind the table's first four bytes and four of padding.
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(fields[index].size()));
    let mut within = vec![0_u16; fields.len()];
    let mut len = 8;
    for &index in &order {
        let size = fields[index].size();
        if size > 0 {
            within[index] = len;
            len += size as u16;
        }
    }

    pad(bytes, 2, 0);
    let vtable = bytes.len();
    bytes.extend((4 + 2 * fields.len() as u16).to_le_bytes());
    bytes.extend(len.to_le_bytes());
    within.iter().for_each(|offset| bytes.extend(offset.to_le_bytes()));

    pad(bytes, 8, 0);
    let start = bytes.len();
    bytes.extend(((start - vtable) as i32).to_le_bytes());
    bytes.resize(start + usize::from(len), 0);
    for (field, &offset) in fields.iter().zip(&within) {
        let position = start + usize::from(offset);
        match field {
            Field::Absent => {}
            Field::U8(number) => bytes[position] = *number,
            Field::U16(number) => put(bytes, position, number.to_le_bytes()),
            Field::U32(number) => put(bytes, position, number.to_le_bytes()),
            Field::U64(number) => put(bytes, position, number.to_le_bytes()),
            Field::Table(fields) => {
                let target = table(bytes, fields);
                point(bytes, position, target);
            }
            Field::Tables(tables) => {
                let first = list(bytes, position, tables.len(), 4);
                bytes.resize(first + 4 * tables.len(), 0);
                for (index, fields) in tables.iter().enumerate() {
                    let target = table(bytes, fields);
                    point(bytes, first + 4 * index, target);
                }
            }
            Field::Text(text) => {
                list(bytes, position, text.len(), 4);
                bytes.extend(text.as_bytes());
                bytes.push(0);
            }
            Field::Structs { len, words } => {
                list(bytes, position, *len, 8);
                words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            }
        }
    }
    start
}

/// Writes the length of a list whose elements need this alignment, points to it, and returns where the elements begin.
fn list(bytes: &mut Vec<u8>, position: usize, len: usize, alignment: usize) -> usize {
    pad(bytes, alignment, 4);
    let start = bytes.len();
    point(bytes, position, start);
    bytes.extend((len as u32).to_le_bytes());
    start + 4
}

/// Pads until what stands `ahead` bytes later is aligned.
fn pad(bytes: &mut Vec<u8>, alignment: usize, ahead: usize) {
    let len = (bytes.len() + ahead).next_multiple_of(alignment) - ahead;
    bytes.resize(len, 0);
}

fn point(bytes: &mut [u8], position: usize, target: usize) {
    put(bytes, position, ((target - position) as u32).to_le_bytes());
}

fn put<const N: usize>(bytes: &mut [u8], position: usize, number: [u8; N]) {
    bytes[position..position + N].copy_from_slice(&number);
}
