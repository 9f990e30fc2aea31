//! Passing over a state, to take it down or to take it up.

use std::io::{Cursor, Read, Seek};

use torchforge_env::{Environment, Pcg64};
use torchforge_nn::{Element, Error, NetworkState, Numbers, TensorFile, TensorWriter};

use super::crc64::Crc64;
use crate::Episode;

/// The tensor that holds the sum over all others.
const CHECKSUM: &str = "checksum";

/// What a training's future depends on.
pub trait State {
    /// Shows all of it to the archive, always in the same order. While an archive is loaded, this puts the archive's
    /// numbers in their place; what then cannot be is [refused](Archive::refuse).
    fn visit(&mut self, archive: &mut Archive);
}

/// Where a checkpoint comes from.
pub(crate) trait Source: Read + Seek {}

impl<R: Read + Seek> Source for R {}

/// A checkpoint under way: one list of a state's parts serves both directions, so they cannot drift apart.
///
/// The first fault is kept and ends the passage; a state that was being loaded is then good for nothing.
pub struct Archive {
    side: Side,
    checksum: Crc64,
    parts: usize,
    fault: Option<String>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive")
            .field("is_loading", &self.is_loading())
            .field("parts", &self.parts)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

enum Side {
    Saving(TensorWriter),
    Loading(TensorFile<Box<dyn Source>>),
}

impl Archive {
    /// The bytes of a file of this state and of `words` that say what it is; or why there can be none.
    pub(super) fn save(words: String, state: &mut dyn State) -> Result<Vec<u8>, String> {
        let mut archive = Self::new(Side::Saving(TensorWriter::new()), &words);
        state.visit(&mut archive);
        let checksum = archive.checksum.value();
        match (archive.fault, archive.side) {
            (None, Side::Saving(mut tensors)) => {
                tensors.push_vector(CHECKSUM, &[checksum]);
                Ok(tensors.into_bytes_with(words))
            }
            (fault, _) => Err(fault.unwrap_or_default()),
        }
    }

    /// Puts a file's numbers into the state; or says why not, with the state as before. `check` judges the file's words
    /// first.
    pub(super) fn load(
        source: Box<dyn Source>,
        check: impl FnOnce(&str) -> Result<(), String>,
        state: &mut dyn State,
    ) -> Result<(), String> {
        let before = Self::save("before".into(), state)?;
        let loaded = Self::load_over(source, check, state);
        if loaded.is_err() {
            Self::load_over(Box::new(Cursor::new(before)), |_| Ok(()), state)?;
        }
        loaded
    }

    /// [`load`](Self::load), which leaves a state that is good for nothing where it fails.
    fn load_over(
        source: Box<dyn Source>,
        check: impl FnOnce(&str) -> Result<(), String>,
        state: &mut dyn State,
    ) -> Result<(), String> {
        let (mut file, checksum) = Self::read(source, check, state)?;
        match file.vector::<u64>(CHECKSUM, 1).map_err(|error| error.to_string())?[..] {
            [found] if found == checksum => Ok(()),
            _ => Err("its checksum is wrong, so it was altered or damaged".into()),
        }
    }

    /// [`load`](Self::load) up to the checksum that the file must have.
    fn read(
        source: Box<dyn Source>,
        check: impl FnOnce(&str) -> Result<(), String>,
        state: &mut dyn State,
    ) -> Result<(TensorFile<Box<dyn Source>>, u64), String> {
        let file = TensorFile::new(source).map_err(|error| match error {
            Error::NotSafetensors { reason } => reason,
            other => other.to_string(),
        })?;
        let words = file.words().ok_or("it is no checkpoint of torchforge")?.to_owned();
        check(&words)?;
        let mut archive = Self::new(Side::Loading(file), &words);
        state.visit(&mut archive);
        let (Side::Loading(file), None) = (archive.side, &archive.fault) else {
            return Err(archive.fault.unwrap_or_default());
        };
        if file.count() != archive.parts + 1 {
            return Err(format!("it has {} parts and must have {}", file.count(), archive.parts + 1));
        }
        Ok((file, archive.checksum.value()))
    }

    fn new(side: Side, words: &str) -> Self {
        let mut checksum = Crc64::default();
        checksum.add(words.as_bytes());
        Self { side, checksum, parts: 0, fault: None }
    }

    /// Whether numbers are being put in their place.
    pub fn is_loading(&self) -> bool {
        matches!(self.side, Side::Loading(_))
    }

    /// Ends the passage: what was found cannot be, or there is nothing to take down.
    pub fn refuse(&mut self, reason: impl ToString) {
        self.fault.get_or_insert_with(|| reason.to_string());
    }

