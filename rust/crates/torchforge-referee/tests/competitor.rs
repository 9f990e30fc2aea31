//! The example, as a process led by a referee's orders (`docs/protocol.md`).

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::{Value, json};
use torchforge_referee::{Digest, numbers};

const NONCE: u64 = 0x9f1e_2e6d_cd54_0ab7;
const X: [u64; 3] = [1, 2, u64::MAX];

/// `cargo test` builds it beside this test.
fn example() -> PathBuf {
    let here = env::current_exe().unwrap();
    let path = here.parent().and_then(|deps| deps.parent()).unwrap().join("examples/scramble");
    assert!(path.exists(), "{} is missing: cargo build --example scramble", path.display());
    path
}

/// What the calls of a repetition give, each of five steps.
fn scrambled(repetition: u64) -> Vec<u64> {
    let numbers = numbers(NONCE, repetition, 2).unwrap();
    let scramble =
        |&x: &u64, n: u64| (0..5).fold(x, |v, _| v.wrapping_mul(v.wrapping_mul(2).wrapping_add(n)));
    numbers.iter().flat_map(|n| X.iter().map(move |x| scramble(x, n | 1))).collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn digest(words: &[u64]) -> String {
    let mut digest = Digest::default();
    digest.bytes(&bytes(words));
    digest.to_string()
}

#[test]
fn the_example_computes_what_the_referee_asks_for() {
    let folder = env::temp_dir().join(format!("torchforge-referee-{}", std::process::id()));
    fs::create_dir_all(folder.join("in/three")).unwrap();
    fs::write(folder.join("in/three/x.npy"), [vec![0; 128], bytes(&X)].concat()).unwrap();
    let mut child = Command::new(example())
        .args(["--case", "three", "--parameters", r#"{"calls": 2, "length": 3, "steps": 5}"#, "--seed", "1"])
        .args(["--referee", "--output"])
        .arg(folder.join("out"))
        .arg("--input")
        .arg(folder.join("in"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let nonce = format!("{NONCE:016x}");
    let orders = [
        json!({"event": "go", "case": "three", "nonce": nonce, "first": 20, "repetitions": 2}),
        json!({"event": "outputs", "case": "three", "nonce": nonce, "repetitions": [21]}),
    ];
    let mut stdin = child.stdin.take().unwrap();
    orders.iter().for_each(|order| writeln!(stdin, "{order}").unwrap());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let file = fs::read(folder.join("out/three/21/y.npy")).unwrap();
    fs::remove_dir_all(&folder).unwrap();

    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said[1]["counts"], json!({"elements": 3}));
    assert_eq!(said[1]["metrics"]["seconds"].as_array().unwrap().len(), 2);
    assert_eq!(said[1]["digests"], json!([digest(&scrambled(20)), digest(&scrambled(21))]));
    assert_eq!(said[2], json!({"event": "written", "case": "three"}));
    assert!(
        file.starts_with(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }"
        )
    );
    assert_eq!(file[127..], [b"\n".to_vec(), bytes(&scrambled(21))].concat());
}
