//! Figures as TensorBoard's event files.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use syntaxdot_summary::SummaryWriter;

use super::{Metric, Record, Value};

/// What says how far a training is: of one environment, or of several.
const STEPS: [&str; 2] = ["environment_step", "environment_steps"];

/// A file of scalars, each at its environment step.
pub(super) struct Events {
    writer: SummaryWriter<BufWriter<File>>,
}

impl Events {
    /// Makes the folder and, beside those of other trainings, a file that TensorBoard knows by its name.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { writer: SummaryWriter::from_prefix(folder.join("events"))? })
    }
}

impl Record for Events {
    fn add(&mut self, metrics: &[Metric]) -> io::Result<()> {
        let step = metrics.iter().find_map(|&(name, value)| match value {
            Value::Count(step) if STEPS.contains(&name) => Some(step as i64),
            _ => None,
        });
        for &(name, value) in metrics {
            let number = match value {
                Value::Count(count) => count as f32,
                Value::Single(value) => value,
                Value::Double(value) => value as f32,
                Value::Absent => continue,
            };
            if !STEPS.contains(&name) {
                self.writer.write_scalar(name, step.unwrap_or_default(), number)?;
            }
        }
        Ok(())
    }

    /// Each scalar is in the file once it is written.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
