//! A whole training with nothing given: no case, no inputs, no runner; its result is for people.
//!
//! What `docker run forge-bench:edge dqn` shows. There is no gate here, so no figure of it is ever ranked.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use torchforge_nn::SimdPath;
use torchforge_rl::DqnOptions;

use crate::environment::discrete;
use crate::memory::Memory;
use crate::protocol::print_line;
use crate::training::{Agent, Made, failed};
use crate::{Backend, Failure, dqn};

const ENVIRONMENT: &str = "CartPole-v1";
/// Episodes at the end over which returns are averaged, as matrix.yaml has it.
const LAST_EPISODES: usize = 100;
/// Steps between two looks at the clock for the progress.
const PROGRESS_STEPS: u64 = 1024;
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// What a training with nothing given may still be told.
#[derive(Debug, Clone, Copy)]
pub struct Standalone {
    /// Seed of the training.
    pub seed: u64,
    /// Environment steps.
    pub steps: NonZeroU64,
    /// The instructions to use instead of the processor's best.
    pub simd: Option<SimdPath>,
}

impl Default for Standalone {
    /// The whole training, as CleanRL has it.
    fn default() -> Self {
        let steps = NonZeroU64::new(DqnOptions::default().steps).expect("a training has steps");
        Self { seed: 1, steps, simd: None }
    }
}

/// Trains DQN on CartPole-v1 and prints a Markdown table.
pub(crate) fn run(asked: Standalone) -> Result<(), Failure> {
    let steps = asked.steps.get();
    let options = DqnOptions { steps, ..DqnOptions::default() };
    let environment = discrete(ENVIRONMENT).expect("CartPole has discrete actions");
    let path = asked.simd.unwrap_or_else(SimdPath::detect);
    let Made { mut agent, .. } = dqn::agent(environment, options, asked.seed, Backend::Own(path))
        .map_err(|e| failed(ENVIRONMENT, &e))?;
    let mut episodes = Vec::new();

    let started = Instant::now();
    let mut told = started;
    while agent.environment_steps() < steps {
        agent.advance(&mut episodes).map_err(|e| failed(ENVIRONMENT, &e))?;
        if agent.environment_steps().is_multiple_of(PROGRESS_STEPS) && told.elapsed() >= PROGRESS_INTERVAL {
            told = Instant::now();
            let (done, total) = (grouped(agent.environment_steps()), grouped(steps));
            eprintln!("torchforge: {done} of {total} environment steps");
        }
    }
    let seconds = started.elapsed().as_secs_f64();

    let returns: Vec<f64> = episodes.iter().map(|episode| episode.total_reward).collect();
    let last = &returns[returns.len().saturating_sub(LAST_EPISODES)..];
    let rows = [
        ("environment", ENVIRONMENT.to_owned()),
        ("seed", asked.seed.to_string()),
        ("environment steps", grouped(agent.environment_steps())),
        ("gradient steps", grouped(agent.gradient_steps())),
        ("instructions", path.to_string()),
        ("training", format!("{seconds:.2} s")),
        ("environment steps a second", grouped((steps as f64 / seconds) as u64)),
        ("episodes", grouped(returns.len() as u64)),
        (
            "mean return of the last 100 episodes",
            mean(last).map_or("none ended".into(), |m| format!("{m:.2}")),
        ),
        ("peak memory", Memory::now().vmhwm_bytes().map_or("unknown".into(), mebibytes)),
    ];
    print_line(&table("DQN", &rows))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// A Markdown table whose columns are as wide as their widest cell.
fn table(title: &str, rows: &[(&str, String)]) -> String {
    let left = rows.iter().map(|(name, _)| name.len()).chain([title.len()]).max().unwrap_or(0);
    let right = rows.iter().map(|(_, value)| value.len()).chain(["torchforge".len()]).max().unwrap_or(0);
    let mut lines = vec![
        format!("| {title:left$} | {:>right$} |", "torchforge"),
        format!("|:{:-<left$}-|-{:-<right$}:|", "", ""),
    ];
    lines.extend(rows.iter().map(|(name, value)| format!("| {name:left$} | {value:>right$} |")));
    lines.join("\n")
}

/// A whole number with its thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let expected = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in expected {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_table_has_lines_of_one_width() {
        let text = table("DQN", &[("seed", "1".into()), ("environment", "CartPole-v1".into())]);
        let widths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(widths, [29; 4], "{text}");
    }

    #[test]
    fn no_episode_has_no_mean() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 2.0]), Some(1.5));
    }
}
