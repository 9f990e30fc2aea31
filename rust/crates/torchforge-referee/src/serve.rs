//! The conversation: ready, then an answer to each order until stdin ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::digest::digest;
use crate::order::Order;
use crate::{Error, Memory, Operation, number};

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Answer<'a> {
    Ready,
    Done {
        case: &'a str,
        metrics: BTreeMap<&'static str, Vec<f64>>,
        counts: BTreeMap<&'static str, u64>,
        digests: Vec<String>,
        memory: Memory,
        between_seconds: f64,
    },
    Written {
        case: &'a str,
    },
}

/// Serves these cases until `orders` ends. Outputs go to `output`/case/repetition.
///
/// # Errors
///
/// An order that is none, a case that was not handed over, a file that cannot be written, a closed stdout.
pub fn serve(
    cases: Vec<(String, Box<dyn Operation>)>,
    orders: impl BufRead,
    mut answers: impl Write,
    output: Option<&Path>,
) -> Result<(), Error> {
    let mut cases: BTreeMap<String, Box<dyn Operation>> = cases.into_iter().collect();
    answer(&mut answers, &Answer::Ready)?;
    for line in orders.lines() {
        let line = line?;
        let heard = Instant::now();
        let order: Order = serde_json::from_str(&line).map_err(|error| Error::Order(error.to_string()))?;
        match order {
            Order::Go { case, nonce, repetitions } => {
                let operation = named(&mut cases, &case)?;
                let done = round(&case, operation, nonce, repetitions, heard);
                answer(&mut answers, &done)?;
            }
            Order::Outputs { case, nonce, repetitions } => {
                let folder = output.ok_or(Error::NoFolder)?.join(&case);
                let operation = named(&mut cases, &case)?;
                for repetition in repetitions {
                    prepare(operation, nonce, repetition);
                    operation.run();
                    let folder = folder.join(repetition.to_string());
                    fs::create_dir_all(&folder)
                        .map_err(|error| Error::Write { path: folder.clone(), error })?;
                    operation.write(&folder)?;
                }
                answer(&mut answers, &Answer::Written { case: &case })?;
            }
        }
    }
    Ok(())
}

fn named<'a>(
    cases: &'a mut BTreeMap<String, Box<dyn Operation>>,
    case: &str,
) -> Result<&'a mut dyn Operation, Error> {
    match cases.get_mut(case) {
        Some(operation) => Ok(operation.as_mut()),
        None => Err(Error::Case(case.into())),
    }
}

/// One round: each repetition prepared, timed and digested.
fn round<'a>(
    case: &'a str,
    operation: &mut dyn Operation,
    nonce: u64,
    repetitions: u64,
    heard: Instant,
) -> Answer<'a> {
    let (mut seconds, mut digests, mut timed) = (Vec::new(), Vec::new(), 0.0);
    for repetition in 0..repetitions {
        prepare(operation, nonce, repetition);
        let start = Instant::now();
        operation.run();
        let elapsed = start.elapsed().as_secs_f64();
        timed += elapsed;
        seconds.push(elapsed / operation.calls() as f64);
        digests.push(digest(operation, nonce, repetition));
    }
    Answer::Done {
        case,
        metrics: BTreeMap::from([("seconds", seconds)]),
        counts: operation.counts().into_iter().collect(),
        digests,
        memory: Memory::now(),
        between_seconds: (heard.elapsed().as_secs_f64() - timed).max(0.0),
    }
}

fn prepare(operation: &mut dyn Operation, nonce: u64, repetition: u64) {
    let calls = operation.calls() as u64;
    let first = repetition * calls;
    let numbers: Vec<u64> = (first..first + calls).map(|index| number(nonce, 0, index)).collect();
    operation.prepare(&numbers);
}

fn answer(answers: &mut impl Write, line: &Answer<'_>) -> Result<(), Error> {
    let text = serde_json::to_string(line).expect("an answer of numbers and names is valid JSON");
    writeln!(answers, "{text}")?;
    Ok(answers.flush()?)
}
