//! Files and folders, with errors that name them.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use torchforge_nn::{Error, TensorReader};

use crate::Failure;

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::File { action: "read", path: path.to_owned(), error })
}

/// Does `work` with the tensors of a file; an error is the file's, which it names.
pub(crate) fn with_tensors<T>(
    path: &Path,
    work: impl FnOnce(&TensorReader<'_>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let bytes = read(path)?;
    TensorReader::new(&bytes).and_then(|given| work(&given)).map_err(|error| unusable(path, &error))
}

/// A file of tensors that an update or a network refuses.
pub(crate) fn unusable(path: &Path, error: &Error) -> Failure {
    Failure::Input { path: path.to_owned(), reason: error.to_string() }
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::File { action: "write", path: path.to_owned(), error })
}

/// Makes a folder and those above it, where they are not there.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::File { action: "make", path: path.to_owned(), error })
}

/// Sees that a file can be written into a folder, which it makes if need be: before the work whose result goes there.
pub(crate) fn try_folder(path: &Path) -> Result<(), Failure> {
    make_folder(path)?;
    try_writing(path).map_err(|error| Failure::File { action: "write into", path: path.to_owned(), error })
}

/// Makes a file and removes it again. One that is there already, under whatever name, is left alone: in a container every
/// process has the same number.
pub(crate) fn try_writing(folder: &Path) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let trial = folder.join(format!(".torchforge-trial-{}-{now}", process::id()));
    fs::File::create_new(&trial)?;
    fs::remove_file(trial)
}

/// The case's folder below `output`, made if need be.
pub(crate) fn case_folder(output: &Path, case: &str) -> Result<PathBuf, Failure> {
    let path = output.join(case);
    make_folder(&path)?;
    Ok(path)
}

/// Reads a file that others made: one that is longer than `most` bytes is an error.
pub(crate) fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let failure = |error| Failure::File { action: "read", path: path.to_owned(), error };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failure)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(failure)?;
    if bytes.len() as u64 > most {
        let error = io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes"));
        return Err(failure(error));
    }
    Ok(bytes)
}
