//! The order of rows in an epoch.

use std::ops::Range;
use std::sync::Arc;

use super::LoaderConfig;

/// Numbers that are permuted at once.
const LANES: usize = 8;

/// Bits of the smallest network: one of fewer does not lead to all orders of a few rows equally often.
const FEWEST_BITS: u32 = 8;

/// An even number, so that halves of unequal width are back in their places.
const ROUNDS: usize = 8;

/// Bits of the widest half whose rounds are looked up: the tables then lie in the fastest cache. Up to 2^20 rows have such halves.
const LOOKED_UP_BITS: u32 = 10;

const LOOKED_UP: usize = 1 << LOOKED_UP_BITS;

/// Which rows each batch of an epoch has. It takes 16 KiB at most, whatever the number of rows, and is known at once.
#[derive(Debug, Clone)]
pub struct Order {
    rows: usize,
    batch_size: usize,
    batches: usize,
    shuffle: Option<Arc<Permutation>>,
}

impl Order {
    /// That of an epoch, in the memory of the loader's order before it unless a worker still reads that.
    pub fn new(earlier: Option<Self>, rows: usize, config: &LoaderConfig, epoch: u64) -> Self {
        let shuffle = config.shuffle.then(|| {
            let mut shuffle = earlier.and_then(|earlier| earlier.shuffle);
            match shuffle.as_mut().and_then(Arc::get_mut) {
                Some(permutation) => permutation.begin(config.seed, epoch),
                None => shuffle = Some(Arc::new(Permutation::new(rows, config.seed, epoch))),
            }
            shuffle.expect("it was there or was made")
        });
        Self { rows, batch_size: config.batch_size, batches: batches(rows, config), shuffle }
    }

    pub fn batches(&self) -> usize {
        self.batches
    }

    /// The places of a batch's rows in the epoch.
    pub fn places(&self, batch: usize) -> Range<usize> {
        let first = batch * self.batch_size;
        first..self.rows.min(first.saturating_add(self.batch_size))
    }

    /// The rows at these places of the epoch.
    pub fn rows(&self, places: Range<usize>) -> Rows<'_> {
        Rows { shuffle: self.shuffle.as_deref(), places, ready: [0; LANES], left: 0 }
    }

    pub fn is_sequential(&self) -> bool {
        self.shuffle.is_none()
    }
}

/// Batches of an epoch of so many rows.
pub fn batches(rows: usize, config: &LoaderConfig) -> usize {
    if config.drop_last { rows / config.batch_size } else { rows.div_ceil(config.batch_size) }
}

/// The rows at places that follow one another.
pub struct Rows<'a> {
    shuffle: Option<&'a Permutation>,
    places: Range<usize>,
    /// The last `left` are the next ones.
    ready: [usize; LANES],
    left: usize,
}

impl Iterator for Rows<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Some(permutation) = self.shuffle else { return self.places.next() };
        if self.left == 0 {
            let places = self.places.by_ref().take(LANES);
            // Those beyond the last place are computed for nothing.
            let mut numbers = [0; LANES];
            for (number, place) in numbers.iter_mut().zip(places) {
                *number = place as u64;
                self.left += 1;
            }
            if self.left == 0 {
                return None;
            }
            let found = permutation.several(numbers);
            let first = LANES - self.left;
            self.ready[first..].copy_from_slice(&found[..self.left]);
        }
        self.left -= 1;
        Some(self.ready[LANES - 1 - self.left])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.places.len() + self.left;
        (len, Some(len))
    }
}

impl ExactSizeIterator for Rows<'_> {}

/// A random permutation of the numbers below `len`, each computed by itself.
///
/// It is a Feistel network over a power of two, usually the next, applied again where it leads outside ("cycle walking", Black and
/// Rogaway, 2002, "Ciphers with Arbitrary Finite Domains"). Its keys come from the seed and the epoch.
#[derive(Debug)]
struct Permutation {
    len: u64,
    left_bits: u32,
    right_bits: u32,
    keys: [u64; ROUNDS],
    /// What each round makes of each right half, where those are few: to look it up takes a fraction of computing it.
    looked_up: Option<Box<[[u16; LOOKED_UP]; ROUNDS]>>,
}

