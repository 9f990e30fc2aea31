//! What may leave a device.

/// What may leave a device: [`Gradients`], [`Weights`] and [`Statistics`], and nothing else.
///
/// A federation shares what was learnt, not what was experienced. The trait is sealed, so a function that sends
/// `impl Shareable` cannot be given experience, and no other crate can make experience shareable:
///
/// ```
/// use torchforge_data::{Gradients, Shareable};
///
/// fn send(message: &impl Shareable) -> usize {
///     message.to_bytes().len()
/// }
///
/// assert_eq!(send(&Gradients::new(vec![0.5, -0.25])?), 24 + 2 * 4);
/// # Ok::<(), torchforge_data::ShareError>(())
/// ```
///
/// A transition does not compile there, nor does a batch, a buffer, or its rows:
///
/// ```compile_fail,E0277
/// # use torchforge_data::{Shareable, Transition};
/// fn send(message: &impl Shareable) {}
/// fn leak(transition: &Transition<'_, u32>) { send(transition) }
/// ```
///
/// ```compile_fail,E0277
/// # use torchforge_data::{Batch, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(batch: &Batch<u32>) { send(batch) }
/// ```
///
/// ```compile_fail,E0277
/// # use torchforge_data::{ReplayBuffer, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(buffer: &ReplayBuffer<u32>) { send(buffer) }
/// ```
///
/// ```compile_fail,E0277
/// # use torchforge_data::{PrioritizedReplayBuffer, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(buffer: &PrioritizedReplayBuffer<u32>) { send(buffer) }
/// ```
///
/// ```compile_fail,E0277
/// # use torchforge_data::{Rows, Shareable};
/// fn send(message: &impl Shareable) {}
/// fn leak(rows: &Rows<'_, u32>) { send(rows) }
/// ```
///
/// Nor do numbers that do not say what they are, or a type of another crate:
///
/// ```compile_fail,E0277
/// # use torchforge_data::Shareable;
/// fn send(message: &impl Shareable) {}
/// fn leak(observations: &Vec<f32>) { send(observations) }
/// ```
///
/// ```compile_fail,E0277
/// # use torchforge_data::{Message, Shareable};
/// struct Leak;
/// impl Shareable for Leak {
///     fn to_bytes(&self) -> Vec<u8> { Vec::new() }
/// }
/// ```
///
/// The types keep accidents away, not intent: who calls observations gradients says so in the code.
pub trait Shareable: sealed::Sealed {
    /// The message, the same bytes on every machine: the word `TFSHARE1`, kind and number of values as 64-bit integers, and
    /// the values, all little-endian.
    fn to_bytes(&self) -> Vec<u8>;
}

mod sealed {
    pub trait Sealed {}
}

/// What a message begins with; the last character is the version.
const MAGIC: &[u8; 8] = b"TFSHARE1";
/// Bytes before the values.
const HEADER: usize = 24;

/// Kinds of messages.
mod kind {
    pub const GRADIENTS: u64 = 1;
    pub const WEIGHTS: u64 = 2;
    pub const STATISTICS: u64 = 3;
}

/// Why something cannot be shared, or is no message.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// A value is no finite number, which would spoil whatever it is averaged with.
    #[error("value {place} is {value}: an update that diverged is not to be shared")]
    NotFinite {
        /// Its place among the values.
        place: usize,
        /// The value.
        value: f64,
    },
    /// The bytes are no message of this version.
    #[error("offset {offset}: expected {expected}: this is no message of torchforge-data")]
    Malformed {
        /// Where they are not.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

/// The derivatives of a loss by all parameters of a network, in the network's flat order.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients(Vec<f32>);

/// All parameters of a network, in its flat order.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights(Vec<f32>);

/// What a device says of its training: counts and means over all of it, and no more than these.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    /// Episodes that ended.
    pub episodes: u64,
    /// Steps of the environment.
    pub environment_steps: u64,
    /// Steps of the optimiser.
    pub gradient_steps: u64,
    /// Mean return of the episodes.
    pub mean_return: f64,
    /// Mean steps of an episode.
    pub mean_length: f64,
    /// Mean loss of the gradient steps.
    pub mean_loss: f64,
}

