//! The numbers that a nonce stands for.

use crate::Error;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Numbers of a stream; from here on they would be the next stream's.
const NUMBERS: u64 = 1 << 32;

/// The number of a stream at an index: SplitMix64 (Steele, Lea and Flood, 2014) begun at the nonce.
///
/// Stream 0 decides the input of each call; nothing has another one so far. An index is below 2^32.
pub fn number(nonce: u64, stream: u64, index: u64) -> u64 {
    let steps = (stream << 32).wrapping_add(index).wrapping_add(1);
    let mut value = nonce.wrapping_add(steps.wrapping_mul(GOLDEN));
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The numbers of the calls of a repetition, of which each has `calls`.
///
/// # Errors
///
/// A repetition so late that its calls have no numbers.
pub fn numbers(nonce: u64, repetition: u64, calls: usize) -> Result<Vec<u64>, Error> {
    let calls = calls as u64;
    let first = repetition.checked_mul(calls);
    let first = first.filter(|first| first.checked_add(calls).is_some_and(|end| end <= NUMBERS));
    let first = first.ok_or(Error::Repetition(repetition))?;
    Ok((first..first + calls).map(|index| number(nonce, 0, index)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stream_is_the_published_generator() {
        // SplitMix64 with seed 1234567, from its reference implementation.
        let first: Vec<u64> = (0..3).map(|index| number(1_234_567, 0, index)).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn streams_share_no_number() {
        let all: std::collections::BTreeSet<u64> =
            (0..4).flat_map(|stream| (0..1000).map(move |index| number(42, stream, index))).collect();
        assert_eq!(all.len(), 4000);
    }

    #[test]
    fn repetitions_follow_one_another_in_a_stream() {
        let all: Vec<u64> = (0..6).map(|index| number(7, 0, index)).collect();
        assert_eq!([numbers(7, 0, 3).unwrap(), numbers(7, 1, 3).unwrap()].concat(), all);
    }

    #[test]
    fn a_repetition_beyond_the_stream_is_an_error() {
        assert!(numbers(7, (1 << 31) - 1, 2).is_ok());
        for late in [1 << 31, u64::MAX] {
            let error = numbers(7, late, 2).unwrap_err().to_string();
            assert!(error.contains(&format!("repetition {late}")), "{error}");
        }
    }
}
