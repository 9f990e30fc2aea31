//! The `torchforge` command.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;

fn main() -> ExitCode {
    let started = Instant::now();
    end_on_signals();
    match torchforge_bench::run(std::env::args_os().skip(1), started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("torchforge: {failure}");
            failure.exit_code()
        }
    }
}

/// As the first process of a container it would ignore what ends any other, so `docker stop` would wait ten seconds.
fn end_on_signals() {
    if std::process::id() != 1 {
        return;
    }
    for signal in [SIGINT, SIGTERM] {
        // Without a handler the signal is ignored, as before.
        let _ = register_conditional_shutdown(signal, 128 + signal, Arc::new(AtomicBool::new(true)));
    }
}