impl Permutation {
    fn new(len: usize, seed: u64, epoch: u64) -> Self {
        let len = len as u64;
        let bits = (u64::BITS - len.saturating_sub(1).leading_zeros()).max(FEWEST_BITS);
        let (left_bits, right_bits) = (bits / 2, bits - bits / 2);
        let looked_up = (right_bits <= LOOKED_UP_BITS).then(|| Box::new([[0; LOOKED_UP]; ROUNDS]));
        let mut permutation = Self { len, left_bits, right_bits, keys: [0; ROUNDS], looked_up };
        permutation.begin(seed, epoch);
        permutation
    }

    /// Becomes the permutation of an epoch.
    fn begin(&mut self, seed: u64, epoch: u64) {
        let mut key = mixed(mixed(seed) ^ epoch);
        self.keys = std::array::from_fn(|_| {
            key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mixed(key)
        });
        let (mut left_bits, mut right_bits) = (self.left_bits, self.right_bits);
        for (table, key) in self.looked_up.iter_mut().flat_map(|tables| tables.iter_mut()).zip(self.keys) {
            for (right, entry) in table[..1 << right_bits].iter_mut().enumerate() {
                *entry = (mixed(right as u64 ^ key) & low(left_bits)) as u16;
            }
            (left_bits, right_bits) = (right_bits, left_bits);
        }
    }

    /// Of several numbers at once: each takes many steps, of which one waits for the other.
    fn several(&self, numbers: [u64; LANES]) -> [usize; LANES] {
        self.encrypt(numbers).map(|mut number| {
            while number >= self.len {
                [number] = self.encrypt([number]);
            }
            number as usize
        })
    }

    fn encrypt<const N: usize>(&self, numbers: [u64; N]) -> [u64; N] {
        match &self.looked_up {
            // A half has at most so many bits: the mask spares a check.
            Some(tables) => self.through(numbers, |round, right, _| {
                u64::from(tables[round][right as usize & (LOOKED_UP - 1)])
            }),
            None => self
                .through(numbers, |round, right, left_bits| mixed(right ^ self.keys[round]) & low(left_bits)),
        }
    }

    /// All rounds of a network: `mix` says what a round makes of a right half, in so many bits.
    #[inline(always)]
    fn through<const N: usize>(&self, numbers: [u64; N], mix: impl Fn(usize, u64, u32) -> u64) -> [u64; N] {
        let (mut left_bits, mut right_bits) = (self.left_bits, self.right_bits);
        let mut halves = numbers.map(|number| (number >> right_bits, number & low(right_bits)));
        for round in 0..ROUNDS {
            for (left, right) in &mut halves {
                (*left, *right) = (*right, *left ^ mix(round, *right, left_bits));
            }
            (left_bits, right_bits) = (right_bits, left_bits);
        }
        halves.map(|(left, right)| (left << right_bits) | right)
    }
}

