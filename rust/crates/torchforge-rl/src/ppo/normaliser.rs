//! Observations and rewards of ordinary size, with the bits of Gymnasium's `NormalizeObservation` and `NormalizeReward`.

use std::ops::{Add, Div, Mul, Sub};

use crate::Archive;

/// What is further from zero than this is cut, as CleanRL does.
const MOST: f32 = 10.0;
/// Gymnasium's: added to variances.
const EPSILON: f64 = 1e-8;
/// Gymnasium's: what the first mean and variance, 0 and 1, count as.
const FIRST_COUNT: f64 = 1e-4;

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

    /// Those that a training ended with; none where they have different lengths.
    pub fn from_moments(mean: Vec<f32>, variance: Vec<f32>) -> Option<Self> {
        (mean.len() == variance.len()).then_some(Self { mean, variance, count: FIRST_COUNT })
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
