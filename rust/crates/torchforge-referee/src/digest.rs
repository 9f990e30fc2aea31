//! What is said of a repetition's outputs before the referee asks for them.

use std::fmt;

/// The sum modulo 2^64 of all outputs of a repetition, read as little-endian words of 64 bits.
///
/// Each call of a method adds one array of the output files, or whole words of one. An array that ends within a word is
/// filled with zeros.
///
/// ```
/// use torchforge_referee::Digest;
///
/// let mut digest = Digest::default();
/// digest.f64s(&[0.5]);
/// digest.f32s(&[1.0, 2.0, 3.0]);
/// assert_eq!(digest.to_string(), "7fe000007fc00000");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Adds an output of f64.
    pub fn f64s(&mut self, output: &[f64]) {
        self.add(sum(output.iter().map(|value| value.to_bits())));
    }

    /// Adds an output of f32: of two neighbours the first is the lower half of a word.
    pub fn f32s(&mut self, output: &[f32]) {
        let (pairs, last) = output.as_chunks::<2>();
        self.add(sum(pairs.iter().map(|&[low, high]| word(low) | word(high) << 32)));
        self.add(sum(last.iter().map(|&low| word(low))));
    }

    /// Adds an output by the bytes that a file has of it.
    pub fn bytes(&mut self, output: &[u8]) {
        let (words, rest) = output.as_chunks::<8>();
        self.add(sum(words.iter().map(|&word| u64::from_le_bytes(word))));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last));
    }

    fn add(&mut self, words: u64) {
        self.0 = self.0.wrapping_add(words);
    }
}

/// As the referee reads it: 16 hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

fn word(value: f32) -> u64 {
    u64::from(value.to_bits())
}

fn sum(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// The definition, byte by byte: the byte at place `i` of an output stands for itself times 256 to the `i mod 8`.
    fn of_bytes(outputs: &[Vec<u8>]) -> String {
        let all = outputs.iter().flat_map(|output| output.iter().enumerate());
        let total = all.fold(0_u64, |sum, (place, &byte)| {
            sum.wrapping_add(u64::from(byte).wrapping_mul(256_u64.pow(place as u32 % 8)))
        });
        format!("{total:016x}")
    }

    fn le_bytes<T, const N: usize>(outputs: &[Vec<T>], bytes: fn(&T) -> [u8; N]) -> Vec<Vec<u8>> {
        outputs.iter().map(|output| output.iter().flat_map(bytes).collect()).collect()
    }

    fn outputs<T: fmt::Debug>(element: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Vec<T>>> {
        proptest::collection::vec(proptest::collection::vec(element, 0..70), 0..5)
    }

    proptest! {
        #[test]
        fn outputs_of_f64_give_the_sum_of_their_bytes(outputs in outputs(any::<u64>().prop_map(f64::from_bits))) {
            let mut digest = Digest::default();
            outputs.iter().for_each(|output| digest.f64s(output));
            let bytes = le_bytes(&outputs, |value| value.to_bits().to_le_bytes());
            prop_assert_eq!(digest.to_string(), of_bytes(&bytes));
        }

        #[test]
        fn outputs_of_f32_are_filled_to_a_word_each(outputs in outputs(any::<u32>().prop_map(f32::from_bits))) {
            let mut digest = Digest::default();
            outputs.iter().for_each(|output| digest.f32s(output));
            let bytes = le_bytes(&outputs, |value| value.to_bits().to_le_bytes());
            prop_assert_eq!(digest.to_string(), of_bytes(&bytes));
        }

        #[test]
        fn outputs_of_bytes_are_filled_to_a_word_each(outputs in outputs(any::<u8>())) {
            let mut digest = Digest::default();
            outputs.iter().for_each(|output| digest.bytes(output));
            prop_assert_eq!(digest.to_string(), of_bytes(&outputs));
        }
    }

    #[test]
    fn nothing_gives_sixteen_zeros() {
        assert_eq!(Digest::default().to_string(), "0000000000000000");
    }
}
