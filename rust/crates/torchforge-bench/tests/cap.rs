//! Whoever parses a command is held to the launch's cap on instructions: not the program alone, but a library beside it.

use std::env;
use std::process;

use torchforge_bench::Command;
use torchforge_nn::SimdPath;

/// In a process of its own, because a cap holds for the whole of it.
#[test]
fn a_command_that_a_library_parses_is_capped_as_the_programs() {
    if let Ok(cap) = env::var("FORGE_BENCH_SIMD") {
        match Command::parse(["dqn"]) {
            Ok(_) => assert_eq!(SimdPath::detect().to_string(), cap),
            Err(failure) => assert!(cap == "sse9" && failure.code() == 2, "{failure}"),
        }
        return;
    }
    for cap in ["portable", "sse9"] {
        let here = env::current_exe().unwrap();
        let output = process::Command::new(here).env("FORGE_BENCH_SIMD", cap).output().unwrap();
        assert!(output.status.success(), "{cap}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
