//! Observations and rewards of ordinary size, with the bits of Gymnasium's `NormalizeObservation` and `NormalizeReward`.

use std::ops::{Add, Div, Mul, Sub};

use torchforge_nn::{TensorReader, TensorWriter};

use crate::Archive;

/// What is further from zero than this is cut, as CleanRL does.
const MOST: f32 = 10.0;
/// Gymnasium's: added to variances.
const EPSILON: f64 = 1e-8;
/// Gymnasium's: what the first mean and variance, 0 and 1, count as.
const FIRST_COUNT: f64 = 1e-4;
/// Gymnasium's names, in files.
const NAMES: [&str; 3] = ["obs_rms.mean", "obs_rms.var", "obs_rms.count"];

/// The running mean and variance of the observations of an environment.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservationStatistics {
    mean: Vec<f32>,
    variance: Vec<f32>,
    count: f64,
}

impl ObservationStatistics {
    fn new(observation_len: usize) -> Self {
        Self { mean: vec![0.0; observation_len], variance: vec![1.0; observation_len], count: FIRST_COUNT }
    }

    /// The statistics of `count` observations, which a training ended with; none where they have different lengths, or where
    /// a value is not finite, or a variance or the count is negative.
    pub fn from_moments(mean: Vec<f32>, variance: Vec<f32>, count: f64) -> Option<Self> {
        let sound = mean.len() == variance.len()
            && mean.iter().all(|value| value.is_finite())
            && variance.iter().all(|value| (0.0..f32::INFINITY).contains(value))
            && (0.0..f64::INFINITY).contains(&count);
        sound.then_some(Self { mean, variance, count })
    }

    /// Those of a file that [`write`](Self::write) made, of so many values; none where it holds none.
    ///
    /// # Errors
    ///
    /// [`torchforge_nn::Error::MissingTensor`] and [`torchforge_nn::Error::TensorKind`] where it holds others.
    pub fn read(
        tensors: &TensorReader<'_>,
        observation_len: usize,
    ) -> Result<Option<Self>, torchforge_nn::Error> {
        let [mean, variance, count] = NAMES;
        if !tensors.contains(mean) {
            return Ok(None);
        }
        let shape = [observation_len];
        let (mean, variance) = (tensors.f32(mean, &shape)?, tensors.f32(variance, &shape)?);
        let count = tensors.values::<f64>(count, &[1])?[0];
        let not_finite = || torchforge_nn::Error::NotFinite { name: NAMES[0].to_owned() };
        Self::from_moments(mean, variance, count).map(Some).ok_or_else(not_finite)
    }

    /// Writes them under Gymnasium's names.
    pub fn write(&self, tensors: &mut TensorWriter) {
        let [mean, variance, count] = NAMES;
        tensors.push_vector(mean, &self.mean);
        tensors.push_vector(variance, &self.variance);
        tensors.push_vector(count, &[self.count]);
    }

    /// The mean of each value.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// The variance of each value.
    pub fn variance(&self) -> &[f32] {
        &self.variance
    }

    /// Normalises an observation by what was seen so far, and cuts it.
    pub fn normalise(&self, observation: &mut [f32]) {
        let moments = self.mean.iter().zip(&self.variance);
        for (value, (mean, variance)) in observation.iter_mut().zip(moments) {
            *value = ((*value - mean) / (variance + EPSILON as f32).sqrt()).clamp(-MOST, MOST);
        }
    }

    fn update(&mut self, observation: &[f32]) {
        let moments = self.mean.iter_mut().zip(&mut self.variance);
        for (&value, (mean, variance)) in observation.iter().zip(moments) {
            update(mean, variance, self.count, value);
        }
        self.count += 1.0;
    }
}

/// What normalises one environment.
#[derive(Debug, Clone)]
pub(super) struct Normaliser {
    observations: ObservationStatistics,
    gamma: f64,
    /// The discounted sum of the rewards until now, its mean and its variance.
    discounted: [f64; 3],
    count: f64,
}

impl Normaliser {
    pub(super) fn new(observation_len: usize, gamma: f64) -> Self {
        let observations = ObservationStatistics::new(observation_len);
        Self { observations, gamma, discounted: [0.0, 0.0, 1.0], count: FIRST_COUNT }
    }

    /// Begins with the statistics of earlier observations.
    pub(super) fn of(observations: ObservationStatistics, gamma: f64) -> Self {
        let len = observations.mean.len();
        Self { observations, ..Self::new(len, gamma) }
    }

    pub(super) fn observations(&self) -> &ObservationStatistics {
        &self.observations
    }

    /// Counts an observation, then normalises it.
    pub(super) fn observe(&mut self, observation: &mut [f32]) {
        self.observations.update(observation);
        self.observations.normalise(observation);
    }

    /// A step's reward, in deviations of the discounted sum.
    pub(super) fn reward(&mut self, reward: f64, terminated: bool) -> f64 {
        let [sum, mean, variance] = &mut self.discounted;
        *sum = *sum * self.gamma * f64::from(u8::from(!terminated)) + reward;
        update(mean, variance, self.count, *sum);
        self.count += 1.0;
        (reward / (*variance + EPSILON).sqrt()).clamp(-f64::from(MOST), f64::from(MOST))
    }

