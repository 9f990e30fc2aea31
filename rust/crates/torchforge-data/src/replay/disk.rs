//! A ring of transitions in a mapped file.

mod header;
mod row;

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

use rand_core::Rng;

use super::{Batch, Error, Observation, Rows, Transition, check_len, draw};
use crate::dataset::mapping::MutableMapping;
use crate::dataset::{named, partial};
use crate::{DatasetError, Value};
use header::{BlockHeader, FILE_HEADER, FileHeader, SEALS};
use row::RowLayout;

/// Bytes of a block, about: what a crash may cost, and what is read for one checksum.
const BLOCK_BYTES: usize = 256 << 10;

/// A ring of the most recent transitions that outlives its process: it lies in a file, which is mapped and not copied when
/// the buffer is opened again.
///
/// Transitions are written in blocks. A block is sealed when it is full, with a checksum, and when the buffer is dropped. A
/// process that is killed loses at most the block that was not sealed. The system writes pages to the disk when it likes, so a
/// machine that loses its power may lose more: call [`flush`](Self::flush) where that matters, and [`verify`](Self::verify)
/// afterwards.
///
/// One buffer at a time has the file open, which a lock ensures. The file must not be made shorter meanwhile: the system would
/// end the process (SIGBUS). All of the disk's room is taken when the file is made.
///
/// ```
/// use rand::{SeedableRng, rngs::StdRng};
/// use torchforge_data::{Batch, DiskReplayBuffer, Transition};
/// # let path = std::env::temp_dir().join(format!("torchforge-data-doc-ring-{}", std::process::id()));
/// let mut buffer = DiskReplayBuffer::create(&path, 10_000, 4, 1)?;
/// buffer.push(Transition {
///     observation: &[0.0; 4],
///     next_observation: &[0.1; 4],
///     action: &[1_u32],
///     reward: 1.0,
///     terminated: false,
///     truncated: false,
/// })?;
/// drop(buffer);
///
/// let buffer = DiskReplayBuffer::<u32>::open(&path)?;
/// assert_eq!(buffer.len(), 1);
/// let mut batch = Batch::new(32, 4, 1)?;
/// buffer.sample(&mut StdRng::seed_from_u64(1), &mut batch)?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DiskReplayBuffer<A, O = f32> {
    mapping: MutableMapping,
    path: Box<Path>,
    header: FileHeader,
    layout: RowLayout,
    /// Bytes of a block with its seals.
    block_len: usize,
    /// Blocks ever begun before the one under way. The number of a block, modulo their number in the file, is its place.
    block: u64,
    /// Whole blocks before the one under way that are held.
    whole: usize,
    /// Rows of the block under way.
    filled: usize,
    values: PhantomData<(A, O)>,
}

/// Writes a ring without a row.
fn write_empty(file: &mut File, header: &FileHeader) -> io::Result<()> {
    file.write_all(&header.to_bytes())?;
    // Zeros are written, because a hole for which the disk has no room would end the process later.
    let rest = header.file_len() - FILE_HEADER as u64;
    io::copy(&mut io::Read::take(io::repeat(0), rest), file)?;
    file.sync_all()
}

impl<A: Value + Default, O: Value + Observation> DiskReplayBuffer<A, O> {
    /// Makes a file for at least the last `capacity` transitions whose observations have `observation_len` values and whose
    /// actions `action_len`, and opens it. A file of that name is replaced.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Buffer`] for sizes of 0, or that no file can have; [`DatasetError::Locked`] while another buffer has
    /// the file open; [`DatasetError::Io`] where there is no room.
    pub fn create(
        path: impl AsRef<Path>,
        capacity: usize,
        observation_len: usize,
        action_len: usize,
    ) -> Result<Self, DatasetError> {
        let path = path.as_ref();
        let header = FileHeader::new::<A, O>(capacity, observation_len, action_len, BLOCK_BYTES)?;
        let failed = |action| move |source| DatasetError::Io { path: named(path), action, source };
        // What another buffer has open would be written on without a name.
        if path.is_file()
            && matches!(File::open(path).map(|file| file.try_lock()), Ok(Err(TryLockError::WouldBlock)))
        {
            return Err(DatasetError::Locked { path: named(path) });
        }
        let (partial, mut file) = partial::beside(path).map_err(failed("making it"))?;
        let written = write_empty(&mut file, &header).and_then(|()| fs::rename(&partial, path));
        if let Err(source) = written {
            let _ = fs::remove_file(&partial);
            return Err(failed("making it")(source));
        }
        Self::open(path)
    }

