//! Files under a name of their own, until they are whole.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file `NAME.PID.NUMBER.partial` beside `path`, which no other writer has.
///
/// The process's number is not enough: one process may write the same file twice at once, and in a container every process may
/// have the same number.
pub(crate) fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.{number}.partial", std::process::id()));
        let partial = path.with_file_name(name);
        match File::create_new(&partial) {
            Ok(file) => return Ok((partial, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