/// So many low bits.
fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A function without structure: the last step of SplitMix64 (Steele et al., 2014, in Stafford's variant 13).
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    impl Permutation {
        /// One number by itself.
        fn at(&self, place: usize) -> usize {
            self.several([place as u64; LANES])[0]
        }
    }

    #[test]
    fn rows_are_those_of_their_places_however_many_are_asked_for() {
        let permutation = Permutation::new(1_000, 7, 3);
        for (first, len) in [(0, 0), (0, 1), (5, 7), (8, 8), (3, 9), (900, 100)] {
            let shuffle = Some(&permutation);
            let rows = Rows { shuffle, places: first..first + len, ready: [0; LANES], left: 0 };
            assert_eq!(rows.len(), len);
            let wanted: Vec<usize> = (first..first + len).map(|place| permutation.at(place)).collect();
            assert_eq!(rows.collect::<Vec<_>>(), wanted);
        }
    }

    /// Those of the version before numbers were permuted together: a saved state has to lead to the same rows.
    #[test]
    fn a_seed_has_the_order_that_it_always_had() {
        let order = |len| -> Vec<usize> {
            let permutation = Permutation::new(len, 7, 3);
            (0..8).map(|place| permutation.at(place)).collect()
        };
        assert_eq!(order(1_000), [219, 170, 543, 431, 943, 921, 422, 692]);
        assert_eq!(order(65_537), [23518, 48947, 7394, 53450, 18150, 9155, 48055, 28336]);
    }

    #[test]
    fn a_round_that_is_looked_up_is_the_one_that_is_computed() {
        for len in [1, 256, 300, 1 << 15, (1 << 19) + 1, 1 << 20] {
            let looked_up = Permutation::new(len, 7, 3);
            assert!(looked_up.looked_up.is_some(), "{len}");
            let computed = Permutation { looked_up: None, ..Permutation::new(len, 7, 3) };
            for place in (0..len).step_by(len.div_ceil(5_000)) {
                assert_eq!(looked_up.at(place), computed.at(place), "{place} of {len}");
            }
        }
        assert!(Permutation::new((1 << 20) + 1, 7, 3).looked_up.is_none());
    }

    #[test]
    fn every_number_below_any_length_comes_once() {
        for len in (1..70).chain([255, 256, 257, 1_000, 65_537]) {
            let permutation = Permutation::new(len, 7, 3);
            let mut seen = vec![false; len];
            (0..len).for_each(|place| seen[permutation.at(place)] = true);
            assert!(seen.iter().all(|&seen| seen), "{len}");
        }
    }

    #[test]
    fn all_orders_of_a_few_rows_come_about_equally_often() {
        for (len, orders) in [(3, 6), (4, 24), (5, 120)] {
            let mut counts = HashMap::new();
            let draws = 500 * orders;
            for epoch in 0..draws {
                let permutation = Permutation::new(len, 1, epoch);
                let order: Vec<usize> = (0..len).map(|place| permutation.at(place)).collect();
                *counts.entry(order).or_insert(0_u64) += 1;
            }
            assert_eq!(counts.len() as u64, orders);
            // Chi-square has a standard deviation of sqrt(2 (orders - 1)): this is more than five of them.
            let statistic: f64 = counts.values().map(|&count| (count as f64 - 500.0).powi(2) / 500.0).sum();
            let (mean, deviation) = ((orders - 1) as f64, (2.0 * (orders - 1) as f64).sqrt());
            assert!(statistic < mean + 5.0 * deviation, "{statistic} for {orders} orders");
        }
    }

    #[test]
    fn a_row_comes_at_every_place_and_next_to_every_other_about_equally_often() {
        const ROWS: usize = 100;
        let mut places = vec![0.0_f64; ROWS * ROWS];
        let mut neighbours = vec![0.0_f64; ROWS * ROWS];
        for epoch in 0..10_000 {
            let permutation = Permutation::new(ROWS, 5, epoch);
            let order: Vec<usize> = (0..ROWS).map(|place| permutation.at(place)).collect();
            for (place, pair) in order.windows(2).enumerate() {
                places[pair[0] * ROWS + place] += 1.0;
                neighbours[pair[0] * ROWS + pair[1]] += 1.0;
            }
        }
        let statistic = |counts: &[f64], expected: f64| -> f64 {
            counts
                .iter()
                .filter(|&&count| count > 0.0)
                .map(|count| (count - expected).powi(2) / expected)
                .sum()
        };
        // 100 times 99 pairs each; the standard deviation is about 141.
        for (counts, expected) in [(&places, 100.0), (&neighbours, 100.0)] {
            let statistic = statistic(counts, expected);
            assert!((9_000.0..10_800.0).contains(&statistic), "{statistic}");
        }
    }
}
