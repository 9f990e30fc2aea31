//! Files and folders, with errors that name them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::File { action: "read", path: path.to_owned(), error })
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::File { action: "write", path: path.to_owned(), error })
}

/// The case's folder below `output`, made if need be.
pub(crate) fn case_folder(output: &Path, case: &str) -> Result<PathBuf, Failure> {
    let path = output.join(case);
    match fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(Failure::File { action: "make", path, error }),
    }
}
