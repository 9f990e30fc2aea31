//! The numbers that a nonce stands for.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number of a stream at an index: SplitMix64 (Steele, Lea and Flood, 2014) begun at the nonce.
///
/// Stream 0 decides the input of each call, by the number of the call in its round. Stream 1 decides the places of
/// digests. An index is below 2^32.
pub fn number(nonce: u64, stream: u64, index: u64) -> u64 {
    let steps = (stream << 32).wrapping_add(index).wrapping_add(1);
    let mut value = nonce.wrapping_add(steps.wrapping_mul(GOLDEN));
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
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
}
