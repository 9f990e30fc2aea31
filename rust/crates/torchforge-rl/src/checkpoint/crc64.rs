//! CRC-64/XZ, against accidents: whoever can write a file can make its checksum too.

const REFLECTED_POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;

const TABLE: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ REFLECTED_POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

/// The checksum of all bytes so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crc64(u64);

impl Crc64 {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let mut value = !self.0;
        for &byte in bytes {
            value = TABLE[usize::from(value as u8 ^ byte)] ^ value >> 8;
        }
        self.0 = !value;
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogues_check_value_comes_out_in_one_piece_and_in_two() {
        for at in 0..=9 {
            let (first, second) = b"123456789".split_at(at);
            let mut checksum = Crc64::default();
            checksum.add(first);
            checksum.add(second);
            assert_eq!(checksum.value(), 0x995d_c9bb_df19_39fa);
        }
    }
}