    /// Opens a file that [`create`](Self::create) made, with all transitions that were sealed. No transition is read.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Locked`] while another buffer has it open; [`DatasetError::Io`]; [`DatasetError::Foreign`],
    /// [`DatasetError::Version`], [`DatasetError::Truncated`] and [`DatasetError::Corrupt`] where it is no whole file of a
    /// buffer, with the offset of what was expected there; [`DatasetError::Element`] where it holds values of other types.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DatasetError> {
        let path = path.as_ref();
        let len = fs::metadata(path)
            .map_err(|source| DatasetError::Io { path: named(path), action: "opening", source })?
            .len();
        if len < FILE_HEADER as u64 {
            let expected = "the header of a replay buffer";
            return Err(DatasetError::Truncated { path: named(path), len, expected });
        }
        let mapping = MutableMapping::open(path)?;
        let header = FileHeader::read::<A, O>(mapping.bytes(), path)?;
        let (layout, block_len) = (header.layout(), header.block_len());
        let mut buffer = Self {
            mapping,
            path: named(path),
            header,
            layout,
            block_len,
            block: 0,
            whole: 0,
            filled: 0,
            values: PhantomData,
        };
        buffer.find_rows()?;
        Ok(buffer)
    }

    /// Stores a transition. The first of a block replaces the oldest block.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] for an observation or action of another length.
    pub fn push(&mut self, transition: Transition<'_, A, O>) -> Result<(), Error> {
        check_len("an observation", self.header.observation_len, transition.observation.len())?;
        check_len("a next observation", self.header.observation_len, transition.next_observation.len())?;
        check_len("an action", self.header.action_len, transition.action.len())?;
        if self.filled == 0 {
            self.begin_block();
        }
        let row = self.row(self.place(self.block), self.filled);
        self.layout.write(&mut self.mapping.bytes_mut()[row], transition);
        self.filled += 1;
        if self.filled == self.header.block_rows {
            self.seal();
            self.block += 1;
            self.whole += 1;
            self.filled = 0;
        }
        Ok(())
    }

    /// Fills `batch` with transitions drawn uniformly with replacement.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] before the first push, [`Error::Len`] for a batch of other lengths.
    pub fn sample(&self, rng: &mut impl Rng, batch: &mut Batch<A, O>) -> Result<(), Error> {
        if self.is_empty() {
            return Err(Error::Empty);
        }
        check_len("a batch's observation", self.header.observation_len, batch.columns.observation_len)?;
        check_len("a batch's action", self.header.action_len, batch.columns.action_len)?;
        self.sample_into(rng, batch.columns.rows(batch.size()))
    }

    /// Fills arrays of the caller's own with as many transitions as there are rewards, drawn as
    /// [`sample`](Self::sample) draws them.
    ///
    /// # Errors
    ///
    /// [`Error::Empty`] before the first push, [`Error::Len`] for a field of another length.
    pub fn sample_into(&self, rng: &mut impl Rng, into: Rows<'_, A, O>) -> Result<(), Error> {
        if self.is_empty() {
            return Err(Error::Empty);
        }
        let FileHeader { observation_len, action_len, block_rows, .. } = self.header;
        into.check(observation_len, action_len)?;
        let oldest = self.block - self.whole as u64;
        for into in into.each(observation_len, action_len) {
            let from = draw::index_below(rng, self.len());
            let block = oldest + (from / block_rows) as u64;
            let row = self.row(self.place(block), from % block_rows);
            self.layout.read(&self.mapping.bytes()[row], into);
        }
        Ok(())
    }
}

