//! The real binary, started as the runner starts it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use torchforge_env::Pcg64;
use torchforge_nn::{Mlp, SimdPath, TensorReader, TensorWriter};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../runner/schemas/measurement.schema.json");

/// CleanRL's network for CartPole.
const SIZES: [usize; 4] = [4, 120, 84, 2];

fn torchforge(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_torchforge")).args(words).output().expect("the binary starts")
}

/// An empty folder of this test's own.
fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The lines of stdout, each checked against the runner's schema.
fn lines(output: &Output) -> Vec<Value> {
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

fn npy(values: &[f64], shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn gae_input(folder: &Path, case: &str, shape: &str, len: usize) {
    fs::create_dir_all(folder.join(case)).unwrap();
    let values: Vec<f64> = (0..len).map(|i| (i % 7) as f64 - 3.0).collect();
    for name in ["rewards", "values"] {
        fs::write(folder.join(case).join(format!("{name}.npy")), npy(&values, shape)).unwrap();
    }
    fs::write(folder.join(case).join("dones.npy"), npy(&vec![0.0; len], shape)).unwrap();
}

#[test]
fn gae_measures_every_case_once_and_writes_its_outputs() {
    let folder = folder("gae");
    gae_input(&folder, "T=8", "(8,)", 8);
    gae_input(&folder, "2x3", "(2, 3)", 6);
    let path = folder.to_str().unwrap();
    let long = r#"{"batch":1,"length":8,"calls":2,"warmup":1,"repetitions":3}"#;
    let wide = r#"{"batch":2,"length":3,"calls":1,"warmup":0,"repetitions":9,"seconds_limit":0.0,"least_repetitions":4}"#;
    let mut words = vec!["gae", "--case", "T=8", "--parameters", long, "--case", "2x3", "--parameters", wide];
    words.extend(["--seed", "5", "--input", path, "--output", path]);

    let lines = lines(&torchforge(&words));
    let of = |case: &str| lines.iter().find(|line| line["case"] == case).unwrap();
    assert_eq!(lines.len(), 2);
    assert_eq!(of("T=8")["metrics"]["seconds"].as_array().unwrap().len(), 3);
    assert_eq!(of("2x3")["metrics"]["seconds"].as_array().unwrap().len(), 4, "the limit left the least");
    assert_eq!(of("2x3")["counts"]["elements"], 6);

    // The last step of a row: its reward less its value, here equal.
    let bytes = fs::read(folder.join("2x3/advantages.npy")).unwrap();
    assert_eq!(bytes[bytes.len() - 8..], 0.0_f64.to_le_bytes());
    assert_eq!(fs::read(folder.join("T=8/returns.npy")).unwrap().len(), 128 + 8 * 8);
}

/// A folder with the inputs of a DQN on CartPole.
fn dqn_input(test: &str) -> PathBuf {
    let folder = folder(test);
    let (mut tensors, mut rng) = (TensorWriter::new(), Pcg64::new(42));
    for prefix in ["online.", "target."] {
        let network = Mlp::new(&SIZES, &mut rng).unwrap();
        network.write(prefix, network.parameters(), &mut tensors);
    }
    fs::create_dir_all(folder.join("CartPole-v1")).unwrap();
    let parity = with_minibatch(tensors, &mut rng);
    fs::write(folder.join("CartPole-v1/parity.safetensors"), parity).unwrap();
    folder
}

fn train_dqn(folder: &Path, options: &[&str]) -> Output {
    let path = folder.to_str().unwrap();
    let parameters =
        r#"{"environment":"CartPole-v1","steps":1500,"learning_starts":1000,"train_frequency":10}"#;
    let words = ["dqn", "--case", "CartPole-v1", "--parameters", parameters, "--seed", "1"];
    torchforge(&[&words[..], &["--input", path, "--output", path], options].concat())
}

#[test]
fn dqn_gives_the_same_bytes_on_every_simd_path() {
    let trained = |options: &[&str]| {
        let folder = dqn_input(&format!("dqn{}", options.concat()));
        lines(&train_dqn(&folder, options));
        ["episodes.json", "weights.safetensors", "update.safetensors"]
            .map(|name| fs::read(folder.join("CartPole-v1").join(name)).unwrap())
    };
    let expected = trained(&["--simd", "portable"]);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        assert!(trained(&["--simd", &path.to_string()]) == expected, "{path}");
    }
    assert!(trained(&[]) == expected);
}

#[test]
fn dqn_trains_counts_its_steps_and_writes_its_outputs() {
    let folder = dqn_input("dqn");
    let lines = lines(&train_dqn(&folder, &[]));
    let measurement = lines.last().unwrap();
    assert_eq!(measurement["counts"]["environment_steps"], 1500);
    assert_eq!(measurement["counts"]["gradient_steps"], 49);
    let seconds = |name: &str| measurement["metrics"][name].as_f64().unwrap();
    assert!(seconds("wall_seconds") >= seconds("training_seconds") + seconds("initialisation_seconds"));

    let episodes = fs::read(folder.join("CartPole-v1/episodes.json")).unwrap();
    let episodes: Vec<Value> = serde_json::from_slice(&episodes).unwrap();
    assert_eq!(episodes[0]["step"].as_u64().unwrap() + 1, episodes[0]["length"].as_u64().unwrap());
    assert_eq!(episodes[0]["return"].as_f64(), episodes[0]["length"].as_f64());

    let weights = fs::read(folder.join("CartPole-v1/weights.safetensors")).unwrap();
    Mlp::read(&SIZES, "", &TensorReader::new(&weights).unwrap()).unwrap();
    let update = fs::read(folder.join("CartPole-v1/update.safetensors")).unwrap();
    let update = TensorReader::new(&update).unwrap();
    assert!(update.f32("loss", &[1]).unwrap()[0] > 0.0);
    assert_eq!(update.f32("gradient.2.weight", &[84, 120]).unwrap().len(), 84 * 120);
    assert_eq!(update.f32("parameter.4.bias", &[2]).unwrap().len(), 2);
}

/// Adds the minibatch; the actions are i64, which the writer has no use for elsewhere, so their tensor is
/// spliced into the file as 8-byte pairs of f32 with the type's name exchanged.
fn with_minibatch(mut tensors: TensorWriter, rng: &mut Pcg64) -> Vec<u8> {
    let mut draw = |len: usize| (0..len).map(|_| rng.uniform(-1.0, 1.0) as f32).collect::<Vec<_>>();
    tensors.push("observations".into(), vec![128, 4], draw(512));
    tensors.push("next_observations".into(), vec![128, 4], draw(512));
    tensors.push("rewards".into(), vec![128], draw(128));
    tensors.push("terminations".into(), vec![128], vec![0.0; 128]);
    tensors.push("actions".into(), vec![128, 2], vec![0.0; 256]);
    let mut bytes = tensors.into_bytes();
    // Replaced by text of equal length, so that the header's own length stays true.
    let needle = br#""actions":{"dtype":"F32","shape":[128,2]"#;
    let at = bytes.windows(needle.len()).position(|window| window == needle).expect("the header names it");
    bytes[at..at + needle.len()].copy_from_slice(br#""actions":{"dtype":"I64","shape":[128]  "#);
    bytes
}

#[test]
fn the_version_names_compiler_and_target() {
    let output = torchforge(&["version"]);
    let version: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(version["torchforge"], env!("CARGO_PKG_VERSION"));
    assert!(version["rustc"].as_str().unwrap().split('.').count() >= 3);
    assert!(version["target"].as_str().unwrap().contains('-'));
}

#[test]
fn a_wrong_argument_is_one_line_and_exit_code_2() {
    let parameters = r#"{"batch":1,"length":8,"calls":2,"warmup":1,"repetitions":3}"#;
    let gae = ["gae", "--case", "a", "--parameters", parameters];
    for (words, expected) in [
        (vec![], "no benchmark is named"),
        (vec!["gea"], "there is no benchmark \"gea\""),
        (vec!["gae", "--seed", "1"], "no case is given"),
        (gae.to_vec(), "no seed is given"),
        ([&gae[..], &["--seed", "x"]].concat(), "see `torchforge --help`"),
        ([&gae[..], &["--seed", "1"]].concat(), "give --input DIR"),
        (vec!["dqn", "--simd", "sse9"], "there is no SIMD path"),
        (vec!["gae", "--case", "../a", "--parameters", "{}"], "\"../a\" is no case"),
        (vec!["gae", "--case", "a", "--seed", "1"], "case \"a\" has no parameters"),
        (vec!["gae", "--parameters", "{}"], "belongs to no case"),
        (
            vec!["gae", "--case", "a", "--parameters", r#"{"lenght":1}"#, "--seed", "1", "--input", "."],
            "unknown field `lenght`",
        ),
        (vec!["gae", "--case", "a", "--parameters", "{}", "--seed", "1", "--input", "."], "missing field"),
    ] {
        let output = torchforge(&words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{words:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_missing_or_wrong_input_file_is_named_and_exit_code_1() {
    let folder = folder("inputs");
    let parameters = r#"{"batch":1,"length":9,"calls":2,"warmup":1,"repetitions":3}"#;
    let path = folder.to_str().unwrap();
    let words = ["gae", "--case", "a", "--parameters", parameters, "--seed", "1", "--input", path];
    let stderr = |output: Output| {
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(stderr(torchforge(&words)).contains("rewards.npy"));
    gae_input(&folder, "a", "(8,)", 8);
    assert!(stderr(torchforge(&words)).contains("its shape is (8,) and must be (9,)"));
}
