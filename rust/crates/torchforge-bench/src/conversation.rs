//! The conversation with a referee: its orders on stdin, the answers on stdout.

use torchforge_referee::{Work, serve};

use crate::{Arguments, Failure};

/// Answers a referee until its orders end.
pub(crate) fn answer<'a>(
    arguments: &Arguments,
    cases: Vec<(String, Box<dyn Work + 'a>)>,
) -> Result<(), Failure> {
    // Whatever prints progress meanwhile does so on this thread, which holds the lock already.
    let (orders, answers) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(serve(cases, orders, answers, arguments.output.as_deref())?)
}
