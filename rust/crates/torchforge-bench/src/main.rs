//! The `torchforge` command.

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let started = Instant::now();
    match torchforge_bench::run(std::env::args_os().skip(1), started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("torchforge: {failure}");
            failure.exit_code()
        }
    }
}
