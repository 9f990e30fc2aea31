//! Actions of numbers: the actor's outputs are their means, and their deviations are the same after every observation.

use super::dense::ppo_update;
use super::head::{Head, Strip, Weights};
use super::{DensePpo, NormalPolicy, PpoLossOptions, PpoSizes};
use crate::buffer::Buffer;
use crate::error::check_len;
use crate::kernels::{exp, horizontal_sum, scale, sum_of_squares};
use crate::simd::{LANES, Simd};
use crate::state::{Numbers, Visit};
use crate::{Activation, Adam, AdamOptions, Error, Mlp, TensorReader, TensorWriter};

/// ln sqrt(2 pi).
const LN_ROOT_TAU: f32 = 0.918_938_5;
/// CleanRL's names in files. The logarithms are (1, action length).
const NAME: &str = "actor_logstd";
const ACTOR: &str = "actor_mean.";
const CRITIC: &str = "critic.";

/// Independent normal distributions. The logarithms of their standard deviations are parameters of their own.
#[derive(Debug)]
pub struct Normal {
    log_deviations: Buffer,
    gradients: Buffer,
    adam: Adam,
    /// Of the parameters as they are now.
    deviations: Vec<f32>,
    entropy: f32,
    /// A minibatch's actions, (action length, rows) with whole vectors in a row.
    actions: Vec<f32>,
    /// Each logarithm's gradient, lane by lane.
    gradient_sums: Vec<f32>,
    /// (rows, action length).
    means: Vec<f32>,
    batch: usize,
}

/// [`DensePpo`] whose actions are numbers, as [`Normal`] has them. Tensors have the names of CleanRL's
/// `ppo_continuous_action.py`.
pub type NormalPpo = DensePpo<Normal>;

/// What [`NormalPpo`] begins with: fresh networks, or those of a file that [`NormalPpo::write`] made.
#[derive(Debug, Clone)]
pub struct NormalNetworks {
    /// Its outputs are the means.
    pub actor: Mlp,
    /// Logarithms of the deviations, (action length).
    pub log_deviations: Vec<f32>,
    /// Values of observations.
    pub critic: Mlp,
}

impl NormalNetworks {
    /// Reads networks of these sizes, whose layers have tanh between them.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTensor`] and [`Error::TensorKind`] where the file holds others, and [`Error::NotFinite`].
    pub fn read(actor: &[usize], critic: &[usize], tensors: &TensorReader<'_>) -> Result<Self, Error> {
        let actions = actor.last().copied().unwrap_or_default();
        let network = |sizes, name| Mlp::read(sizes, Activation::Tanh, name, tensors);
        Ok(Self {
            actor: network(actor, ACTOR)?,
            log_deviations: tensors.finite_f32(NAME, &[1, actions])?,
            critic: network(critic, CRITIC)?,
        })
    }

    /// Begins with them, as [`NormalPpo::with_log_deviations`] does.
    ///
    /// # Errors
    ///
    /// As of [`NormalPpo::with_log_deviations`].
    pub fn into_ppo(
        self,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<NormalPpo, Error> {
        NormalPpo::with_log_deviations(
            self.actor,
            &self.log_deviations,
            self.critic,
            rows,
            batch,
            options,
            adam,
        )
    }
}

impl NormalPpo {
    /// Writes all parameters, under CleanRL's names.
    pub fn write(&self, tensors: &mut TensorWriter) {
        self.actor().write(ACTOR, self.actor().parameters(), tensors);
        let log_deviations = self.log_deviations();
        tensors.push_all(NAME.into(), vec![1, log_deviations.len()], log_deviations);
        self.critic().write(CRITIC, self.critic().parameters(), tensors);
    }

