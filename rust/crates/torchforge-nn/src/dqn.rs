//! One update of deep Q-learning, the seam between algorithm and kernels.

mod windows;

use rand_core::Rng;

use crate::debug::debug_sizes;
use crate::error::{check_actions, check_alike, check_constant, check_len, check_rows};
use crate::kernels::approach;
use crate::learner::Learner;
use crate::mlp::{Activations, RowActivations};
use crate::processor::Processor;
use crate::simd::{Simd, SimdPath, Work, dispatch};
use crate::state::{NetworkState, Numbers, Visit};
use crate::thread_pool::ThreadPool;
use crate::{AdamOptions, Error, Mlp};

pub use windows::{WindowedDqnUpdate, Windows};

/// Transitions to learn from, borrowed. Row `i` of every field belongs to the same transition.
#[derive(Debug, Clone, Copy)]
pub struct Minibatch<'a> {
    /// (batch, observation length).
    pub observations: &'a [f32],
    /// (batch, observation length).
    pub next_observations: &'a [f32],
    /// (batch).
    pub actions: &'a [u32],
    /// (batch).
    pub rewards: &'a [f32],
    /// 1 where the task ended, so that nothing follows, otherwise 0; (batch).
    pub terminations: &'a [f32],
}

/// What DQN's networks and minibatches have to agree on, whichever library computes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DqnSizes {
    /// Values in an observation.
    pub(crate) observation: usize,
    /// Actions that have a value.
    pub(crate) actions: usize,
    /// Rows of a minibatch.
    pub(crate) batch: usize,
}

impl DqnSizes {
    /// Those of two networks, if they are alike.
    pub(crate) fn of(online: &Mlp, target: &Mlp, batch: usize) -> Result<Self, Error> {
        check_rows("a minibatch", 1, batch)?;
        check_alike("the target network", online, target)?;
        Ok(Self { observation: online.inputs(), actions: online.outputs(), batch })
    }

    pub(crate) fn check_row(&self, observation: &[f32]) -> Result<(), Error> {
        check_len("the observation", self.observation, observation.len())
    }

    #[cfg(any(feature = "burn", feature = "candle"))]
    pub(crate) fn check_rows(&self, observations: &[f32], values: &[f32]) -> Result<(), Error> {
        let rows = observations.len().div_ceil(self.observation);
        check_len("inputs", rows * self.observation, observations.len())?;
        check_len("outputs", rows * self.actions, values.len())
    }

    pub(crate) fn check_minibatch(&self, minibatch: &Minibatch<'_>) -> Result<(), Error> {
        let values = self.batch * self.observation;
        check_len("observations", values, minibatch.observations.len())?;
        check_len("next observations", values, minibatch.next_observations.len())?;
        check_len("actions", self.batch, minibatch.actions.len())?;
        check_len("rewards", self.batch, minibatch.rewards.len())?;
        check_len("terminations", self.batch, minibatch.terminations.len())?;
        check_actions(minibatch.actions, self.actions)
    }

    fn check_windows(&self, windows: &Windows<'_>) -> Result<(), Error> {
        check_len("discounts", self.batch, windows.discounts.len())?;
        check_len("weights", self.batch, windows.weights.len())?;
        check_len("errors", self.batch, windows.errors.len())
    }
}

/// Whether the constants of an update are within their ranges, whichever library computes.
pub(crate) fn check_constants(gamma: f64, adam: &AdamOptions) -> Result<(), Error> {
    check_constant("gamma", gamma, 0.0..=1.0, "a number from 0 to 1")?;
    adam.check()
}

/// An action-value network that learns by whole updates.
#[auto_impl::auto_impl(Box)]
pub trait DqnUpdate {
    /// Rows of the minibatches that it was made for.
    fn batch(&self) -> usize;

    /// The name of the first tensor of the online network that is not finite. None where all are, and for a library that
    /// keeps its parameters to itself.
    fn first_not_finite(&self) -> Option<String> {
        None
    }

