//! `--simd` is for everything that a command computes. It holds for the whole process: so it has a test program of its own.

use torchforge_bench::Command;
use torchforge_nn::SimdPath;

#[test]
fn nothing_leaves_the_instructions_that_were_asked_for() {
    for words in [&["gae", "--simd"][..], &["sac", "--simd", "sse9"]] {
        assert!(Command::parse(words).is_err());
    }
    let best = SimdPath::detect();
    Command::parse(["sac", "--simd", &best.to_string()]).unwrap();
    assert_eq!(SimdPath::detect(), best);
    Command::parse(["sac", "--simd", "portable"]).unwrap();
    assert_eq!(
        SimdPath::detect(),
        SimdPath::Portable,
        "which normal numbers and initialisations are computed by"
    );
}