    /// Numbers, always as many.
    pub fn numbers<T: Element>(&mut self, name: &str, values: &mut [T]) {
        if let Some(found) = self.pass(name, values, values.len()) {
            if found.len() == values.len() {
                values.copy_from_slice(&found);
            } else {
                self.refuse(format!("{name:?} has {} values and must have {}", found.len(), values.len()));
            }
        }
    }

    /// A list, of at most `most` values.
    pub fn list<T: Element>(&mut self, name: &str, values: &mut Vec<T>, most: usize) {
        if let Some(found) = self.pass(name, values, most) {
            // In the memory that was taken beforehand.
            values.clear();
            values.extend(found);
        }
    }

    /// What a training took down of itself, in the memory that it took for all of it.
    pub(crate) fn trace<T: Element>(&mut self, name: &str, values: &mut Vec<T>) {
        self.list(name, values, values.capacity());
    }

    /// A number up to `most`.
    pub fn number(&mut self, name: &str, value: &mut u64, most: u64) {
        let mut found = [*value];
        self.numbers(name, &mut found);
        if found[0] > most {
            self.refuse(format!("{name:?} is {} and cannot be above {most}", found[0]));
        } else {
            *value = found[0];
        }
    }

    /// A generator of random numbers.
    pub fn generator(&mut self, name: &str, generator: &mut Pcg64) {
        let mut words = generator.to_words();
        self.numbers(name, &mut words);
        match Pcg64::from_words(words) {
            Some(found) => *generator = found,
            None => self.refuse(format!("{name:?} is no state of a generator")),
        }
    }

    /// Networks and their optimisers.
    pub fn networks(&mut self, networks: &mut impl NetworkState) {
        let visited = networks.visit_state(&mut |name, numbers| {
            let name = format!("network.{name}");
            match numbers {
                Numbers::F32(values) => self.numbers(&name, values),
                Numbers::F64(values) => self.numbers(&name, values),
            }
        });
        if let Err(error) = visited {
            self.refuse(error);
        }
    }

    /// An environment, in the middle of an episode or not.
    pub fn environment<E: Environment>(&mut self, environment: &mut E) {
        self.snapshot(environment.snapshot(), |snapshot| environment.restore(snapshot));
    }

    /// What `snapshot` holds, and `restore` takes up.
    pub(crate) fn snapshot(
        &mut self,
        snapshot: Option<Vec<u64>>,
        restore: impl FnOnce(&[u64]) -> Result<(), torchforge_env::Error>,
    ) {
        let Some(mut words) = snapshot else {
            return self.refuse("its environment cannot take down its state");
        };
        self.numbers("environment", &mut words);
        if self.is_loading()
            && self.fault.is_none()
            && let Err(error) = restore(&words)
        {
            self.refuse(error);
        }
    }

    /// Finished episodes, at most `most`.
    pub fn episodes(&mut self, episodes: &mut Vec<Episode>, most: usize) {
        let mut steps: Vec<u64> = episodes.iter().map(|episode| episode.step).collect();
        let mut lengths: Vec<u64> = episodes.iter().map(|episode| episode.length).collect();
        let mut returns: Vec<f64> = episodes.iter().map(|episode| episode.total_reward).collect();
        self.list("episodes.step", &mut steps, most);
        self.list("episodes.length", &mut lengths, most);
        self.list("episodes.return", &mut returns, most);
        if steps.len() != lengths.len() || steps.len() != returns.len() {
            return self.refuse("its episodes have not as many steps, lengths and returns");
        }
        let all = steps.into_iter().zip(lengths).zip(returns);
        *episodes =
            all.map(|((step, length), total_reward)| Episode { step, length, total_reward }).collect();
    }

    /// Writes the values, or reads at most `most`; both go into the checksum.
    fn pass<T: Element>(&mut self, name: &str, values: &[T], most: usize) -> Option<Vec<T>> {
        if self.fault.is_some() {
            return None;
        }
        let found = match &mut self.side {
            Side::Saving(tensors) => {
                tensors.push_vector(name, values);
                None
            }
            Side::Loading(file) => match file.vector(name, most) {
                Ok(found) => Some(found),
                Err(error) => {
                    self.refuse(error);
                    return None;
                }
            },
        };
        self.parts += 1;
        self.checksum.add(name.as_bytes());
        let mut bytes = Vec::new();
        found.as_deref().unwrap_or(values).iter().for_each(|value| value.put(&mut bytes));
        self.checksum.add(&bytes);
        found
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
