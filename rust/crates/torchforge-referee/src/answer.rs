//! What is said to the referee, a line of JSON each.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use serde::Serialize;

use crate::{Error, Figure, Memory, Round};

/// An answer.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Answer<'a> {
    /// Everything is read and made that no order decides.
    Ready,
    /// The window closes; what was spent between the timed parts follows.
    Done {
        case: &'a str,
        metrics: &'a BTreeMap<&'static str, Figure>,
        counts: &'a BTreeMap<&'static str, u64>,
        digests: Vec<String>,
        memory: Memory,
    },
    /// The files lie where they belong.
    Written { case: &'a str },
}

impl Answer<'_> {
    pub(crate) fn say(&self, answers: &mut impl Write) -> Result<(), Error> {
        line(answers, &self.text())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("an answer of numbers and names is valid JSON")
    }
}

/// Closes a window that opened when its order was heard. What is spent on the text belongs to what is claimed.
pub(crate) fn done(answers: &mut impl Write, case: &str, round: &Round, heard: Instant) -> Result<(), Error> {
    let Round { metrics, counts, digests, memory, timed_seconds } = round;
    let digests = digests.iter().map(ToString::to_string).collect();
    let text = Answer::Done { case, metrics, counts, digests, memory: *memory }.text();
    let open = text.strip_suffix('}').expect("an answer is an object");
    let between = (heard.elapsed().as_secs_f64() - timed_seconds).max(0.0);
    line(answers, &format!(r#"{open},"between_seconds":{between}}}"#))
}

fn line(answers: &mut impl Write, text: &str) -> Result<(), Error> {
    writeln!(answers, "{text}")?;
    Ok(answers.flush()?)
}
