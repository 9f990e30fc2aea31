//! What an algorithm learns with, under CleanRL's names of it.

use std::num::NonZeroUsize;

use torchforge_nn::{PpoLossOptions, SacLossOptions, Temperature};
use torchforge_rl::cleanrl::SAC_HIDDEN;
use torchforge_rl::{DqnOptions, GaeOptions, PpoOptions, SacOptions};

use super::Algorithm;
use crate::Failure;
use crate::arguments::{parsed, widths};

/// CleanRL's temperature where it is fixed and nobody says at what.
const ALPHA: f64 = 0.2;

/// An algorithm's options: CleanRL's, where no flag says otherwise.
#[derive(Debug, Clone, Copy)]
pub enum Tuning {
    /// Of deep Q-learning.
    Dqn(DqnOptions),
    /// Of proximal policy optimisation: the environment decides what they change.
    Ppo(PpoTuning),
    /// Of the soft actor-critic.
    Sac {
        /// Its schedule.
        options: SacOptions,
        /// Its updates.
        loss: SacLossOptions,
        /// Widths of the networks' hidden layers.
        hidden: [usize; 2],
        /// `--alpha`.
        alpha: Option<f64>,
    },
}

impl Tuning {
    pub(super) fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Dqn => Self::Dqn(DqnOptions { trace: true, ..DqnOptions::default() }),
            Algorithm::Ppo => Self::Ppo(PpoTuning::default()),
            Algorithm::Sac => Self::Sac {
                options: SacOptions { trace: true, ..SacOptions::default() },
                loss: SacLossOptions::default(),
                hidden: SAC_HIDDEN,
                alpha: None,
            },
        }
    }

    /// Obeys a flag; says whether the algorithm has it.
    pub(super) fn obey(&mut self, flag: &str, parser: &mut lexopt::Parser) -> Result<bool, Failure> {
        match (self, flag) {
            (Self::Dqn(options), "tau") => options.tau = parsed(parser)?,
            (Self::Dqn(options), "n-step") => options.n_step = parsed(parser)?,
            (Self::Dqn(DqnOptions { priorities, .. }), "prioritised" | "alpha" | "beta") => {
                let priorities = priorities.get_or_insert_default();
                match flag {
                    "alpha" => priorities.of_errors.alpha = parsed(parser)?,
                    "beta" => priorities.first_beta = parsed(parser)?,
                    _ => {}
                }
            }
            (Self::Ppo(tuning), "gamma") => tuning.gamma = Some(parsed(parser)?),
            (Self::Ppo(tuning), "learning-rate") => tuning.learning_rate = Some(parsed(parser)?),
            (Self::Ppo(tuning), "target-kl") => tuning.target_kl = Some(parsed(parser)?),
            (Self::Ppo(tuning), "anneal-lr" | "no-anneal-lr") => {
                tuning.anneal_learning_rate = Some(flag == "anneal-lr");
            }
            (Self::Ppo(tuning), "norm-adv" | "no-norm-adv") => {
                tuning.normalise_advantages = Some(flag == "norm-adv");
            }
            (Self::Ppo(tuning), "clip-vloss" | "no-clip-vloss") => {
                tuning.clip_values = Some(flag == "clip-vloss");
            }
            (Self::Sac { loss, .. }, "tau") => loss.tau = parsed(parser)?,
            (Self::Sac { loss, .. }, "autotune") => loss.temperature = Temperature::Learnt,
            (Self::Sac { loss, .. }, "no-autotune") => loss.temperature = Temperature::Fixed(ALPHA),
            (Self::Sac { hidden, .. }, "hidden") => *hidden = widths(parser)?,
            (Self::Sac { options, .. }, "batch") => options.batch = parsed::<NonZeroUsize>(parser)?.get(),
            (Self::Sac { alpha, .. }, "alpha") => *alpha = Some(parsed(parser)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The whole, once every flag was obeyed.
    pub(super) fn whole(mut self) -> Result<Self, Failure> {
        if let Self::Sac { loss, alpha: Some(alpha), .. } = &mut self {
            if loss.temperature == Temperature::Learnt {
                let fault = "--alpha is of a temperature that is not learnt; give --no-autotune beside it";
                return Err(Failure::Usage(fault.into()));
            }
            loss.temperature = Temperature::Fixed(*alpha);
        }
        Ok(self)
    }
}

/// What PPO was told, over the defaults of discrete or of continuous actions.
#[derive(Debug, Clone, Copy, Default)]
pub struct PpoTuning {
    gamma: Option<f64>,
    learning_rate: Option<f64>,
    target_kl: Option<f64>,
    anneal_learning_rate: Option<bool>,
    normalise_advantages: Option<bool>,
    clip_values: Option<bool>,
}

impl PpoTuning {
    /// The options, with what was told instead of theirs.
    pub(super) fn over(self, own: PpoOptions, loss: PpoLossOptions) -> (PpoOptions, PpoLossOptions) {
        let options = PpoOptions {
            gae: GaeOptions { gamma: self.gamma.unwrap_or(own.gae.gamma), ..own.gae },
            learning_rate: self.learning_rate.unwrap_or(own.learning_rate),
            target_kl: self.target_kl.or(own.target_kl),
            anneal_learning_rate: self.anneal_learning_rate.unwrap_or(own.anneal_learning_rate),
            trace: true,
            ..own
        };
        let loss = PpoLossOptions {
            normalise_advantages: self.normalise_advantages.unwrap_or(loss.normalise_advantages),
            clip_values: self.clip_values.unwrap_or(loss.clip_values),
            ..loss
        };
        (options, loss)
    }
}
