//! Records which compiler made the binary, so that an image can be checked against its pins.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var_os("RUSTC").expect("cargo tells a build script its compiler");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler tells its version");
    let line = String::from_utf8(output.stdout).expect("a version in UTF-8");
    let version = line.split(' ').nth(1).expect("a line `rustc VERSION (...)`").trim();
    println!("cargo::rustc-env=TORCHFORGE_RUSTC={version}");
    println!("cargo::rustc-env=TORCHFORGE_TARGET={}", env::var("TARGET").expect("cargo names the target"));
    println!("cargo::rerun-if-changed=build.rs");
}