    /// The values of all actions for one observation.
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where the observation has another length than the network's inputs.
    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error>;

    /// The mean value of a minibatch's actions, by the online network as it is; nothing is learnt.
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error>;

    /// One gradient step; returns the loss before it.
    ///
    /// The loss is the mean over the minibatch of `(q(s, a) - y)^2` with
    /// `y = r + gamma * max_b target(s', b) * (1 - terminated)` (Mnih et al., 2015).
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where a field has not one row for each of the [`batch`](Self::batch), and [`Error::Action`] where the
    /// network has no output for an action.
    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error>;

    /// Moves the target network towards the online network: `target = tau online + (1 - tau) target`. A `tau` of 1 copies.
    fn update_target(&mut self, tau: f64);

    /// The largest difference of a parameter of the target network and of the online one: zero right after a copy.
    fn largest_target_difference(&self) -> f32;

    /// The same network where it learns from windows of several steps, weighed; none where the library has no such update.
    fn windowed(&mut self) -> Option<&mut dyn WindowedDqnUpdate> {
        None
    }
}

/// [`DqnUpdate`] on an [`Mlp`] with [`Adam`](crate::Adam). After it is made, it allocates nothing.
pub struct DenseDqn {
    online: Learner,
    target: Mlp,
    target_activations: Activations,
    row_activations: RowActivations,
    gamma: f32,
    sizes: DqnSizes,
    path: SimdPath,
    pool: Option<ThreadPool>,
}

debug_sizes!(DenseDqn, sizes);

impl DenseDqn {
    /// A freshly initialised network (see [`Mlp::new`]) with an equal target; minibatches have `batch` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Sizes`] where the sizes make no network, and those of [`from_networks`](Self::from_networks).
    pub fn new(
        sizes: &[usize],
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
        rng: &mut impl Rng,
    ) -> Result<Self, Error> {
        let online = Mlp::new(sizes, rng)?;
        Self::from_networks(online.clone(), online, batch, gamma, adam)
    }

    /// Given networks of equal sizes, with fresh moments.
    ///
    /// # Errors
    ///
    /// [`Error::Unlike`] where the networks have other sizes, [`Error::Rows`] where minibatches have no row,
    /// [`Error::Constant`] for a discount or a constant of Adam out of its range, and [`Error::NoMemory`].
    pub fn from_networks(
        online: Mlp,
        target: Mlp,
        batch: usize,
        gamma: f64,
        adam: AdamOptions,
    ) -> Result<Self, Error> {
        let sizes = DqnSizes::of(&online, &target, batch)?;
        check_constants(gamma, &adam)?;
        online.check_memory(batch)?;
        Ok(Self {
            target_activations: target.activations(batch),
            row_activations: online.row_activations(),
            online: Learner::new(online, adam, batch),
            target,
            gamma: gamma as f32,
            sizes,
            path: SimdPath::detect(),
            pool: None,
        })
    }

    /// The same network on this path instead of the fastest; the bytes stay the same.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchPath`] where this processor lacks its instructions.
    pub fn on_path(self, path: SimdPath) -> Result<Self, Error> {
        Ok(Self { path: path.require()?, ..self })
    }

    /// The same network on so many threads ([`MOST_THREADS`](crate::MOST_THREADS) at most), the caller's among them; the bytes stay the same.
    ///
    /// Two of them compute the online and the target network at the same time. Give no more threads than there are idle processors.
    ///
    /// # Errors
    ///
    /// [`Error::Threads`] for no thread, or where the system starts none.
    pub fn on_threads(self, threads: usize) -> Result<Self, Error> {
        Ok(Self { pool: ThreadPool::new(threads)?, ..self })
    }

    /// The network that acts and learns.
    pub fn online(&self) -> &Mlp {
        &self.online.network
    }

    /// The gradients of the last update, or of its first half, laid out as [`Mlp::parameters`].
    pub fn gradients(&self) -> &[f32] {
        &self.online.gradients
    }

