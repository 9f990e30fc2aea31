//! What a file of a buffer says of itself and of its blocks.

use std::path::Path;

use super::super::Error;
use super::RowLayout;
use crate::dataset::named;
use crate::{DatasetError, ElementType, Value};

/// What a file begins with.
const MAGIC: &[u8; 8] = b"TFREPLAY";
/// The version of the format.
const VERSION: u64 = 2;
/// Bytes of the word and of the numbers after it; then comes their checksum.
const NUMBERS: usize = 64;
/// Bytes before the first block: a page.
pub const FILE_HEADER: usize = 4096;
/// Copies of a block's seal: one is whole while the other is written.
pub const SEALS: usize = 2;
/// Types of values, by their numbers in a file.
const TYPES: [ElementType; 10] = [
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::U64,
    ElementType::I8,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
    ElementType::F32,
    ElementType::F64,
];

/// Sizes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHeader {
    pub observation_len: usize,
    pub action_len: usize,
    action: ElementType,
    observation: ElementType,
    pub block_rows: usize,
    pub blocks: usize,
}

impl FileHeader {
    /// A file of blocks of about so many bytes, and of one block more than `capacity` rows need: the oldest is given up while
    /// it is replaced.
    pub fn new<A: Value, O: Value>(
        capacity: usize,
        observation_len: usize,
        action_len: usize,
        block_bytes: usize,
    ) -> Result<Self, Error> {
        for (count, what) in
            [(capacity, "capacity"), (observation_len, "observation length"), (action_len, "action length")]
        {
            if count == 0 {
                return Err(Error::Zero { what });
            }
        }
        let too_large = Error::TooLarge { rows: capacity, values: observation_len.max(action_len) };
        let layout = RowLayout::new((observation_len, O::TYPE.size()), (action_len, A::TYPE.size()))
            .ok_or(too_large)?;
        // A small buffer has several blocks too, or a crash would cost most of it.
        let block_rows = (block_bytes / layout.stride).min(capacity / 8).max(1);
        let blocks = capacity.div_ceil(block_rows).saturating_add(1);
        let (action, observation) = (A::TYPE, O::TYPE);
        let header = Self { observation_len, action_len, action, observation, block_rows, blocks };
        header.checked_len().map(|_| header).ok_or(too_large)
    }

    pub fn layout(&self) -> RowLayout {
        self.checked_layout().expect("the sizes were checked when the header was made or read")
    }

    pub fn file_len(&self) -> u64 {
        self.checked_len().expect("the sizes were checked when the header was made or read")
    }

    /// Bytes of a block with its seals.
    pub fn block_len(&self) -> usize {
        SEALS * BlockHeader::LEN + self.block_rows * self.layout().stride
    }

    /// None where a row would be too long.
    fn checked_layout(&self) -> Option<RowLayout> {
        let observation = (self.observation_len, self.observation.size());
        RowLayout::new(observation, (self.action_len, self.action.size()))
    }

    /// None where no file could be so long.
    fn checked_len(&self) -> Option<u64> {
        let layout = self.checked_layout()?;
        let rows = self.block_rows.checked_mul(layout.stride).filter(|&len| len < 1 << 40)?;
        let blocks = (rows + SEALS * BlockHeader::LEN).checked_mul(self.blocks)?;
        (blocks < isize::MAX as usize / 2).then_some((FILE_HEADER + blocks) as u64)
    }

    pub fn to_bytes(&self) -> [u8; FILE_HEADER] {
        let mut bytes = [0; FILE_HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        let number = |wanted| TYPES.iter().position(|&each| each == wanted).unwrap_or_default() as u64;
        let numbers = [
            VERSION,
            self.observation_len as u64,
            self.action_len as u64,
            number(self.action),
            self.block_rows as u64,
            self.blocks as u64,
            number(self.observation),
        ];
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..NUMBERS]);
        bytes[NUMBERS..NUMBERS + 4].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header of a file of at least that length, and compares it with the length.
    pub fn read<A: Value, O: Value>(file: &[u8], path: &Path) -> Result<Self, DatasetError> {
        let number =
            |index: usize| file[8 * index..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if file[..8] != *MAGIC {
            return Err(DatasetError::Foreign { path: named(path), expected: "the word TFREPLAY" });
        }
        if number(1) != VERSION {
            let (path, expected, found) = (named(path), VERSION, number(1));
            return Err(DatasetError::Version { path, offset: 8, expected, found });
        }
        let corrupt = |offset, expected| DatasetError::Corrupt { path: named(path), offset, expected };
        if crc32fast::hash(&file[..NUMBERS]).to_le_bytes() != file[NUMBERS..NUMBERS + 4] {
            return Err(corrupt(NUMBERS as u64, "the checksum of the header"));
        }
        let typed = |name: &str, index: usize, found: ElementType| {
            let expected = usize::try_from(number(index)).ok().and_then(|place| TYPES.get(place).copied());
            let expected = expected.ok_or_else(|| corrupt(8 * index as u64, "a type of values"))?;
            let other = DatasetError::Element { name: name.into(), expected, found };
            if expected == found { Ok(found) } else { Err(other) }
        };
        let action = typed("action", 4, A::TYPE)?;
        let observation = typed("observation", 7, O::TYPE)?;
        let [observation_len, action_len, block_rows, blocks] =
            [2, 3, 5, 6].map(|index| usize::try_from(number(index)).unwrap_or(usize::MAX));
        let header = Self { observation_len, action_len, action, observation, block_rows, blocks };
        let possible = observation_len > 0 && action_len > 0 && block_rows > 0 && blocks > 1;
        let len =
            header.checked_len().filter(|_| possible).ok_or_else(|| corrupt(16, "sizes of a buffer"))?;
        if (file.len() as u64) < len {
            let (path, len) = (named(path), file.len() as u64);
            return Err(DatasetError::Truncated { path, len, expected: "all blocks of the buffer" });
        }
        Ok(header)
    }
}

/// The seal of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// The block's number among all that were ever begun, from 1: zeros are no seal.
    pub number: u64,
    /// Rows that are sealed.
    pub rows: u64,
    /// Their checksum.
    pub checksum: u32,
}

impl BlockHeader {
    /// Bytes of a seal.
    pub const LEN: usize = 32;

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rows.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let own = crc32fast::hash(&bytes[..20]);
        bytes[20..24].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    /// None where the seal is not whole, as a process leaves it that was killed while it wrote it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let own = u32::from_le_bytes(*bytes[20..].first_chunk()?);
        (crc32fast::hash(&bytes[..20]) == own).then_some(Self {
            number: u64::from_le_bytes(*bytes.first_chunk()?),
            rows: u64::from_le_bytes(*bytes[8..].first_chunk()?),
            checksum: u32::from_le_bytes(*bytes[16..].first_chunk()?),
        })
    }
}