    pub(super) fn visit(&mut self, archive: &mut Archive, name: &str) {
        archive.numbers(&format!("{name}.mean"), &mut self.observations.mean);
        archive.numbers(&format!("{name}.variance"), &mut self.observations.variance);
        archive.numbers(&format!("{name}.discounted"), &mut self.discounted);
        let mut counts = [self.observations.count, self.count];
        archive.numbers(&format!("{name}.counts"), &mut counts);
        [self.observations.count, self.count] = counts;
    }
}

/// `f32` or `f64`.
trait Real: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    fn of(number: f64) -> Self;
}

impl Real for f32 {
    fn of(number: f64) -> Self {
        number as f32
    }
}

impl Real for f64 {
    fn of(number: f64) -> Self {
        number
    }
}

/// Takes a value into the mean and variance of `count` others (Chan et al., 1979), rounded as Gymnasium's `RunningMeanStd`.
fn update<T: Real>(mean: &mut T, variance: &mut T, count: f64, value: T) {
    let (total, count) = (T::of(count + 1.0), T::of(count));
    let delta = value - *mean;
    *mean = *mean + delta / total;
    *variance = (*variance * count + delta * delta * count / total) / total;
}

#[cfg(test)]
mod tests {
    use torchforge_env::{Environment, Pendulum, TimeLimit};

    use super::*;

    /// Gymnasium 1.2.3 on NumPy 2.4.6: `NormalizeObservation` and `NormalizeReward` of gamma 0.99 around `Pendulum-v1`, cut at
    /// 10. Seed 3, and a torque of `((7 step) mod 13 - 6) / 4` in each step.
    #[test]
    fn observations_and_rewards_have_gymnasiums_bits() {
        const OBSERVATIONS: [(u32, [u32; 3]); 6] = [
            (0, [0xbf54_9f09, 0x3f73_c367, 0xbf7f_ecbf]),
            (1, [0xbf98_34fe, 0x3fa1_e0ef, 0xbf89_4cce]),
            (198, [0x3f4b_045d, 0xbf9e_38a6, 0xbf1f_3fa9]),
            // The first of the second episode.
            (199, [0x4102_53f0, 0x4015_dad3, 0x3de2_bb5e]),
            (200, [0x40d4_0be7, 0x4010_f6da, 0x3f21_175b]),
            (449, [0xbe04_5320, 0x3f82_7bce, 0x3dac_5ca8]),
        ];
        const REWARDS: [u64; 6] = [
            0xc024_0000_0000_0000,
            0xc000_2649_c9ad_56ea,
            0xbfa1_db92_c6f0_d87a,
            0xbfa2_ad1d_89a6_6a4c,
            0xbf93_3b7f_fd20_811c,
            0xbfa3_56ed_dc36_3118,
        ];
        let mut environment = TimeLimit::new(Pendulum::new(), 200);
        let mut normaliser = Normaliser::new(3, 0.99);
        let mut observation = [0.0; 3];
        environment.reset(Some(3), &mut observation).unwrap();
        normaliser.observe(&mut observation);
        assert_eq!(observation.map(f32::to_bits), [0xbbd5_89cc, 0xbb95_7b2f, 0xbb98_9cf8]);
        let mut expected = OBSERVATIONS.into_iter().zip(REWARDS).peekable();
        for step in 0..450 {
            let torque = ((step * 7 % 13) as f32 - 6.0) / 4.0;
            let found = environment.step(&[torque], &mut observation).unwrap();
            normaliser.observe(&mut observation);
            let reward = normaliser.reward(found.reward, found.terminated);
            if found.truncated {
                environment.reset(None, &mut observation).unwrap();
                normaliser.observe(&mut observation);
            }
            if let Some((seen, bits)) = expected.next_if(|((at, _), _)| *at == step) {
                assert_eq!((step, observation.map(f32::to_bits)), seen);
                assert_eq!(reward.to_bits(), bits, "step {step}");
            }
        }
        assert_eq!(expected.next(), None);
    }

    #[test]
    fn the_discounted_sum_ends_with_a_task_and_not_with_a_cut() {
        let mut normaliser = Normaliser::new(1, 0.5);
        let sums = [(1.0, false), (1.0, false), (1.0, true), (1.0, false)].map(|(reward, terminated)| {
            normaliser.reward(reward, terminated);
            normaliser.discounted[0]
        });
        assert_eq!(sums, [1.0, 1.5, 1.0, 1.5]);
    }

    #[test]
    fn statistics_of_different_lengths_are_none() {
        assert_eq!(ObservationStatistics::from_moments(vec![0.0; 2], vec![1.0; 3], 1.0), None);
        let statistics = ObservationStatistics::from_moments(vec![1.0], vec![4.0], 1.0).unwrap();
        let mut observations = [5.0, -100.0].map(|value| [value]);
        observations.iter_mut().for_each(|observation| statistics.normalise(observation));
        assert_eq!(observations, [[2.0], [-10.0]]);
    }
}
