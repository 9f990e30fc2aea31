//! A critic beside its target, and what there is to be done with two of them.

use crate::kernels::approach;
use crate::learner::Learner;
use crate::mlp::Activations;
use crate::processor::Processor;
use crate::simd::{Simd, Work};
use crate::{AdamOptions, Mlp};

/// A critic and its target, which one thread computes from end to end.
pub(super) struct Critic {
    pub(super) learner: Learner,
    pub(super) target: Mlp,
    pub(super) target_activations: Activations,
    /// The gradient with respect to the actions; (action length, width).
    pub(super) action_errors: Vec<f32>,
}

/// What there is to be done with both critics, neither of which needs the other for it.
#[derive(Clone, Copy)]
pub(super) enum CriticTask<'a> {
    /// Values of these inputs, and the target's of those that follow.
    Compare { inputs: &'a [f32], next_inputs: &'a [f32] },
    /// Gradients of the parameters from the errors of the values of these inputs, and a step where one is wanted.
    Learn { inputs: &'a [f32], step: bool },
    /// Values of these inputs.
    Judge { inputs: &'a [f32] },
    /// The gradient with respect to the actions, which lie behind an observation, from the errors of their values.
    PassBack { observation_len: usize },
    /// Moves the target towards the critic by this rate.
    MoveTarget { tau: f32 },
}

impl Critic {
    /// A critic of these networks, which have the same sizes, for `batch` rows.
    pub(super) fn new(network: Mlp, target: Mlp, adam: AdamOptions, batch: usize, action_len: usize) -> Self {
        let target_activations = target.activations(batch);
        Self {
            learner: Learner::new(network, adam, batch),
            action_errors: vec![0.0; action_len * target_activations.width()],
            target_activations,
            target,
        }
    }

    #[inline(always)]
    fn compute<S: Simd>(&mut self, simd: S, task: CriticTask<'_>) {
        let Self { learner, target, target_activations, action_errors } = self;
        let alone = Processor::one_thread(simd);
        match task {
            CriticTask::Compare { inputs, next_inputs } => {
                target.forward(alone, next_inputs, target_activations);
                learner.forward(alone, inputs);
            }
            CriticTask::Learn { inputs, step } => {
                learner.backward(alone, inputs);
                if step {
                    learner.step(simd);
                }
            }
            CriticTask::Judge { inputs } => learner.forward(alone, inputs),
            CriticTask::PassBack { observation_len } => {
                let (activations, errors) = (&learner.activations, &mut learner.errors);
                let actions = observation_len..learner.network.inputs();
                learner.network.backward_to_inputs(alone, activations, errors, actions, action_errors);
            }
            CriticTask::MoveTarget { tau } => {
                approach(simd, target.parameters_mut(), learner.network.parameters(), tau);
            }
        }
    }
}

struct ComputeCritic<'a> {
    critic: &'a mut Critic,
    task: CriticTask<'a>,
}

impl Work for ComputeCritic<'_> {
    type Done = ();

    #[inline(always)]
    fn with<S: Simd>(self, simd: S) {
        self.critic.compute(simd, self.task);
    }
}

/// Each critic on a thread of its own, where there are two.
#[inline(always)]
pub(super) fn with_both<S: Simd>(
    processor: Processor<'_, S>,
    critics: &mut [Critic; 2],
    task: CriticTask<'_>,
) {
    let simd = processor.simd;
    processor.each(critics.iter_mut(), |critic| simd.run(ComputeCritic { critic, task }));
}
