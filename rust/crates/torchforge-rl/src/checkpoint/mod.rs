//! Stopping a training and going on with it: what follows is the same bytes as if it had never stopped.
//!
//! A checkpoint is one safetensors file: every number that the future depends on is a tensor, so none is rounded, and
//! what the training is stands in words in its header. It holds the replay buffer: it is for the device that wrote it.

mod archive;
mod crc64;

pub use archive::{Archive, State};

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Raised whenever a file of before can no longer be gone on with.
const FORM: &str = concat!("torchforge ", env!("CARGO_PKG_VERSION"), ", form 3");

/// Why there is no checkpoint, or no going on from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file could not be written or opened.
    #[error("cannot {action} the checkpoint {}: {error}; check that its folder exists and is permitted", path.display())]
    File {
        /// `write` or `open`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The training cannot be stopped and gone on with.
    #[error("there can be no checkpoint of this training: {reason}; train without")]
    Unable {
        /// What is in the way.
        reason: String,
    },
    /// The file is not a whole checkpoint of this training.
    #[error("cannot go on from {}: {reason}; give the whole checkpoint of the same training, or begin it anew", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Writes the state, and what the training is, to `path`: a pair of words a line, in this order.
///
/// ```
/// # use torchforge_env::{CartPole, TimeLimit};
/// # use torchforge_nn::{AdamOptions, DenseDqn};
/// # use torchforge_rl::{Dqn, DqnOptions, Stream, load_checkpoint, save_checkpoint};
/// # fn fresh() -> Result<Dqn<TimeLimit<CartPole>, DenseDqn>, Box<dyn std::error::Error>> {
/// #     let options = DqnOptions { learning_starts: 200, ..DqnOptions::default() };
/// #     let mut weights = Stream::Weights.of(1);
/// #     let network = DenseDqn::new(&[4, 16, 2], 128, 0.99, AdamOptions::default(), &mut weights)?;
/// #     Ok(Dqn::new(TimeLimit::new(CartPole::new(), 500), network, options, 1)?)
/// # }
/// let path = std::env::temp_dir().join("torchforge-rl-doc.checkpoint");
/// let training = [("algorithm", "dqn".to_owned()), ("seed", 1.to_string())];
/// let mut agent = fresh()?;
/// for _ in 0..300 {
///     agent.step()?;
/// }
/// save_checkpoint(&path, &training, &mut agent)?;
///
/// let mut other = fresh()?; // as the first was made
/// load_checkpoint(&path, &training, &mut other)?;
/// agent.step()?;
/// other.step()?;
/// assert_eq!(agent.network().online().parameters(), other.network().online().parameters());
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The file appears whole or not at all: it is written beside as `path.part`, readable by its owner alone, and renamed.
///
/// # Errors
///
/// [`CheckpointError::Unable`] where the networks or the environment do not give out their state, or a word of the training
/// has a line break, and [`CheckpointError::File`].
pub fn save_checkpoint(
    path: &Path,
    training: &[(&str, String)],
    state: &mut dyn State,
) -> Result<(), CheckpointError> {
    if let Some((name, _)) = training.iter().find(|(name, value)| !is_a_line(name, value)) {
        let reason =
            format!("{name:?} of the training has a line break or a colon, and would not be read back");
        return Err(CheckpointError::Unable { reason });
    }
    let bytes = Archive::save(words(training), state).map_err(|reason| CheckpointError::Unable { reason })?;
    write_whole(path, &bytes).map_err(|error| CheckpointError::File {
        action: "write",
        path: path.to_owned(),
        error,
    })
}

/// Puts the state of a checkpoint into `state`, which was freshly made for the same training.
///
/// Whatever the file holds, memory is bounded by what checkpoints of this training can hold. On an error the state is as
/// before.
///
/// # Errors
///
/// [`CheckpointError::Refused`] where the file is no whole checkpoint of this training, and [`CheckpointError::File`].
pub fn load_checkpoint(
    path: &Path,
    training: &[(&str, String)],
    state: &mut dyn State,
) -> Result<(), CheckpointError> {
    let refused = |reason| CheckpointError::Refused { path: path.to_owned(), reason };
    // Another kind of file, such as a named pipe, would be waited for when it is opened.
    let opened = fs::metadata(path).and_then(|found| found.is_file().then(|| File::open(path)).transpose());
    match opened {
        Ok(Some(file)) => {
            Archive::load(Box::new(file), |found| same(found, &words(training)), state).map_err(refused)
        }
        Ok(None) => Err(refused("it is no ordinary file".into())),
        Err(error) => Err(CheckpointError::File { action: "open", path: path.to_owned(), error }),
    }
}

/// What a file says of itself: one line for each pair.
fn words(training: &[(&str, String)]) -> String {
    let pairs = training.iter().map(|(name, value)| format!("{name}: {value}\n"));
    std::iter::once(format!("checkpoint: {FORM}\n")).chain(pairs).collect()
}

/// Whether the pair is read back as it is.
fn is_a_line(name: &str, value: &str) -> bool {
    let broken = |text: &str| text.contains(['\n', '\r']);
    !name.contains(": ") && !broken(name) && !broken(value)
}

/// The first difference, if there is one.
fn same(found: &str, expected: &str) -> Result<(), String> {
    let mut lines = found.lines();
    for expected in expected.lines() {
        let (name, value) = expected.split_once(": ").unwrap_or((expected, ""));
        let found = lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(": "));
        match found {
            Some(found) if found == value => {}
            Some(found) => return Err(format!("its {name} is {found} and must be {value}")),
            None => return Err(format!("it does not say its {name}, which must be {value}")),
        }
    }
    if lines.next().is_some() { Err("it says more of itself than it should".into()) } else { Ok(()) }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = write_new(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
        return written;
    }
    // The name, too, is to outlive a loss of power.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn write_new(part: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a killed process left. A new file is never somebody else's link.
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(part)?;
    file.write_all(bytes)?;
    file.sync_all()
}