    /// The first half of an [update](DqnUpdate::update): returns the loss and leaves its [gradients](Self::gradients).
    ///
    /// # Errors
    ///
    /// As of an update.
    pub fn compute_gradients(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(dispatch(self.path, Update { dqn: self, minibatch: &minibatch, windows: None, step: false }))
    }

    /// The values of all actions for each of any number of observations, (rows, observation length); written to `values`,
    /// (rows, actions). A row has the bytes of [`q_values`](DqnUpdate::q_values).
    ///
    /// # Errors
    ///
    /// Those of [`Mlp::evaluate`].
    pub fn values_of(&mut self, observations: &[f32], values: &mut [f32]) -> Result<(), Error> {
        if observations.len() == self.sizes.observation {
            check_len("outputs", self.sizes.actions, values.len())?;
            values.copy_from_slice(self.q_values(observations)?);
            return Ok(());
        }
        self.online.network.evaluate_on(self.path, observations, values)
    }

    /// The second half of an update: one step of the optimiser with these gradients, laid out as [`Mlp::parameters`].
    ///
    /// # Errors
    ///
    /// [`Error::Len`] where they are not as many as the parameters.
    pub fn apply_gradients(&mut self, gradients: &[f32]) -> Result<(), Error> {
        self.online.apply(gradients)
    }

    #[inline(always)]
    fn update_with<S: Simd>(
        &mut self,
        simd: S,
        minibatch: &Minibatch<'_>,
        windows: Option<Windows<'_>>,
        step: bool,
    ) -> f32 {
        let Self { online, target, target_activations, pool, .. } = self;
        let (network, activations) = (&mut online.network, &mut online.activations);
        Processor::new(simd, pool.as_ref()).join(
            Forward { network, inputs: minibatch.observations, activations },
            Forward { network: target, inputs: minibatch.next_observations, activations: target_activations },
        );
        let loss = self.loss(minibatch, windows);
        self.online.backward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        if step {
            self.online.step(simd);
        }
        loss
    }

    #[inline(always)]
    fn mean_value_with<S: Simd>(&mut self, simd: S, minibatch: &Minibatch<'_>) -> f32 {
        self.online.forward(Processor::new(simd, self.pool.as_ref()), minibatch.observations);
        let (values, width) = (self.online.activations.output(), self.online.activations.width());
        let taken = minibatch.actions.iter().enumerate();
        let sum: f64 = taken.map(|(row, &action)| f64::from(values[action as usize * width + row])).sum();
        (sum / self.sizes.batch as f64) as f32
    }

    /// Writes the loss's gradient with respect to the online outputs and returns the loss.
    fn loss(&mut self, minibatch: &Minibatch<'_>, mut windows: Option<Windows<'_>>) -> f32 {
        let width = self.online.activations.width();
        let scale = 2.0 / self.sizes.batch as f32;
        let mut sum = 0.0_f64;
        let (values, next_values) = (self.online.activations.output(), self.target_activations.output());
        let errors = self.online.errors.output_mut();
        errors.fill(0.0);
        for row in 0..self.sizes.batch {
            let chosen = minibatch.actions[row] as usize * width + row;
            let best = largest(next_values[row..].iter().step_by(width));
            let discount = windows.as_ref().map_or(self.gamma, |windows| windows.discounts[row]);
            let target = minibatch.rewards[row] + discount * best * (1.0 - minibatch.terminations[row]);
            let difference = values[chosen] - target;
            let mut weighed = difference;
            if let Some(windows) = &mut windows {
                windows.errors[row] = difference;
                weighed *= windows.weights[row];
            }
            errors[chosen] = scale * weighed;
            sum += f64::from(weighed * difference);
        }
        (sum / self.sizes.batch as f64) as f32
    }
}

impl DqnUpdate for DenseDqn {
    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn first_not_finite(&self) -> Option<String> {
        self.online().first_not_finite("")
    }