    /// Given networks, the logarithms of the deviations at first, and fresh moments: up to `rows` observations are evaluated
    /// at once, minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where actor, logarithms and critic do not fit each other, [`Error::Rows`] for minibatches of fewer than
    /// two rows or evaluations of none, [`Error::Constant`] for an option out of its range, and [`Error::NoMemory`].
    pub fn with_log_deviations(
        actor: Mlp,
        log_deviations: &[f32],
        critic: Mlp,
        rows: usize,
        batch: usize,
        options: PpoLossOptions,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = PpoSizes::of(&actor, &critic, rows, batch)?;
        let len = sizes.outputs;
        check_len(NAME, len, log_deviations.len())?;
        let head = || {
            let mut head = Normal {
                log_deviations: Buffer::zeros(len),
                gradients: Buffer::zeros(len),
                adam: Adam::new(adam, len),
                deviations: vec![0.0; len],
                entropy: 0.0,
                actions: vec![0.0; len * batch.next_multiple_of(LANES)],
                gradient_sums: vec![0.0; len * LANES],
                means: vec![0.0; rows * len],
                batch,
            };
            head.log_deviations.copy_from_slice(log_deviations);
            head
        };
        Self::with_head([actor, critic], sizes, head, options, adam)
    }

    /// The logarithms of the deviations.
    pub fn log_deviations(&self) -> &[f32] {
        &self.head.log_deviations
    }

    /// Their gradients of the last update, cut, or of its first half, uncut.
    pub fn log_deviation_gradients(&self) -> &[f32] {
        &self.head.gradients
    }

    /// The second half of an update: cuts these gradients of actor, logarithms and critic together and takes one step with
    /// them; those of networks are laid out as [`Mlp::parameters`]. Returns their length before it was cut.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where they are not as many as the parameters.
    pub fn apply_gradients(
        &mut self,
        actor: &[f32],
        log_deviations: &[f32],
        critic: &[f32],
        learning_rate: f64,
    ) -> Result<f32, Error> {
        check_len("gradients", self.head.gradients.len(), log_deviations.len())?;
        self.head.gradients.copy_from_slice(log_deviations);
        self.apply(actor, critic, learning_rate)
    }
}

impl NormalPolicy for NormalPpo {
    fn action_len(&self) -> usize {
        self.sizes.outputs
    }

    fn act(
        &mut self,
        observations: &[f32],
        actions: &mut [f32],
        log_probabilities: &mut [f32],
    ) -> Result<(), Error> {
        let (rows, len) = (self.sizes.check_rows(observations)?, self.sizes.outputs);
        check_len("actions", rows * len, actions.len())?;
        check_len("log probabilities", rows, log_probabilities.len())?;
        self.evaluate_policy(observations)?;
        let places = self.head.means.chunks_exact(len).zip(actions.chunks_exact_mut(len));
        for ((means, action), logarithm) in places.zip(log_probabilities) {
            *logarithm = self.head.draw(means, action);
        }
        Ok(())
    }
}

impl Normal {
    /// Makes an action of its noise; returns the logarithm of its density, computed as [`rows`](Head::rows) does.
    fn draw(&self, means: &[f32], action: &mut [f32]) -> f32 {
        let mut logarithm = 0.0;
        for (number, value) in action.iter_mut().enumerate() {
            let (mean, deviation) = (means[number], self.deviations[number]);
            *value = mean + deviation * *value;
            let distance = (*value - mean) / deviation;
            logarithm -= 0.5 * (distance * distance) + (self.log_deviations[number] + LN_ROOT_TAU);
        }
        logarithm
    }

    /// Computes what follows from the parameters.
    #[inline(always)]
    fn look<S: Simd>(&mut self, simd: S) {
        let pairs = self.deviations.chunks_mut(LANES).zip(self.log_deviations.chunks(LANES));
        for (deviations, logarithms) in pairs {
            simd.store_up_to(exp(simd, simd.load_up_to(logarithms)), deviations);
        }
        self.entropy = self.log_deviations.iter().map(|logarithm| logarithm + (0.5 + LN_ROOT_TAU)).sum();
    }

    /// How far the actions of some rows are from their means, in deviations.
    #[inline(always)]
    fn distance<S: Simd>(&self, simd: S, strip: Strip<'_>, number: usize) -> S::Vector {
        let padded = self.batch.next_multiple_of(LANES);
        let action = simd.load(&self.actions[number * padded + strip.first..]);
        simd.div(simd.sub(action, strip.output(simd, number)), simd.splat(self.deviations[number]))
    }
}

ppo_update!(Normal, f32);

impl Head for Normal {
    type Value = f32;
    type Rows<S: Simd> = [S::Vector; 2];
    const ACTOR: &'static str = "actor_mean.";

