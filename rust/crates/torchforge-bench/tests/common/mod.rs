//! What the tests of the binary share: how it is started, and inputs for it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use torchforge_env::Pcg64;
use torchforge_nn::{ActionRange, DenseSac, Mlp, SacLossOptions, SacNetworks, TensorReader, TensorWriter};
use torchforge_referee::number;

pub const SCHEMA: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../runner/schemas/measurement.schema.json");

/// CleanRL's network for CartPole.
pub const SIZES: [usize; 4] = [4, 120, 84, 2];

pub fn torchforge(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_torchforge")).args(words).output().expect("the binary starts")
}

/// An empty folder of this test's own.
pub fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The lines of stdout, each checked against the runner's schema.
pub fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let schema: Value = serde_json::from_slice(&fs::read(SCHEMA).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = std::str::from_utf8(&output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        assert!(validator.is_valid(line), "{line} breaks the schema");
    }
    lines
}

pub fn npy(values: &[f64], shape: &str) -> Vec<u8> {
    npy_of("<f8", values.iter().flat_map(|value| value.to_le_bytes()), shape)
}

/// A file of NumPy's name of a type, and of the bytes of its values.
fn npy_of(kind: &str, values: impl Iterator<Item = u8>, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").as_bytes());
    bytes.extend(values);
    bytes
}

/// A file of bytes that all differ from their neighbours.
pub fn bytes_input(folder: &Path, case: &str, name: &str, shape: &[usize; 2]) {
    fs::create_dir_all(folder.join(case)).unwrap();
    let bytes = (0..shape[0] * shape[1]).map(|place| (place * 37 % 251) as u8);
    let file = npy_of("|u1", bytes, &format!("({}, {})", shape[0], shape[1]));
    fs::write(folder.join(case).join(format!("{name}.npy")), file).unwrap();
}

pub fn gae_input(folder: &Path, case: &str, shape: &str, len: usize) {
    fs::create_dir_all(folder.join(case)).unwrap();
    let values: Vec<f64> = (0..len).map(|i| (i % 7) as f64 - 3.0).collect();
    for name in ["rewards", "values"] {
        fs::write(folder.join(case).join(format!("{name}.npy")), npy(&values, shape)).unwrap();
    }
    fs::write(folder.join(case).join("dones.npy"), npy(&vec![0.0; len], shape)).unwrap();
}

/// Writes a tape for calls of so many values.
pub fn tape_input(folder: &Path, case: &str, name: &str, count: usize) {
    fs::create_dir_all(folder.join(case)).unwrap();
    let len = count + 4096;
    let values: Vec<f64> = (0..len).map(|i| (i % 7) as f64 * -0.25).collect();
    fs::write(folder.join(case).join(format!("{name}.npy")), npy(&values, &format!("({len},)"))).unwrap();
}

/// So many transitions of observations of `width` values; a reward is the number of its row.
pub fn transitions_input(folder: &Path, case: &str, rows: usize, width: usize) {
    fs::create_dir_all(folder.join(case)).unwrap();
    let matrix = |width: usize| (format!("({rows}, {width})"), rows * width);
    let vector = (format!("({rows},)"), rows);
    type Value = fn(usize) -> f32;
    let fields: [(&str, (String, usize), Value); 6] = [
        ("observations", matrix(width), |i| i as f32),
        ("next_observations", matrix(width), |i| -(i as f32)),
        ("actions", matrix(1), |i| i as f32 / 2.0),
        ("rewards", vector.clone(), |i| i as f32),
        ("terminated", vector.clone(), |i| f32::from(u8::from(i % 4 == 1))),
        ("truncated", vector, |i| f32::from(u8::from(i % 4 == 2))),
    ];
    for (name, (shape, len), value) in fields {
        let values: Vec<f32> = (0..len).map(value).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        let file = npy_of("<f4", bytes, &shape);
        fs::write(folder.join(case).join(format!("{name}.npy")), file).unwrap();
    }
}

