//! Files as memory, and the only `unsafe` of this crate.
#![allow(unsafe_code, reason = "a file can be mapped only by a promise that nobody else changes it")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

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
        let found =
            self.file.metadata().map_err(|source| self.failed("asking for its length", source))?.len();
        let expected = self.bytes().len() as u64;
        if found < expected {
            return Err(DatasetError::Shrunk { path: self.path.clone(), expected, found });
        }
        Ok(())
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