    fn action_len(&self) -> usize {
        self.log_deviations.len()
    }

    fn check_actions(&self, _actions: &[f32]) -> Result<(), Error> {
        Ok(())
    }

    #[inline(always)]
    fn take<S: Simd>(&mut self, simd: S, actions: &[f32]) {
        self.look(simd);
        self.gradient_sums.fill(0.0);
        let (len, padded) = (self.log_deviations.len(), self.batch.next_multiple_of(LANES));
        for (row, action) in actions.chunks_exact(len).enumerate() {
            for (number, &value) in action.iter().enumerate() {
                self.actions[number * padded + row] = value;
            }
        }
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, simd: S, strip: Strip<'_>) -> [S::Vector; 2] {
        let half = simd.splat(0.5);
        let mut logarithm = simd.splat(0.0);
        for (number, own) in self.log_deviations.iter().enumerate() {
            let distance = self.distance(simd, strip, number);
            let constant = simd.splat(own + LN_ROOT_TAU);
            let term = simd.add(simd.mul(half, simd.mul(distance, distance)), constant);
            logarithm = simd.sub(logarithm, term);
        }
        [logarithm, simd.splat(self.entropy)]
    }

    #[inline(always)]
    fn logarithm_and_entropy<S: Simd>([logarithm, entropy]: [S::Vector; 2]) -> (S::Vector, S::Vector) {
        (logarithm, entropy)
    }

    #[inline(always)]
    fn write_errors<S: Simd>(
        &mut self,
        simd: S,
        _rows: [S::Vector; 2],
        weights: Weights<S>,
        strip: Strip<'_>,
        errors: &mut [f32],
    ) {
        let one = simd.splat(1.0);
        for number in 0..self.log_deviations.len() {
            let distance = self.distance(simd, strip, number);
            let of_mean = simd.div(distance, simd.splat(self.deviations[number]));
            simd.store(simd.mul(weights.slope, of_mean), &mut errors[number * strip.width + strip.first..]);
            let of_logarithm = simd.sub(simd.mul(distance, distance), one);
            let sums = &mut self.gradient_sums[number * LANES..];
            let surrogate = simd.mul_add(weights.slope, of_logarithm, simd.load(sums));
            // The entropy grows as the logarithm does.
            simd.store(simd.sub(surrogate, weights.entropy), sums);
        }
    }

    #[inline(always)]
    fn end_errors<S: Simd>(&mut self, simd: S) {
        for (gradient, sums) in self.gradients.iter_mut().zip(self.gradient_sums.chunks_exact(LANES)) {
            *gradient = horizontal_sum(simd, simd.load(sums)) as f32;
        }
    }

    #[inline(always)]
    fn evaluate<S: Simd>(&mut self, simd: S, outputs: &[f32], width: usize, rows: usize) {
        self.look(simd);
        let len = self.log_deviations.len();
        for (row, means) in self.means.chunks_exact_mut(len).take(rows).enumerate() {
            for (number, mean) in means.iter_mut().enumerate() {
                *mean = outputs[number * width + row];
            }
        }
    }

    #[inline(always)]
    fn squares<S: Simd>(&self, simd: S) -> f64 {
        sum_of_squares(simd, &self.gradients)
    }

    #[inline(always)]
    fn step_shrunk<S: Simd>(&mut self, simd: S, shrink: f32, learning_rate: f64) {
        scale(simd, &mut self.gradients, shrink);
        self.adam.set_learning_rate(learning_rate);
        self.adam.step_with(simd, &mut self.log_deviations, &self.gradients);
    }

    fn visit_state(&mut self, visit: &mut Visit<'_>) {
        visit("log_deviations", Numbers::F32(&mut self.log_deviations));
        self.adam.visit_state("log_deviations", visit);
    }

    fn first_not_finite(&self) -> Option<String> {
        self.log_deviations.iter().any(|value| !value.is_finite()).then(|| NAME.into())
    }
}
