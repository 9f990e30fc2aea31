//! Files as memory.
#![allow(unsafe_code, reason = "a file can be mapped only by a promise that nobody else changes it")]

use std::borrow::Cow;
use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use memmap2::{Mmap, MmapMut};

use super::{DatasetError, named};

/// A file, readable as bytes, with the length that it had when it was opened.
#[derive(Debug)]
pub struct Mapping {
    file: File,
    path: Box<Path>,
    bytes: Option<Mmap>,
}

impl Mapping {
    /// Maps a file as it is now.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let failed = |action| move |source| DatasetError::Io { path: named(path), action, source };
        let file = File::open(path).map_err(failed("opening"))?;
        let len = file.metadata().map_err(failed("asking for its length"))?.len();
        // An empty file cannot be mapped.
        let bytes = if len == 0 {
            None
        } else {
            // SAFETY: the bytes are only read, and only as numbers, of which every pattern of bits is one. `check` refuses a
            // file that has become shorter before anything of a batch is read. A file that is written to in place while it is
            // mapped gives other numbers; one that shrinks within a batch ends the process (SIGBUS). README.md says how both
            // are avoided: files are replaced by renaming, which is how `DatasetWriter` makes them.
            let mapped = unsafe { Mmap::map(&file) }.map_err(failed("mapping"))?;
            Some(mapped)
        };
        Ok(Self { file, path: named(path), bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file is still as long as it was.
    pub fn check(&self) -> Result<(), DatasetError> {
        // To seek tells the length in half the time of asking for all that the system knows. Nothing reads at that place.
        let found = (&self.file)
            .seek(SeekFrom::End(0))
            .map_err(|source| self.failed("asking for its length", source))?;
        let expected = self.bytes().len() as u64;
        if found < expected {
            return Err(DatasetError::Shrunk { path: self.path.clone(), expected, found });
        }
        Ok(())
    }

    /// Bytes for one look. Few are read through the file, because the first access to a page of the map takes longer.
    pub fn look(&self, range: Range<usize>) -> Result<Cow<'_, [u8]>, DatasetError> {
        /// No file can make this process take more memory than this.
        const MOST_READ: usize = 1 << 16;
        if range.len() > MOST_READ {
            return Ok(Cow::Borrowed(&self.bytes()[range]));
        }
        let mut bytes = vec![0; range.len()];
        self.read(range.start, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Reads bytes through the file, not through the map: a file that has become shorter is an error, at any moment.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), DatasetError> {
        use std::os::unix::fs::FileExt;
        let result = self.file.read_exact_at(into, offset as u64);
        if result.is_err() {
            self.check()?;
        }
        result.map_err(|source| self.failed("reading", source))
    }

    fn failed(&self, action: &'static str, source: io::Error) -> DatasetError {
        DatasetError::Io { path: self.path.clone(), action, source }
    }
}

/// A file that this process alone writes, as bytes.
#[derive(Debug)]
pub struct MutableMapping {
    /// Held for its lock, which ends with the process, however that ends.
    file: File,
    bytes: MmapMut,
}

impl MutableMapping {
    /// Maps a file of at least one byte, once its lock is held.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let failed = |action| move |source| DatasetError::Io { path: named(path), action, source };
        let file = File::options().read(true).write(true).open(path).map_err(failed("opening"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DatasetError::Locked { path: named(path) }),
            Err(TryLockError::Error(source)) => return Err(failed("locking")(source)),
        }
        // SAFETY: the bytes are used only as numbers, of which every pattern of bits is one. No other buffer writes to the
        // file, because it would have to hold the lock; who writes to it without asking for the lock changes numbers, and who
        // makes it shorter ends this process (SIGBUS). README.md says that nobody may.
        let bytes = unsafe { MmapMut::map_mut(&file) }.map_err(failed("mapping"))?;
        Ok(Self { file, bytes })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Waits until all bytes are on the disk.
    pub fn flush(&self) -> io::Result<()> {
        self.bytes.flush()
    }
}

impl Drop for MutableMapping {
    fn drop(&mut self) {
        // A child process that is being started may hold the file too for a moment, and with it the lock.
        let _ = self.file.unlock();
    }
}
