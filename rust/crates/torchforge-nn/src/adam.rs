//! Adam, as `torch.optim.Adam` computes it.

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

/// Below these magnitudes a value becomes zero. A unit that no longer learns has moments that decay into
/// the denormal numbers, on which processors are many times slower. No parameter can tell the difference:
/// the step for such moments is below a parameter's last bit. Compared and selected here, because the
/// flush modes of ARM and x86 round differently.
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
    first: Vec<f32>,
    second: Vec<f32>,
    beta1_power: f64,
    beta2_power: f64,
}

impl Adam {
    /// Fresh moments for `len` parameters.
    pub fn new(options: AdamOptions, len: usize) -> Self {
        Self { options, first: vec![0.0; len], second: vec![0.0; len], beta1_power: 1.0, beta2_power: 1.0 }
    }

    /// Moves `parameters` one step against `gradients`. All three vectors have the length given to `new`.
    pub fn step(&mut self, parameters: &mut [f32], gradients: &[f32]) {
        assert_eq!(parameters.len(), self.first.len(), "parameters and moments");
        assert_eq!(gradients.len(), self.first.len(), "gradients and moments");
        let AdamOptions { learning_rate, beta1, beta2, epsilon } = self.options;
        self.beta1_power *= beta1;
        self.beta2_power *= beta2;
        let step_size = (learning_rate / (1.0 - self.beta1_power)) as f32;
        let correction = (1.0 - self.beta2_power).sqrt() as f32;
        let (gain1, decay2, gain2) = ((1.0 - beta1) as f32, beta2 as f32, (1.0 - beta2) as f32);
        let epsilon = epsilon as f32;

        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, &gradient), (first, second)) in parameters.iter_mut().zip(gradients).zip(moments) {
            let gradient = flushed(gradient, GRADIENT_FLOOR);
            *first = flushed(*first + gain1 * (gradient - *first), FIRST_MOMENT_FLOOR);
            *second = flushed(*second * decay2 + gain2 * gradient * gradient, SECOND_MOMENT_FLOOR);
            let denominator = second.sqrt() / correction + epsilon;
            *parameter -= step_size * *first / denominator;
        }
    }
}

#[inline(always)]
fn flushed(value: f32, floor: f32) -> f32 {
    // Written so that NaN passes: a broken gradient must show.
    if value.abs() < floor { 0.0 } else { value }
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