macro_rules! parameters {
    ($name:ident, $kind:ident) => {
        impl $name {
            /// Takes the numbers of a network.
            ///
            /// # Errors
            ///
            /// [`ShareError::NotFinite`] for the first that is no finite number.
            pub fn new(values: Vec<f32>) -> Result<Self, ShareError> {
                check_finite(values.iter().map(|&value| f64::from(value)))?;
                Ok(Self(values))
            }

            /// The numbers.
            pub fn values(&self) -> &[f32] {
                &self.0
            }
        }

        impl sealed::Sealed for $name {}

        impl Shareable for $name {
            fn to_bytes(&self) -> Vec<u8> {
                message(kind::$kind, self.0.len(), self.0.iter().map(|value| value.to_le_bytes()))
            }
        }
    };
}

parameters!(Gradients, GRADIENTS);
parameters!(Weights, WEIGHTS);

impl sealed::Sealed for Statistics {}

impl Shareable for Statistics {
    fn to_bytes(&self) -> Vec<u8> {
        let counts = [self.episodes, self.environment_steps, self.gradient_steps];
        let means = [self.mean_return, self.mean_length, self.mean_loss].map(f64::to_bits);
        message(kind::STATISTICS, 6, counts.into_iter().chain(means).map(u64::to_le_bytes))
    }
}

/// What came from a device.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Gradients.
    Gradients(Gradients),
    /// Weights.
    Weights(Weights),
    /// Statistics.
    Statistics(Statistics),
}

impl Message {
    /// Reads what [`Shareable::to_bytes`] made. It takes no more memory than the bytes do.
    ///
    /// # Errors
    ///
    /// [`ShareError::Malformed`] for other bytes, [`ShareError::NotFinite`] for values that are no finite numbers.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ShareError> {
        let malformed = |offset, expected| ShareError::Malformed { offset, expected };
        if !bytes.starts_with(MAGIC) {
            return Err(malformed(0, "the word TFSHARE1"));
        }
        let word = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let number = |offset: usize| bytes.get(offset..).and_then(word);
        let kind = number(8).ok_or(malformed(bytes.len(), "a kind of message"))?;
        let count = number(16).ok_or(malformed(bytes.len(), "a number of values"))?;
        let values = &bytes[HEADER..];
        let width = if kind == kind::STATISTICS { 8 } else { 4 };
        if u128::from(count) * width != values.len() as u128 {
            return Err(malformed(HEADER, "as many bytes as the values have"));
        }
        let floats = || {
            let values = values.as_chunks::<4>().0;
            values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
        };
        match kind {
            kind::GRADIENTS => Gradients::new(floats()).map(Self::Gradients),
            kind::WEIGHTS => Weights::new(floats()).map(Self::Weights),
            kind::STATISTICS => {
                let words: Vec<u64> =
                    values.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
                let &[episodes, environment_steps, gradient_steps, mean_return, mean_length, mean_loss] =
                    words.as_slice()
                else {
                    return Err(malformed(16, "6 values of statistics"));
                };
                let [mean_return, mean_length, mean_loss] =
                    [mean_return, mean_length, mean_loss].map(f64::from_bits);
                check_finite([mean_return, mean_length, mean_loss].into_iter())?;
                Ok(Self::Statistics(Statistics {
                    episodes,
                    environment_steps,
                    gradient_steps,
                    mean_return,
                    mean_length,
                    mean_loss,
                }))
            }
            _ => Err(malformed(8, "a kind of message: gradients, weights or statistics")),
        }
    }
}

fn check_finite(values: impl Iterator<Item = f64>) -> Result<(), ShareError> {
    for (place, value) in values.enumerate() {
        if !value.is_finite() {
            return Err(ShareError::NotFinite { place, value });
        }
    }
    Ok(())
}

fn message<const N: usize>(kind: u64, count: usize, values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + count * N);
    bytes.extend(MAGIC);
    bytes.extend(kind.to_le_bytes());
    bytes.extend((count as u64).to_le_bytes());
    values.for_each(|value| bytes.extend(value));
    bytes
}
