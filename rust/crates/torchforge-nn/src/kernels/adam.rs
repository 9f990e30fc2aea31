//! Adam, as `torch.optim.Adam` computes it.

use crate::Error;
use crate::buffer::Buffer;
use crate::error::check_constant;
use crate::simd::{LANES, Simd, SimdPath, Work, dispatch};
use crate::state::{Numbers, Visit};

/// Adam's constants; the defaults are PyTorch's, but for the learning rate of 2.5e-4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamOptions {
    /// Step size before bias correction.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment, outside the root.
    pub epsilon: f64,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self { learning_rate: 2.5e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

impl AdamOptions {
    pub(crate) fn check(&self) -> Result<(), Error> {
        const DECAY: &str = "a number from 0 to less than 1";
        let most = f64::from(f32::MAX);
        check_constant("the learning rate", self.learning_rate, 0.0..=most, "zero or a positive number")?;
        check_constant("beta1", self.beta1, 0.0..1.0, DECAY)?;
        check_constant("beta2", self.beta2, 0.0..1.0, DECAY)?;
        // A smaller one would be rounded to zero, and a parameter without a gradient would become 0 / 0.
        let least = f64::from(f32::MIN_POSITIVE);
        check_constant("Adam's epsilon", self.epsilon, least..=most, "a positive number of single precision")
    }
}

/// Below these magnitudes a value becomes zero. A unit that no longer learns has moments that decay into
/// the denormal numbers, on which processors are many times slower. With an epsilon of 1e-8 or more a step that
/// is left out is at most 1e-9 of the learning rate: at a rate of 1e-3 that is less than half the last bit of
/// every parameter beyond 4e-5. One that is nearer to zero stays where it would have moved by so little.
/// Compared and selected here, because the flush modes of ARM and x86 round differently.
const GRADIENT_FLOOR: f32 = 1e-17;
const FIRST_MOMENT_FLOOR: f32 = 1e-30;
const SECOND_MOMENT_FLOOR: f32 = 1e-35;

/// The optimiser's state for a flat vector of parameters.
///
/// Gradients below 1e-17, first moments below 1e-30 and second moments below 1e-35 count as zero.
/// Powers of the decay rates are kept by repeated multiplication in `f64`, so no libm is needed.
#[derive(Debug, Clone)]
pub struct Adam {
    options: AdamOptions,
    first: Buffer,
    second: Buffer,
    beta1_power: f64,
    beta2_power: f64,
}

impl Adam {
    /// Fresh moments for `len` parameters.
    pub fn new(options: AdamOptions, len: usize) -> Self {
        Self {
            options,
            first: Buffer::zeros(len),
            second: Buffer::zeros(len),
            beta1_power: 1.0,
            beta2_power: 1.0,
        }
    }

    /// The step size of the steps to come.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.options.learning_rate = learning_rate;
    }

    /// Shows moments and powers, under names that begin with `name`: see [`NetworkState`](crate::NetworkState).
    pub(crate) fn visit_state(&mut self, name: &str, visit: &mut Visit<'_>) {
        visit(&format!("{name}.adam.first"), Numbers::F32(&mut self.first));
        visit(&format!("{name}.adam.second"), Numbers::F32(&mut self.second));
        let mut powers = [self.beta1_power, self.beta2_power];
        visit(&format!("{name}.adam.powers"), Numbers::F64(&mut powers));
        [self.beta1_power, self.beta2_power] = powers;
    }

    /// Moves `parameters` one step against `gradients`. All three vectors have the length given to `new`.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &[f32]) {
        dispatch(SimdPath::detect(), Step { adam: self, parameters, gradients });
    }

    /// [`step`](Self::step) as a part of a larger update.
    #[inline(always)]
    pub(crate) fn step_with<S: Simd>(&mut self, simd: S, parameters: &mut [f32], gradients: &[f32]) {
        simd.run(Step { adam: self, parameters, gradients });
    }

    #[inline(always)]
    fn compute<S: Simd>(&mut self, simd: S, parameters: &mut [f32], gradients: &[f32]) {
        assert_eq!(parameters.len(), self.first.len(), "parameters and moments");
        assert_eq!(gradients.len(), self.first.len(), "gradients and moments");
        let AdamOptions { learning_rate, beta1, beta2, epsilon } = self.options;
        self.beta1_power *= beta1;
        self.beta2_power *= beta2;
        let step_size = simd.splat((learning_rate / (1.0 - self.beta1_power)) as f32);
        let correction = simd.splat((1.0 / (1.0 - self.beta2_power).sqrt()) as f32);
        let (gain1, decay2) = (simd.splat((1.0 - beta1) as f32), simd.splat(beta2 as f32));
        let (gain2, epsilon) = (simd.splat((1.0 - beta2) as f32), simd.splat(epsilon as f32));

        let moments = self.first.chunks_mut(LANES).zip(self.second.chunks_mut(LANES));
        let both = parameters.chunks_mut(LANES).zip(gradients.chunks(LANES));
        for ((parameters, gradients), (first, second)) in both.zip(moments) {
            let gradient = simd.flush(simd.load_up_to(gradients), GRADIENT_FLOOR);
            let old = simd.load_up_to(first);
            let new_first = simd.flush(simd.mul_add(gain1, simd.sub(gradient, old), old), FIRST_MOMENT_FLOOR);
            let square = simd.mul(simd.mul(gain2, gradient), gradient);
            let new_second =
                simd.flush(simd.mul_add(decay2, simd.load_up_to(second), square), SECOND_MOMENT_FLOOR);
            let denominator = simd.mul_add(simd.sqrt(new_second), correction, epsilon);
            let step = simd.div(simd.mul(step_size, new_first), denominator);
            simd.store_up_to(new_first, first);
            simd.store_up_to(new_second, second);
            simd.store_up_to(simd.sub(simd.load_up_to(parameters), step), parameters);
        }
    }
}

