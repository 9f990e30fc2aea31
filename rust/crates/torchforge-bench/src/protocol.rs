//! The lines on stdout: `runner/schemas/measurement.schema.json`.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Failure;
use torchforge_referee::{Figure, Memory};

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    Progress {
        done: u64,
        total: u64,
        unit: &'a str,
    },
    Measurement {
        case: &'a str,
        metrics: BTreeMap<&'static str, Figure>,
        counts: BTreeMap<&'static str, u64>,
        memory: Memory,
    },
}

/// Prints the measurement of a case.
pub(crate) fn measurement(
    case: &str,
    memory: Memory,
    metrics: BTreeMap<&'static str, Figure>,
    counts: BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    print(&Event::Measurement { case, metrics, counts, memory })
}

/// Tells how far the work is, at most once a second.
pub(crate) struct Progress {
    total: u64,
    unit: &'static str,
    printed: Instant,
}

impl Progress {
    pub(crate) fn new(total: u64, unit: &'static str) -> Self {
        Self { total, unit, printed: Instant::now() }
    }

    pub(crate) fn done(&mut self, done: u64) -> Result<(), Failure> {
        if self.printed.elapsed() < Duration::from_secs(1) {
            return Ok(());
        }
        self.printed = Instant::now();
        print(&Event::Progress { done, total: self.total, unit: self.unit })
    }
}

fn print(event: &Event<'_>) -> Result<(), Failure> {
    print_line(&serde_json::to_string(event).expect("an event of numbers and names is valid JSON"))
}

/// Prints one line, whole, at once.
pub(crate) fn print_line(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(Failure::Output)
}