    fn q_values(&mut self, observation: &[f32]) -> Result<&[f32], Error> {
        self.sizes.check_row(observation)?;
        dispatch(self.path, Act { dqn: self, observation });
        Ok(self.row_activations.output())
    }

    fn mean_value(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(dispatch(self.path, MeanValue { dqn: self, minibatch: &minibatch }))
    }

    fn update(&mut self, minibatch: Minibatch<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        Ok(dispatch(self.path, Update { dqn: self, minibatch: &minibatch, windows: None, step: true }))
    }

    fn update_target(&mut self, tau: f64) {
        if tau == 1.0 {
            self.target.parameters_mut().copy_from_slice(self.online.network.parameters());
        } else {
            dispatch(self.path, MoveTarget { dqn: self, tau: tau as f32 });
        }
    }

    fn largest_target_difference(&self) -> f32 {
        largest_difference(self.target.parameters(), self.online().parameters())
    }

    fn windowed(&mut self) -> Option<&mut dyn WindowedDqnUpdate> {
        Some(self)
    }
}

impl WindowedDqnUpdate for DenseDqn {
    fn gamma(&self) -> f32 {
        self.gamma
    }

    fn update_windows(&mut self, minibatch: Minibatch<'_>, windows: Windows<'_>) -> Result<f32, Error> {
        self.sizes.check_minibatch(&minibatch)?;
        self.sizes.check_windows(&windows)?;
        let windows = Some(windows);
        Ok(dispatch(self.path, Update { dqn: self, minibatch: &minibatch, windows, step: true }))
    }
}

impl NetworkState for DenseDqn {
    fn visit_state(&mut self, visit: &mut Visit<'_>) -> Result<(), Error> {
        self.online.visit_state("online", visit);
        visit("target", Numbers::F32(self.target.parameters_mut()));
        Ok(())
    }
}

struct Act<'a> {
    dqn: &'a mut DenseDqn,
    observation: &'a [f32],
}

impl Work for Act<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.dqn.online.network.forward_row(simd, self.observation, &mut self.dqn.row_activations);
    }
}

/// What a network says of a minibatch, which one thread computes from end to end.
struct Forward<'a> {
    network: &'a mut Mlp,
    inputs: &'a [f32],
    activations: &'a mut Activations,
}

impl Work for Forward<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.network.forward(Processor::one_thread(simd), self.inputs, self.activations);
    }
}

struct MeanValue<'a> {
    dqn: &'a mut DenseDqn,
    minibatch: &'a Minibatch<'a>,
}

impl Work for MeanValue<'_> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        self.dqn.mean_value_with(simd, self.minibatch)
    }
}

struct Update<'a> {
    dqn: &'a mut DenseDqn,
    minibatch: &'a Minibatch<'a>,
    /// What the minibatch's transitions span and count, where they are not single steps drawn uniformly.
    windows: Option<Windows<'a>>,
    /// Whether the gradients are followed by a step.
    step: bool,
}

impl Work for Update<'_> {
    type Done = f32;

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) -> f32 {
        self.dqn.update_with(simd, self.minibatch, self.windows, self.step)
    }
}

struct MoveTarget<'a> {
    dqn: &'a mut DenseDqn,
    tau: f32,
}

impl Work for MoveTarget<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        let DenseDqn { online, target, .. } = self.dqn;
        approach(simd, target.parameters_mut(), online.network.parameters(), self.tau);
    }
}

/// The largest magnitude of a difference; a NaN, once met, is kept.
pub(crate) fn largest_difference(target: &[f32], online: &[f32]) -> f32 {
    let differences = target.iter().zip(online).map(|(target, online)| (target - online).abs());
    differences.fold(0.0, |largest, each| if each > largest || each.is_nan() { each } else { largest })
}

/// The largest value, compared and selected; a NaN, once met, is kept.
#[inline(always)]
fn largest<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    values
        .copied()
        .reduce(|best, value| if value > best || value.is_nan() { value } else { best })
        .unwrap_or(f32::NAN)
}