struct Step<'a> {
    adam: &'a mut Adam,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
}

impl Work for Step<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.adam.compute(simd, self.parameters, self.gradients);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_follow_adams_formula_in_f64() {
        let options = AdamOptions::default();
        let mut adam = Adam::new(options, 3);
        let mut parameters = [0.05_f32, -0.1, 0.2];
        let mut exact = parameters.map(f64::from);
        let (mut first, mut second) = ([0.0_f64; 3], [0.0_f64; 3]);
        for step in 1..=200 {
            let gradients = [0.3, -0.01 * step as f32, if step % 2 == 0 { 1e-4 } else { -2e-4 }];
            adam.step(&mut parameters, &gradients);
            for i in 0..3 {
                let gradient = f64::from(gradients[i]);
                first[i] = options.beta1 * first[i] + (1.0 - options.beta1) * gradient;
                second[i] = options.beta2 * second[i] + (1.0 - options.beta2) * gradient * gradient;
                let first_hat = first[i] / (1.0 - options.beta1.powi(step));
                let second_hat = second[i] / (1.0 - options.beta2.powi(step));
                exact[i] -= options.learning_rate * first_hat / (second_hat.sqrt() + options.epsilon);
            }
        }
        for (parameter, exact) in parameters.iter().zip(exact) {
            // 200 roundings of an f32 below 0.25 add up to at most 1.5e-6; the parameters moved by 0.05.
            assert!((f64::from(*parameter) - exact).abs() < 3e-6, "{parameter} {exact}");
        }
    }

    #[test]
    fn moments_of_a_dead_unit_reach_zero_and_never_a_denormal() {
        let mut adam = Adam::new(AdamOptions::default(), 1);
        let mut parameters = [1.0];
        adam.step(&mut parameters, &[1e-3]);
        for _ in 0..100_000 {
            adam.step(&mut parameters, &[0.0]);
            assert!(!adam.first[0].is_subnormal() && !adam.second[0].is_subnormal());
        }
        assert_eq!((adam.first[0], adam.second[0]), (0.0, 0.0));
    }

    #[test]
    fn a_broken_gradient_shows_in_the_parameters() {
        let mut parameters = [1.0];
        Adam::new(AdamOptions::default(), 1).step(&mut parameters, &[f32::NAN]);
        assert!(parameters[0].is_nan());
    }
}