impl<A, O> DiskReplayBuffer<A, O> {
    /// Transitions held now.
    pub fn len(&self) -> usize {
        self.whole * self.header.block_rows + self.filled
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Transitions that are held at least, once so many were pushed. Up to two blocks more may be.
    pub fn capacity(&self) -> usize {
        (self.header.blocks - 1) * self.header.block_rows
    }

    /// Transitions of a block: the last so many may be lost with the process.
    pub fn block_rows(&self) -> usize {
        self.header.block_rows
    }

    /// Values of an observation.
    pub fn observation_len(&self) -> usize {
        self.header.observation_len
    }

    /// Values of an action.
    pub fn action_len(&self) -> usize {
        self.header.action_len
    }

    /// Seals what was pushed, so that a killed process does not lose it. Blocks that are full are sealed already.
    pub fn seal(&mut self) {
        if self.filled == 0 {
            return;
        }
        let place = self.place(self.block);
        let data = self.row(place, 0).start..self.row(place, self.filled - 1).end;
        let checksum = crc32fast::hash(&self.mapping.bytes()[data]);
        let sealed = BlockHeader { number: self.block + 1, rows: self.filled as u64, checksum };
        // Into the copy that says nothing newer: what was sealed stays so until the new seal is whole.
        let copy = match self.seal_of(place) {
            Some((copy, _)) => 1 - copy,
            None => 0,
        };
        let into = self.seal_range(place, copy);
        // Nothing of the rows may be written after the seal that stands for them.
        fence(Ordering::SeqCst);
        self.mapping.bytes_mut()[into].copy_from_slice(&sealed.to_bytes());
    }

    /// Seals what was pushed, and waits until all is on the disk.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Io`] where the disk fails.
    pub fn flush(&mut self) -> Result<(), DatasetError> {
        self.seal();
        self.mapping.flush().map_err(|source| DatasetError::Io {
            path: self.path.clone(),
            action: "writing",
            source,
        })
    }

    /// Reads all sealed transitions and compares each block with its checksum.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Checksum`] for the first block that differs.
    pub fn verify(&self) -> Result<(), DatasetError> {
        for place in 0..self.header.blocks {
            let Some((_, sealed)) = self.seal_of(place) else { continue };
            let data = self.row(place, 0).start..self.row(place, sealed.rows as usize - 1).end;
            let offset = data.start as u64;
            let found = crc32fast::hash(&self.mapping.bytes()[data]);
            if found != sealed.checksum {
                let expected = sealed.checksum;
                return Err(DatasetError::Checksum { path: self.path.clone(), offset, expected, found });
            }
        }
        Ok(())
    }

    /// Finds the sealed blocks: the newest, and all before it that are left.
    fn find_rows(&mut self) -> Result<(), DatasetError> {
        let seals: Vec<Option<BlockHeader>> =
            (0..self.header.blocks).map(|place| self.seal_of(place).map(|(_, sealed)| sealed)).collect();
        let Some(newest) = seals.iter().flatten().max_by_key(|sealed| sealed.number) else { return Ok(()) };
        let last = newest.number - 1;
        let full = newest.rows as usize == self.header.block_rows;
        (self.block, self.filled) = if full { (last + 1, 0) } else { (last, newest.rows as usize) };
        // A place is that of the block under way, or the one that it is going to replace.
        let places = self.header.blocks - usize::from(self.filled > 0);
        let most = self.block.min(places as u64) as usize;
        let is_whole = |&number: &u64| {
            seals[self.place(number)].is_some_and(|sealed| {
                sealed.number == number + 1 && sealed.rows as usize == self.header.block_rows
            })
        };
        self.whole = (0..self.block).rev().take(most).take_while(is_whole).count();
        // Only the oldest may be missing: it was given up for a block that was not sealed.
        if self.whole < most.min(self.header.blocks - 1) {
            let missing = self.place(self.block - 1 - self.whole as u64);
            let (path, offset) = (self.path.clone(), self.seal_range(missing, 0).start as u64);
            return Err(DatasetError::Corrupt { path, offset, expected: "the seal of a whole block" });
        }
        Ok(())
    }

    /// Gives up the oldest block where the file has gone round, before its rows are overwritten.
    fn begin_block(&mut self) {
        let place = self.place(self.block);
        for copy in 0..SEALS {
            let seal = self.seal_range(place, copy);
            self.mapping.bytes_mut()[seal].fill(0);
        }
        self.whole = self.whole.min(self.header.blocks - 1);
        fence(Ordering::SeqCst);
    }

    /// The newest whole seal of the block at a place, and which copy it is.
    fn seal_of(&self, place: usize) -> Option<(usize, BlockHeader)> {
        let most = self.header.block_rows as u64;
        (0..SEALS)
            .filter_map(|copy| {
                let sealed = BlockHeader::from_bytes(&self.mapping.bytes()[self.seal_range(place, copy)])?;
                let here = sealed.number > 0 && self.place(sealed.number - 1) == place;
                (here && (1..=most).contains(&sealed.rows)).then_some((copy, sealed))
            })
            .max_by_key(|(_, sealed)| (sealed.number, sealed.rows))
    }

    /// Where in the file a block lies.
    fn place(&self, block: u64) -> usize {
        (block % self.header.blocks as u64) as usize
    }

    fn seal_range(&self, place: usize, copy: usize) -> Range<usize> {
        let start = FILE_HEADER + place * self.block_len + copy * BlockHeader::LEN;
        start..start + BlockHeader::LEN
    }

    fn row(&self, place: usize, row: usize) -> Range<usize> {
        let start =
            FILE_HEADER + place * self.block_len + SEALS * BlockHeader::LEN + row * self.layout.stride;
        start..start + self.layout.stride
    }
}

impl<A, O> Drop for DiskReplayBuffer<A, O> {
    fn drop(&mut self) {
        self.seal();
    }
}
