//! NumPy's `SeedSequence` and `PCG64`, number for number.
//!
//! Sources: `numpy/random/bit_generator.pyx` (after M. E. O'Neill's `randutils`) and
//! `numpy/random/src/pcg64` (PCG XSL-RR 128/64).

use std::convert::Infallible;

use rand_core::{Rng, TryRng, utils};

const POOL: usize = 4;
const INIT_A: u32 = 0x43b0_d7e5;
const MULT_A: u32 = 0x931e_8875;
const INIT_B: u32 = 0x8b51_f9dd;
const MULT_B: u32 = 0x58f3_8ded;
const MIX_L: u32 = 0xca01_f9dd;
const MIX_R: u32 = 0x4973_f715;
const PCG_MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// Tells a half that is left from none.
const HALF: u64 = 1 << 32;

/// Spreads a seed over as many well-mixed words as a generator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedSequence {
    pool: [u32; POOL],
}

impl SeedSequence {
    /// `numpy.random.SeedSequence(seed)`.
    pub fn new(seed: u64) -> Self {
        Self::mixed(&words(seed))
    }

    /// `numpy.random.SeedSequence(seed, spawn_key=(key,))`: the seed's child number `key`, whose numbers
    /// are independent of the seed's own and of every other child's.
    pub fn child(seed: u64, key: u32) -> Self {
        let mut entropy = words(seed);
        // NumPy pads the seed to the pool's size, so that no seed can pose as another's child.
        entropy.resize(POOL, 0);
        entropy.push(key);
        Self::mixed(&entropy)
    }

    fn mixed(entropy: &[u32]) -> Self {
        let mut constant = INIT_A;
        let mut hash = |value: u32| {
            let value = value ^ constant;
            constant = constant.wrapping_mul(MULT_A);
            let value = value.wrapping_mul(constant);
            value ^ (value >> 16)
        };
        let mix = |x: u32, y: u32| {
            let result = MIX_L.wrapping_mul(x).wrapping_sub(MIX_R.wrapping_mul(y));
            result ^ (result >> 16)
        };

        let mut pool = [0; POOL];
        for (i, word) in pool.iter_mut().enumerate() {
            *word = hash(entropy.get(i).copied().unwrap_or(0));
        }
        for from in 0..POOL {
            for into in (0..POOL).filter(|&into| into != from) {
                pool[into] = mix(pool[into], hash(pool[from]));
            }
        }
        for &word in entropy.iter().skip(POOL) {
            for into in &mut pool {
                *into = mix(*into, hash(word));
            }
        }
        Self { pool }
    }

    /// `generate_state(N, numpy.uint64)`.
    pub fn generate_state<const N: usize>(&self) -> [u64; N] {
        let mut constant = INIT_B;
        let mut place = 0;
        let mut next = || {
            let mut value = self.pool[place % POOL] ^ constant;
            place += 1;
            constant = constant.wrapping_mul(MULT_B);
            value = value.wrapping_mul(constant);
            u64::from(value ^ (value >> 16))
        };
        std::array::from_fn(|_| next() | next() << 32)
    }
}

/// The seed's 32-bit words, the least significant first, without leading zeros.
fn words(seed: u64) -> Vec<u32> {
    let (low, high) = (seed as u32, (seed >> 32) as u32);
    if high == 0 { vec![low] } else { vec![low, high] }
}

/// `numpy.random.default_rng(seed)`: PCG XSL-RR 128/64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of a number whose lower half `next_u32` gave out: it gives this one out next.
    half: Option<u32>,
}

impl Pcg64 {
    /// `numpy.random.default_rng(seed)`.
    pub fn new(seed: u64) -> Self {
        Self::from_sequence(SeedSequence::new(seed))
    }

    /// The generator of a seed sequence.
    pub fn from_sequence(sequence: SeedSequence) -> Self {
        let [a, b, c, d] = sequence.generate_state::<4>().map(u128::from);
        let increment = (c << 64 | d) << 1 | 1;
        // The reference initialisation: one step from zero, add the seed, one step.
        let mut rng = Self { state: increment.wrapping_add(a << 64 | b), increment, half: None };
        rng.advance();
        rng
    }

    /// The whole state: its upper and lower half, those of the increment, then the half that
    /// [`next_u32`](Rng::next_u32) gives out next, plus 2^32, or 0 where there is none.
    pub fn to_words(&self) -> [u64; 5] {
        let halves = |number: u128| [(number >> 64) as u64, number as u64];
        let ([a, b], [c, d]) = (halves(self.state), halves(self.increment));
        [a, b, c, d, self.half.map_or(0, |half| HALF | u64::from(half))]
    }

    /// The generator that [`to_words`](Self::to_words) was asked of; none where no generator has such words.
    pub fn from_words(words: [u64; 5]) -> Option<Self> {
        let [a, b, c, d, _] = words.map(u128::from);
        let (state, increment) = (a << 64 | b, c << 64 | d);
        let half = match words[4] {
            0 => None,
            word if word >> 32 == 1 => Some(word as u32),
            _ => return None,
        };
        (increment & 1 == 1).then_some(Self { state, increment, half })
    }

    /// A number in [0, 1): the upper 53 bits times 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }

    /// A number in [low, high), as `Generator.uniform` computes it.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    #[inline]
    fn advance(&mut self) {
        self.state = self.state.wrapping_mul(PCG_MULTIPLIER).wrapping_add(self.increment);
    }
}

impl TryRng for Pcg64 {
    type Error = Infallible;

    /// As NumPy's generator: the lower half of a number, and the upper half the next time.
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if let Some(half) = self.half.take() {
            return Ok(half);
        }
        let number = self.try_next_u64()?;
        self.half = Some((number >> 32) as u32);
        Ok(number as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.advance();
        let (high, low) = ((self.state >> 64) as u64, self.state as u64);
        Ok((high ^ low).rotate_right((self.state >> 122) as u32))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u64())
    }
}