/// The values of an f64 file, whose header is 128 bytes long.
pub fn values(path: &Path) -> Vec<f64> {
    fs::read(path).unwrap()[128..].as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

/// Minibatches of a parity file.
pub const MINIBATCHES: usize = 100;

/// Writes the tensors of consecutive minibatches: uniform numbers, and actions 0 and 1 in turn.
pub fn minibatches(tensors: &mut TensorWriter, rng: &mut Pcg64, fields: &[(&str, &[usize])]) {
    for &(name, shape) in fields {
        let shape = [&[MINIBATCHES], shape].concat();
        let len = shape.iter().product::<usize>();
        let values = (0..len).map(|_| rng.uniform(-1.0, 1.0) as f32);
        tensors.push(name.into(), shape, values);
    }
}

/// The bytes of a safetensors file with whole numbers of (minibatches, batch) beside the tensors.
pub fn with_actions(tensors: TensorWriter, batch: usize) -> Vec<u8> {
    let mut tensors = tensors;
    let actions: Vec<i64> = (0..MINIBATCHES * batch).map(|row| row as i64 % 2).collect();
    tensors.push_all("actions".into(), vec![MINIBATCHES, batch], &actions);
    tensors.into_bytes()
}

pub fn parity_file(folder: &Path, case: &str, bytes: &[u8]) {
    fs::create_dir_all(folder.join(case)).unwrap();
    fs::write(folder.join(case).join("parity.safetensors"), bytes).unwrap();
}

/// A folder with the inputs of a DQN whose network has these layers.
pub fn dqn_input(test: &str, environment: &str, sizes: [usize; 4]) -> PathBuf {
    let folder = folder(test);
    let (mut tensors, mut rng) = (TensorWriter::new(), Pcg64::new(42));
    for prefix in ["online.", "target."] {
        let network = Mlp::new(&sizes, &mut rng).unwrap();
        network.write(prefix, network.parameters(), &mut tensors);
    }
    let fields: [(&str, &[usize]); 4] = [
        ("observations", &[16, sizes[0]]),
        ("next_observations", &[16, sizes[0]]),
        ("rewards", &[16]),
        ("terminations", &[16]),
    ];
    minibatches(&mut tensors, &mut rng, &fields);
    parity_file(&folder, environment, &with_actions(tensors, 16));
    folder
}

/// A folder with the inputs of a PPO on CartPole.
pub fn ppo_input(test: &str) -> PathBuf {
    let folder = folder(test);
    let (mut tensors, mut rng) = (TensorWriter::new(), Pcg64::new(42));
    for (prefix, outputs) in [("actor.", 2), ("critic.", 1)] {
        let network = Mlp::new(&[4, 64, 64, outputs], &mut rng).unwrap();
        network.write(prefix, network.parameters(), &mut tensors);
    }
    for name in ["rewards", "dones", "values"] {
        tensors.push(format!("rollout.{name}"), vec![5, 4], (0..20).map(|i| f32::from(u8::from(i % 3 == 0))));
    }
    for name in ["next_value", "next_done"] {
        tensors.push(format!("rollout.{name}"), vec![4], [0.0, 1.0, 0.0, 1.0]);
    }
    let fields: [(&str, &[usize]); 5] = [
        ("observations", &[16, 4]),
        ("log_probabilities", &[16]),
        ("advantages", &[16]),
        ("returns", &[16]),
        ("values", &[16]),
    ];
    minibatches(&mut tensors, &mut rng, &fields);
    parity_file(&folder, "CartPole-v1", &with_actions(tensors, 16));
    folder
}

/// A folder with the inputs of a SAC on Pendulum.
pub fn sac_input(test: &str) -> PathBuf {
    let folder = folder(test);
    let mut rng = Pcg64::new(42);
    let critics = [0, 1].map(|_| Mlp::new(&[4, 256, 256, 1], &mut rng).unwrap());
    let networks = SacNetworks {
        actor: Mlp::new(&[3, 256, 256, 2], &mut rng).unwrap(),
        targets: critics.clone(),
        critics,
        log_alpha: -0.1,
    };
    let range = ActionRange { bias: vec![0.0], scale: vec![2.0] };
    let mut tensors = TensorWriter::new();
    DenseSac::new(networks, range, 16, SacLossOptions::default()).unwrap().write("", &mut tensors);
    let fields: [(&str, &[usize]); 8] = [
        ("observations", &[16, 3]),
        ("next_observations", &[16, 3]),
        ("actions", &[16, 1]),
        ("rewards", &[16]),
        ("terminations", &[16]),
        ("noise.next", &[16, 1]),
        ("noise.policy", &[2, 16, 1]),
        ("noise.alpha", &[2, 16, 1]),
    ];
    minibatches(&mut tensors, &mut rng, &fields);
    parity_file(&folder, "Pendulum-v1", &tensors.into_bytes());
    folder
}

pub fn train(benchmark: &str, folder: &Path, case: &str, parameters: &str, options: &[&str]) -> Output {
    let path = folder.to_str().unwrap();
    let words = [benchmark, "--case", case, "--parameters", parameters, "--seed", "1"];
    torchforge(&[&words[..], &["--input", path, "--output", path], options].concat())
}

/// The parity file whose minibatches in their own order are those that the numbers of a repetition choose.
pub fn drawn(bytes: &[u8], nonce: u64, repetition: u64, calls: usize) -> Vec<u8> {
    let numbers: Vec<u64> =
        (0..calls as u64).map(|call| number(nonce, 0, repetition * calls as u64 + call)).collect();
    let (given, mut tensors) = (TensorReader::new(bytes).unwrap(), TensorWriter::new());
    let rewarded = if given.contains("returns") { "returns" } else { "rewards" };
    for name in given.names() {
        let mut shape = given.shape(&name).unwrap();
        let len = shape.iter().product::<usize>() / shape[0];
        let of_minibatches = shape[0] == MINIBATCHES;
        let rows: Vec<usize> = match of_minibatches {
            true => numbers.iter().map(|number| (number % 100) as usize).collect(),
            false => (0..shape[0]).collect(),
        };
        let old = std::mem::replace(&mut shape[0], rows.len());
        let whole = [&[old], &shape[1..]].concat();
        if name == "actions" && !given.contains("log_alpha") {
            let values = given.i64(&name, &whole).unwrap();
            let values: Vec<i64> = rows.iter().flat_map(|row| values[row * len..][..len].to_vec()).collect();
            tensors.push_all(name, shape, &values);
            continue;
        }
        let values = given.f32(&name, &whole).unwrap();
        let mut values: Vec<f32> = rows.iter().flat_map(|row| values[row * len..][..len].to_vec()).collect();
        if name == rewarded {
            for (row, number) in values.chunks_mut(len).zip(&numbers) {
                row[0] += ((number >> 44) as f64 / f64::from(1 << 20)) as f32;
            }
        }
        tensors.push(name, shape, values);
    }
    tensors.into_bytes()
}

/// The nonce whose first number is this one: SplitMix64 taken back, step by step.
pub fn nonce_of(first: u64) -> u64 {
    // Newton's method finds what an odd factor is undone by.
    let inverse =
        |factor: u64| (0..6).fold(factor, |x, _| x.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(x))));
    let unshift = |value: u64, by: u32| value ^ value >> by ^ value >> (2 * by);
    let value = unshift(first, 31).wrapping_mul(inverse(0x94D0_49BB_1331_11EB));
    let value = unshift(value, 27).wrapping_mul(inverse(0xBF58_476D_1CE4_E5B9));
    let nonce = unshift(value, 30).wrapping_sub(0x9E37_79B9_7F4A_7C15);
    assert_eq!(number(nonce, 0, 0), first);
    nonce
}
