//! What an algorithm learns with, under CleanRL's names of it.

use torchforge_nn::{PpoLossOptions, SacLossOptions, Temperature};
use torchforge_rl::{DqnOptions, PpoOptions, SacOptions};

use super::Algorithm;
use crate::Failure;
use crate::arguments::parsed;

/// CleanRL's temperature where it is fixed and nobody says at what.
const ALPHA: f64 = 0.2;

/// An algorithm's options: CleanRL's, where no flag says otherwise.
#[derive(Debug, Clone, Copy)]
pub enum Tuning {
    /// Of deep Q-learning.
    Dqn(DqnOptions),
    /// Of proximal policy optimisation.
    Ppo(PpoOptions, PpoLossOptions),
    /// Of the soft actor-critic.
    Sac {
        /// Its schedule.
        options: SacOptions,
        /// Its updates.
        loss: SacLossOptions,
        /// `--alpha`.
        alpha: Option<f64>,
    },
}

impl Tuning {
    pub(super) fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Dqn => Self::Dqn(DqnOptions { trace: true, ..DqnOptions::default() }),
            Algorithm::Ppo => {
                Self::Ppo(PpoOptions { trace: true, ..PpoOptions::default() }, PpoLossOptions::default())
            }
            Algorithm::Sac => Self::Sac {
                options: SacOptions { trace: true, ..SacOptions::default() },
                loss: SacLossOptions::default(),
                alpha: None,
            },
        }
    }

    /// Obeys a flag; says whether the algorithm has it.
    pub(super) fn obey(&mut self, flag: &str, parser: &mut lexopt::Parser) -> Result<bool, Failure> {
        match (self, flag) {
            (Self::Dqn(options), "tau") => options.tau = parsed(parser)?,
            (Self::Ppo(options, _), "target-kl") => options.target_kl = Some(parsed(parser)?),
            (Self::Ppo(options, _), "anneal-lr" | "no-anneal-lr") => {
                options.anneal_learning_rate = flag == "anneal-lr";
            }
            (Self::Ppo(_, loss), "norm-adv" | "no-norm-adv") => {
                loss.normalise_advantages = flag == "norm-adv";
            }
            (Self::Ppo(_, loss), "clip-vloss" | "no-clip-vloss") => loss.clip_values = flag == "clip-vloss",
            (Self::Sac { loss, .. }, "tau") => loss.tau = parsed(parser)?,
            (Self::Sac { loss, .. }, "autotune") => loss.temperature = Temperature::Learnt,
            (Self::Sac { loss, .. }, "no-autotune") => loss.temperature = Temperature::Fixed(ALPHA),
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
