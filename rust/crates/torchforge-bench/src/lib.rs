//! What the `torchforge` command is made of: the benchmarks as implementations for the forge-bench runner.
//!
//! ```
//! use torchforge_bench::{Arguments, Command};
//!
//! let words = ["gae", "--case", "T=8", "--parameters", r#"{"length": 8}"#, "--seed", "1", "--input", "in"];
//! let Command::Gae(arguments) = Command::parse(words)? else { unreachable!() };
//! let Arguments { cases, seed, .. } = arguments;
//! assert_eq!((cases[0].id.as_str(), seed), ("T=8", 1));
//! # Ok::<(), torchforge_bench::Failure>(())
//! ```
//!
//! An implementation prints JSON Lines on stdout as `measurement.schema.json` describes them, and
//! nothing else; it writes what it computed below its output folder.

#![forbid(unsafe_code)]
#![allow(clippy::missing_errors_doc, reason = "a command: its errors are read by its caller")]

mod act;
mod action_log;
mod allocator;
mod arguments;
mod backend;
mod buffer_push;
mod buffer_sample;
mod continuous_ppo;
mod conversation;
mod covered;
mod dqn;
mod env_step;
mod environment;
mod evaluation;
mod failure;
mod files;
mod gae;
mod grpo;
mod metrics;
mod nn_act;
mod npy;
mod operation;
#[cfg(feature = "oracle")]
mod oracle;
mod parity;
mod pipeline;
mod ppo;
mod protocol;
mod replay;
mod sac;
mod standalone;
mod table;
mod tape;
mod token_kl;
mod training;
mod transitions;
mod update;
mod version;

pub use arguments::{Arguments, Case, Command, cap_instructions};
pub use backend::{Backend, Kernels};
pub use dqn::run_in as run_dqn_in;
pub use evaluation::Evaluation;
pub use failure::Failure;
pub use ppo::run_in as run_ppo_in;
pub use replay::Replay;
pub use sac::run_in as run_sac_in;
pub use standalone::{Algorithm, Standalone};
pub use version::version;

use std::time::Instant;

/// Runs the command whose words follow the program's name. `started` is the process's beginning.
pub fn run(
    words: impl IntoIterator<Item = impl Into<std::ffi::OsString>>,
    started: Instant,
) -> Result<(), Failure> {
    match Command::parse(words)? {
        Command::Help => protocol::print_line(arguments::USAGE),
        Command::Version => protocol::print_line(&version()),
        Command::Gae(arguments) => gae::run(&arguments),
        Command::Grpo(arguments) => grpo::run(&arguments),
        Command::TokenKl(arguments) => token_kl::run(&arguments),
        Command::BufferPush(arguments) => buffer_push::run(&arguments),
        Command::BufferSample(arguments) => buffer_sample::run(&arguments),
        Command::Pipeline(arguments) => pipeline::run(&arguments),
        Command::EnvStep(arguments) => env_step::run(&arguments),
        Command::Update(arguments) => update::run(&arguments),
        Command::Act(arguments) => act::run(&arguments),
        Command::NnAct(arguments) => nn_act::run(&arguments),
        Command::Dqn(arguments) => dqn::run(&arguments, started),
        Command::Ppo(arguments) => ppo::run(&arguments, started),
        Command::Sac(arguments) => sac::run(&arguments, started),
        Command::Standalone(asked) => standalone::run(&asked),
        Command::Evaluate(asked) => evaluation::run(&asked),
        Command::Replay(asked) => replay::run(&asked),
        #[cfg(feature = "oracle")]
        Command::Oracle { of, input, output } => oracle::run(of, &input, &output),
        #[cfg(not(feature = "oracle"))]
        Command::Oracle { .. } => Err(Failure::Usage(
            "this torchforge was compiled without its oracle; compile it with --features oracle".into(),
        )),
        Command::Sleep => loop {
            std::thread::park();
        },
    }
}
