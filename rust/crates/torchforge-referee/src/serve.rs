//! The conversation: ready, then an answer to each order until stdin ends.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use crate::answer::{Answer, done};
use crate::order::Order;
use crate::{Error, Window, Work};

/// Serves these cases until `orders` ends. Outputs go to `output`/case/repetition.
///
/// # Errors
///
/// An order that is none, a case that was not handed over, work that fails, a file that cannot be written, a closed
/// stdout.
pub fn serve<'a>(
    cases: Vec<(String, Box<dyn Work + 'a>)>,
    orders: impl BufRead,
    mut answers: impl Write,
    output: Option<&Path>,
) -> Result<(), Error> {
    let mut cases: BTreeMap<String, Box<dyn Work + 'a>> = cases.into_iter().collect();
    let ready = Instant::now();
    Answer::Ready.say(&mut answers)?;
    for line in orders.lines() {
        let line = line?;
        let heard = Instant::now();
        match Order::read(&line)? {
            Order::Go { case, nonce, first, repetitions, seed } => {
                let window = Window { nonce, first, repetitions, seed, ready, heard };
                let round = named(&mut cases, &case)?.round(&window)?;
                done(&mut answers, &case, &round, heard)?;
            }
            Order::Outputs { case, nonce, repetitions } => {
                let folder = output.ok_or(Error::NoFolder)?.join(&case);
                let work = named(&mut cases, &case)?;
                for repetition in repetitions {
                    let folder = folder.join(repetition.to_string());
                    fs::create_dir_all(&folder)
                        .map_err(|error| Error::Write { path: folder.clone(), error })?;
                    work.outputs(nonce, repetition, &folder)?;
                }
                Answer::Written { case: &case }.say(&mut answers)?;
            }
        }
    }
    Ok(())
}

fn named<'a, 'w>(
    cases: &'a mut BTreeMap<String, Box<dyn Work + 'w>>,
    case: &str,
) -> Result<&'a mut (dyn Work + 'w), Error> {
    match cases.get_mut(case) {
        Some(work) => Ok(work.as_mut()),
        None => Err(Error::Case(case.into())),
    }
}
