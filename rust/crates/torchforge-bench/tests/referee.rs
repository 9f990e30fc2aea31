//! The real binary, led by a referee's orders (`docs/protocol.md`).

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use torchforge_nn::{TensorReader, TensorWriter};

mod common;

use common::*;

/// What the binary says and how it ends when it hears these orders.
fn conversation(words: &[&str], orders: &[String]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_torchforge"))
        .args(words)
        .arg("--referee")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // One that ends early closes its stdin.
    let _ = child.stdin.take().unwrap().write_all((orders.join("\n") + "\n").as_bytes());
    child.wait_with_output().unwrap()
}

/// What the binary answers, after it said that it is ready; its progress is left out.
fn answers(words: &[&str], orders: &[String]) -> Vec<Value> {
    let output = conversation(words, orders);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut lines = lines.filter(|line| line["event"] != "progress");
    assert_eq!(lines.next().unwrap(), serde_json::json!({"event": "ready"}));
    lines.collect()
}

fn go(case: &str, nonce: u64, first: u64, repetitions: u64) -> String {
    format!(
        r#"{{"event":"go","case":"{case}","nonce":"{nonce:016x}","first":{first},"repetitions":{repetitions}}}"#
    )
}

fn go_with_seed(case: &str, nonce: u64, first: u64, seed: u64) -> String {
    let order = go(case, nonce, first, 1);
    format!(r#"{},"seed":{seed}}}"#, order.strip_suffix('}').unwrap())
}

fn outputs(case: &str, nonce: u64, repetitions: &[u64]) -> String {
    format!(r#"{{"event":"outputs","case":"{case}","nonce":"{nonce:016x}","repetitions":{repetitions:?}}}"#)
}

/// The digest of outputs by their bytes, each filled with zeros to whole words.
fn digest<'a>(outputs: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut total = 0_u64;
    for word in outputs.into_iter().flat_map(|output| output.chunks(8)) {
        let mut whole = [0; 8];
        whole[..word.len()].copy_from_slice(word);
        total = total.wrapping_add(u64::from_le_bytes(whole));
    }
    format!("{total:016x}")
}

/// The digest of f64 files, in which no output ends within a word.
fn of_arrays(files: &[&Path]) -> String {
    let files: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    digest(files.iter().map(|file| &file[128..]))
}

/// The digest of a file's f32 tensors whose names begin with a prefix, each of which is one output.
fn of_tensors(file: &Path, prefix: &str) -> String {
    let bytes = fs::read(file).unwrap();
    let given = TensorReader::new(&bytes).unwrap();
    let names = given.names().into_iter().filter(|name| name.starts_with(prefix));
    let tensors: Vec<Vec<u8>> = names
        .map(|name| {
            let values = given.f32(&name, &given.shape(&name).unwrap()).unwrap();
            values.into_iter().flat_map(f32::to_le_bytes).collect()
        })
        .collect();
    assert!(!tensors.is_empty(), "nothing begins with {prefix}");
    digest(tensors.iter().map(Vec::as_slice))
}

/// Holds what a referee holds of every operation, one of whose repetitions has the digest that `of_files` finds in a
/// folder. Returns the `done` of two repetitions.
fn is_led(
    benchmark: &str,
    case: &str,
    parameters: &str,
    input: &Path,
    of_files: impl Fn(&Path) -> String,
) -> Value {
    let path = input.to_str().unwrap();
    let words = [benchmark, "--case", case, "--parameters", parameters, "--seed", "5"];
    let words = [&words[..], &["--input", path, "--output", path]].concat();
    let orders = [
        go(case, 0xaa, 0, 0),
        go(case, 0xaa, 5, 2),
        go(case, 0xaa, 6, 1),
        go(case, 0xbb, 5, 2),
        outputs(case, 0xaa, &[6, 5]),
    ];
    let said = answers(&words, &orders);
    assert_eq!(said.len(), 5);
    for done in &said[..4] {
        assert_eq!((&done["event"], &done["case"]), (&"done".into(), &case.into()));
        assert!(done["between_seconds"].as_f64().unwrap() > 0.0);
        assert!(done["memory"]["vmhwm_bytes"].as_u64().unwrap() > 0);
        let seconds = done["metrics"]["seconds"].as_array().unwrap();
        assert!(seconds.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0));
        assert_eq!(seconds.len(), done["digests"].as_array().unwrap().len());
    }
    let digests = |index: usize| said[index]["digests"].as_array().unwrap().clone();
    assert_eq!((digests(0).len(), digests(1).len()), (0, 2));
    assert_eq!(digests(1)[1..], digests(2), "a repetition is the same in whatever round");
    assert_ne!(digests(1)[0], digests(1)[1], "another repetition is other work");
    assert_ne!(digests(1)[0], digests(3)[0], "another nonce is other work");
    assert_eq!(said[4], serde_json::json!({"event": "written", "case": case}));
    for (place, repetition) in ["5", "6"].into_iter().enumerate() {
        let found = of_files(&input.join(case).join(repetition));
        assert_eq!(digests(1)[place], found, "{benchmark}: the files of repetition {repetition}");
    }
    said[1].clone()
}

/// The bytes of each tensor of a log of actions.
fn log_of(file: &Path, continuous: bool) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).unwrap();
    let log = TensorReader::new(&bytes).unwrap();
    let bytes_of = |name: String| {
        let shape = log.shape(&name).unwrap();
        if !name.ends_with(".actions") {
            return log.i64(&name, &shape).unwrap().into_iter().flat_map(i64::to_le_bytes).collect();
        }
        if !continuous {
            return log.values::<u8>(&name, &shape).unwrap();
        }
        log.f32(&name, &shape).unwrap().into_iter().flat_map(f32::to_le_bytes).collect()
    };
    log.names().into_iter().map(bytes_of).collect()
}

/// The digest of all that a training left behind.
fn of_training(folder: &Path, continuous: bool) -> String {
    let weights = of_tensors(&folder.join("weights.safetensors"), "");
    let log = log_of(&folder.join("actions.safetensors"), continuous);
    let log = digest(log.iter().map(Vec::as_slice));
    let [weights, log] = [weights, log].map(|text| u64::from_str_radix(&text, 16).unwrap());
    format!("{:016x}", weights.wrapping_add(log))
}

/// What `torchforge replay` says.
fn replayed(folder: &Path, environment: &str, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_torchforge"))
        .args(["replay", "--environment", environment, "--actions"])
        .arg(folder.join("actions.safetensors"))
        .args(words)
        .output()
        .unwrap()
}

#[test]
fn gae_is_led_by_a_referee() {
    let folder = folder("referee-gae");
    gae_input(&folder, "T=8", "(8,)", 8);
    // From one of the first four on two or three of nine calls are covered.
    for (each, covered) in [("", 9..=9), (r#","each":4"#, 2..=3)] {
        let parameters = format!(r#"{{"batch":1,"length":8,"calls":9,"warmup":1,"repetitions":3{each}}}"#);
        let done = is_led("gae", "T=8", &parameters, &folder, |files| {
            of_arrays(&[&files.join("advantages.npy"), &files.join("returns.npy")])
        });
        assert_eq!(done["counts"], serde_json::json!({"elements": 8}));
        for file in ["advantages.npy", "returns.npy"] {
            let written = values(&folder.join("T=8/5").join(file)).len() / 8;
            assert!(covered.contains(&written), "{file} holds {written} calls");
        }
    }
}

#[test]
fn group_advantages_are_led_by_a_referee() {
    let folder = folder("referee-grpo");
    tape_input(&folder, "3x4", "rewards", 12);
    for (each, covered) in [("", 9..=9), (r#","each":4"#, 2..=3)] {
        let parameters = format!(r#"{{"groups":3,"size":4,"calls":9,"warmup":1,"repetitions":3{each}}}"#);
        let done =
            is_led("grpo", "3x4", &parameters, &folder, |files| of_arrays(&[&files.join("advantages.npy")]));
        assert_eq!(done["counts"], serde_json::json!({"rewards": 12}));
        let written = values(&folder.join("3x4/5/advantages.npy")).len() / 12;
        assert!(covered.contains(&written), "{written} calls");
    }
}

#[test]
fn pushes_are_led_by_a_referee() {
    let folder = folder("referee-buffer-push");
    transitions_input(&folder, "small", 5, 3);
    let sizes = r#""capacity":13,"observation":3,"rows":5,"calls":9,"warmup":1,"repetitions":3"#;
    // From one of the first four on two or three of nine are covered.
    for (each, covered) in [("", 9..=9), (r#","each":4"#, 2..=3)] {
        let parameters = format!("{{{sizes}{each}}}");
        let done = is_led("buffer-push", "small", &parameters, &folder, |files| {
            of_arrays(&[&files.join("digested.npy")])
        });
        assert_eq!(done["counts"], serde_json::json!({"values": 10}));
        let [sums, digested] =
            ["sums.npy", "digested.npy"].map(|file| values(&folder.join("small/5").join(file)));
        assert_eq!(sums.len(), 9);
        assert!(covered.contains(&digested.len()), "{digested:?}");
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let step = if each.is_empty() { 1 } else { 4 };
        let some = |begin: usize| bits(&sums).into_iter().skip(begin).step_by(step).collect::<Vec<_>>();
        assert!((0..step).any(|begin| some(begin) == bits(&digested)), "{sums:?} {digested:?}");
    }
}

#[test]
fn draws_are_led_by_a_referee_and_are_transitions_of_the_tape() {
    let folder = folder("referee-buffer-sample");
    transitions_input(&folder, "small", 64, 4);
    let sizes = r#""capacity":64,"observation":4,"batch":32,"calls":40,"warmup":1,"repetitions":3"#;
    let fields = ["observations", "next_observations", "actions", "rewards", "terminated"];
    for (each, covered) in [("", 40), (r#","each":4"#, 10)] {
        let done = is_led("buffer-sample", "small", &format!("{{{sizes}{each}}}"), &folder, |files| {
            let paths = fields.map(|name| files.join(format!("{name}.npy")));
            of_arrays(&paths.each_ref().map(std::path::PathBuf::as_path))
        });
        assert_eq!(done["counts"], serde_json::json!({"transitions": 32}));
        let written = folder.join("small/5");
        // A file begins with 128 bytes about it.
        let rewards = fs::metadata(written.join("rewards.npy")).unwrap().len();
        assert_eq!(rewards, 128 + 4 * 32 * covered);
        let members = fs::read(written.join("members.npy")).unwrap();
        let (members, _) = members[128..].as_chunks();
        assert_eq!(members.len(), 40);
        assert!(members.iter().all(|&count| u64::from_le_bytes(count) == 32));
        let shares = values(&written.join("shares.npy"));
        assert!(shares.len() == 16 && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(shares.iter().all(|share| (share - 0.0625).abs() < 0.04), "{shares:?}");
    }
}

#[test]
fn every_workload_of_the_pipeline_is_led_by_a_referee() {
    let sizes = r#""row_bytes":8,"warmup":1,"repetitions":3"#;
    for (does, calls, rows_a_call, workers) in [
        ("epochs", 25, 4, 0),
        ("epochs", 25, 4, 2),
        ("files", 2, 100, 0),
        ("rings", 3, 100, 0),
        ("minibatches", 5, 4, 0),
    ] {
        let folder = folder(&format!("referee-pipeline-{does}-{workers}"));
        bytes_input(&folder, "small", "tape", &[64, 8]);
        let parameters = format!(
            r#"{{"does":"{does}","rows":100,"batch":4,"workers":{workers},"rows_a_call":{rows_a_call},"calls":{calls},{sizes}}}"#
        );
        let done =
            is_led("pipeline", "small", &parameters, &folder, |files| of_arrays(&[&files.join("marks.npy")]));
        assert_eq!(done["counts"], serde_json::json!({"rows": rows_a_call}), "{does}");
    }
}

#[test]
fn an_epoch_of_the_pipeline_has_the_same_batches_for_any_workers() {
    let marks = [0, 2].map(|workers| {
        let folder = folder(&format!("referee-pipeline-workers-{workers}"));
        bytes_input(&folder, "small", "tape", &[64, 8]);
        let path = folder.to_str().unwrap();
        let parameters = format!(
            r#"{{"does":"epochs","rows":100,"row_bytes":8,"batch":4,"workers":{workers},"rows_a_call":4,"calls":25,"warmup":0,"repetitions":1}}"#
        );
        let words = ["pipeline", "--case", "small", "--parameters", &parameters, "--seed", "5", "--input", path];
        answers(&words, &[go("small", 0xaa, 5, 2)]).remove(0)["digests"].clone()
    });
    assert_eq!(marks[0], marks[1]);
}

#[test]
fn divergences_are_led_by_a_referee() {
    // Three sequences of f32 end within a word.
    for (k3, batch, each) in [(false, 1, 1), (true, 3, 1), (true, 3, 2)] {
        let folder = folder(&format!("referee-token-kl-{k3}-{each}"));
        for name in ["policy", "reference"] {
            tape_input(&folder, "small", name, 7 * batch);
        }
        let parameters = format!(
            r#"{{"batch":{batch},"length":7,"k3":{k3},"calls":6,"each":{each},"warmup":1,"repetitions":3}}"#
        );
        let done = is_led("token-kl", "small", &parameters, &folder, |files| {
            let values = &fs::read(files.join("kl.npy")).unwrap()[128..];
            assert_eq!(values.len(), 6 / each * batch * if k3 { 4 } else { 8 });
            digest([values])
        });
        assert_eq!(done["counts"], serde_json::json!({"tokens": 7 * batch}));
    }
}

#[test]
fn acting_is_led_by_a_referee() {
    // With three actions a row ends within a word, and all values together within another.
    for (environment, sizes) in [("CartPole-v1", SIZES), ("Acrobot-v1", [6, 120, 84, 3])] {
        let folder = dqn_input(&format!("referee-act-{environment}"), environment, sizes);
        let parameters = format!(r#"{{"environment":"{environment}","calls":5,"warmup":0,"repetitions":1}}"#);
        let done = is_led("act", environment, &parameters, &folder, |files| {
            let bytes = fs::read(files.join("values.safetensors")).unwrap();
            let values = TensorReader::new(&bytes).unwrap().f32("values", &[5, sizes[3]]).unwrap();
            let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
            digest([&bytes[..]])
        });
        assert_eq!(done["counts"], serde_json::json!({"observations": 5}));
    }
}

#[test]
fn networks_that_say_something_of_rows_are_led_by_a_referee() {
    let sac = r#""algorithm":"sac","hidden":256,"observation":3,"action":1,"rows":1"#;
    // With three rows of two values, and a value each, both outputs end within a word.
    let cases = [
        (
            "dqn",
            dqn_input("referee-nn-act-dqn", "small", [4, 16, 16, 2]),
            r#""algorithm":"dqn","hidden":16,"rows":3"#,
        ),
        ("ppo", ppo_input("referee-nn-act-ppo"), r#""algorithm":"ppo","rows":3"#),
        ("sac", sac_input("referee-nn-act-sac"), sac),
    ];
    for (algorithm, folder, sizes) in cases {
        let case = match algorithm {
            "dqn" => "small",
            "ppo" => "CartPole-v1",
            _ => "Pendulum-v1",
        };
        let name = if algorithm == "sac" { "actions" } else { "values" };
        // From one of the first four on one or two of five calls are covered.
        for (each, covered) in [("", 5..=5), (r#","each":4"#, 1..=2)] {
            let parameters = format!(r#"{{{sizes}{each},"calls":5,"warmup":0,"repetitions":1}}"#);
            let done = is_led("nn-act", case, &parameters, &folder, |files| {
                of_tensors(&files.join("digested.safetensors"), "")
            });
            let [all, some] = ["values", "digested"].map(|file| {
                let bytes = fs::read(folder.join(case).join(format!("5/{file}.safetensors"))).unwrap();
                TensorReader::new(&bytes).unwrap().shape(name).unwrap()[0]
            });
            assert!(all == 5 && covered.contains(&some), "{some} of {all}");
            assert_eq!(
                done["counts"],
                serde_json::json!({"observations": if algorithm == "sac" { 1 } else { 3 }})
            );
        }
    }
}

#[test]
fn critics_that_learn_alone_are_led_by_a_referee() {
    let folder = sac_input("referee-nn-step");
    let parameters = r#"{"algorithm":"critics","hidden":256,"observation":3,"action":1,"batch":16,"calls":3,"warmup":1,"repetitions":2}"#;
    let done = is_led("update", "Pendulum-v1", parameters, &folder, |files| {
        of_tensors(&files.join("drawn.safetensors"), "after.")
    });
    assert_eq!(done["counts"], serde_json::json!({"updates": 3}));
}

#[test]
fn updates_are_led_by_a_referee() {
    let cases = [
        ("dqn", dqn_input("referee-update-dqn", "CartPole-v1", SIZES), "CartPole-v1"),
        ("ppo", ppo_input("referee-update-ppo"), "CartPole-v1"),
        ("sac", sac_input("referee-update-sac"), "Pendulum-v1"),
    ];
    for (algorithm, folder, case) in cases {
        let parameters = format!(r#"{{"algorithm":"{algorithm}","calls":3,"warmup":1,"repetitions":3}}"#);
        let done = is_led("update", case, &parameters, &folder, |files| {
            of_tensors(&files.join("drawn.safetensors"), "after.")
        });
        assert_eq!(done["counts"], serde_json::json!({"updates": 3}));
        let program = fs::metadata(env!("CARGO_BIN_EXE_torchforge")).unwrap().len();
        assert_eq!(done["metrics"]["program_bytes"].as_f64(), Some(program as f64));
    }
}

#[test]
#[cfg(any(feature = "candle", feature = "burn"))]
fn updates_of_another_library_are_led_by_a_referee() {
    let folder = dqn_input("referee-update-backends", "CartPole-v1", SIZES);
    let parameters = r#"{"algorithm":"dqn","calls":3,"warmup":1,"repetitions":3}"#;
    let path = folder.to_str().unwrap();
    for backend in [(cfg!(feature = "candle"), "candle"), (cfg!(feature = "burn"), "burn")] {
        let (true, backend) = backend else { continue };
        let words = ["update", "--case", "CartPole-v1", "--parameters", parameters, "--seed", "5"];
        let words = [&words[..], &["--input", path, "--output", path, "--backend", backend]].concat();
        let orders = [go("CartPole-v1", 0xaa, 5, 1), outputs("CartPole-v1", 0xaa, &[5])];
        let said = answers(&words, &orders);
        let file = folder.join("CartPole-v1/5/drawn.safetensors");
        assert_eq!(said[0]["digests"][0], of_tensors(&file, "after."), "{backend}");
    }
}

#[test]
fn environments_are_led_by_a_referee() {
    let folder = folder("referee-env-step");
    for (case, vector, n) in [("single", false, 1), ("n=3", true, 3)] {
        fs::create_dir_all(folder.join(case)).unwrap();
        let actions: Vec<f64> = (0..40 * n).map(|place| f64::from(place % 3 == 0)).collect();
        fs::write(folder.join(case).join("actions.npy"), npy(&actions, &format!("(40, {n})"))).unwrap();
        let parameters =
            format!(r#"{{"environments":{n},"vector":{vector},"calls":40,"warmup":1,"repetitions":3}}"#);
        let done = is_led("env-step", case, &parameters, &folder, |files| {
            let (last, all) = (files.join("last_observations.npy"), files.join("observations.npy"));
            let (found, recorded) = (values(&last), values(&all));
            assert_eq!(found, recorded[recorded.len() - found.len()..]);
            of_arrays(&[&last])
        });
        assert_eq!(done["counts"], serde_json::json!({"environment_steps": 40 * n}));
    }
}

#[test]
fn a_repetitions_first_number_seeds_the_environments_and_turns_the_actions() {
    let folder = folder("referee-env-step-turned");
    let actions: Vec<f64> = (0..30).map(|place| f64::from(u8::from(place % 4 < 2))).collect();
    let [given, turned] = [0, 7].map(|offset| [&actions[offset..], &actions[..offset]].concat());
    let parameters = r#"{"environments":1,"vector":false,"calls":30,"warmup":0,"repetitions":1}"#;
    // 67 is 7 more than a multiple of the 30 calls; the 31st bit is of neither part.
    let stepped = |case: &str, actions: &[f64], number: u64| {
        fs::create_dir_all(folder.join(case)).unwrap();
        fs::write(folder.join(case).join("actions.npy"), npy(actions, "(30, 1)")).unwrap();
        let path = folder.to_str().unwrap();
        let words = ["env-step", "--case", case, "--parameters", parameters, "--seed", "5"];
        let words = [&words[..], &["--input", path, "--output", path]].concat();
        answers(&words, &[outputs(case, nonce_of(number), &[0])]);
        values(&folder.join(case).join("0/observations.npy"))
    };
    let expected = stepped("turned", &turned, 11);
    assert_eq!(stepped("given", &given, 11 + (1 << 31) + (67 << 32)), expected);
    assert_ne!(stepped("other", &given, 11), expected);
    assert_ne!(stepped("another", &turned, 12), expected);
}

#[test]
fn trainings_are_led_by_a_referee_and_end_as_those_by_hand() {
    let cases = [
        (
            "dqn",
            dqn_input("referee-dqn", "CartPole-v1", SIZES),
            "CartPole-v1",
            r#""steps":1200,"learning_starts":1000,"train_frequency":10"#,
        ),
        (
            "ppo",
            ppo_input("referee-ppo"),
            "CartPole-v1",
            r#""environments":4,"rollout_steps":32,"minibatches":4,"epochs":2,"iterations":2"#,
        ),
        ("sac", sac_input("referee-sac"), "Pendulum-v1", r#""learning_starts":200,"batch":16,"steps":205"#),
    ];
    for (benchmark, folder, case, training) in cases {
        let parameters = format!(r#"{{"environment":"{case}","parity_updates":3,{training}}}"#);
        let path = folder.to_str().unwrap();
        let by_hand = lines(&train(benchmark, &folder, case, &parameters, &[]));
        let counts = &by_hand.last().unwrap()["counts"];

        let words = [benchmark, "--case", case, "--parameters", &parameters, "--seed", "1"];
        let words = [&words[..], &["--input", path, "--output", path]].concat();
        let orders = [
            outputs(case, 0xaa, &[1]),
            go(case, 0xaa, 1, 0),
            go(case, 0xaa, 1, 1),
            outputs(case, 0xaa, &[2]),
            go(case, 0xaa, 1, 1),
            outputs(case, 0xaa, &[3]),
            go_with_seed(case, 0xaa, 4, 7),
            outputs(case, 0xaa, &[4]),
        ];
        let said = answers(&words, &orders);
        assert_eq!(said[1]["digests"], serde_json::json!([]));
        let continuous = benchmark == "sac";
        let weights = of_training(&folder.join(case).join("1"), continuous);
        for done in [&said[2], &said[4]] {
            assert_eq!(done["digests"], serde_json::json!([weights]));
            assert_eq!(done["counts"], *counts);
            let seconds = |name: &str| done["metrics"][name].as_f64().unwrap();
            let parts = seconds("training_seconds") + seconds("initialisation_seconds");
            assert!((seconds("wall_seconds") - parts).abs() < 1e-9);
            assert!(done["between_seconds"].as_f64().unwrap() > 0.0);
        }
        for name in ["episodes.json", "weights.safetensors", "update.safetensors", "trace.safetensors"] {
            let wanted = fs::read(folder.join(case).join(name)).unwrap();
            for repetition in ["1", "2", "3"] {
                let found = fs::read(folder.join(case).join(repetition).join(name)).unwrap();
                assert!(found == wanted, "{benchmark}: {name} of {repetition}");
            }
        }
        // The seed that the last order said, whatever the words were.
        let last = folder.join(case).join("4");
        assert_eq!(said[6]["digests"], serde_json::json!([of_training(&last, continuous)]));
        let words = [benchmark, "--case", case, "--parameters", &parameters, "--seed", "7"];
        let words = [&words[..], &["--input", path, "--output", path]].concat();
        answers(&words, &[go(case, 0xaa, 5, 1), outputs(case, 0xaa, &[5])]);
        let of_seed = fs::read(folder.join(case).join("5/weights.safetensors")).unwrap();
        assert!(fs::read(last.join("weights.safetensors")).unwrap() == of_seed);
        assert!(fs::read(folder.join(case).join("1/weights.safetensors")).unwrap() != of_seed);
        is_replayed(&last, case, counts["environment_steps"].as_u64().unwrap(), 7);
    }
}

/// Holds that what was done to the environments gives the episodes that a training tells of.
fn is_replayed(folder: &Path, case: &str, steps: u64, seed: u64) {
    let weights = folder.join("weights.safetensors");
    let words = ["--most-steps", &steps.to_string(), "--episodes", "3", "--seed", "9"];
    let words = [&words[..], &["--weights", weights.to_str().unwrap()]].concat();
    let output = replayed(folder, case, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["steps"], steps);
    assert_eq!(found["greedy"].as_array().unwrap().len(), 3);
    for (index, seeds) in found["seeds"].as_array().unwrap().iter().enumerate() {
        assert_eq!(*seeds, serde_json::json!([[0, seed + index as u64]]));
    }
    let told: Value = serde_json::from_slice(&fs::read(folder.join("episodes.json")).unwrap()).unwrap();
    let told: Vec<Value> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|episode| serde_json::json!([episode["step"], episode["length"], episode["return"]]))
        .collect();
    assert!(!told.is_empty());
    assert_eq!(found["episodes"], Value::from(told));

    let output = replayed(folder, case, &["--most-steps", &(steps - 1).to_string()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it has more than"));
}

#[test]
fn a_log_that_no_environment_allows_is_refused() {
    let here = folder("replay-refused");
    let log = |actions: &[u8], resets: &[i64], seeds: &[i64]| {
        let mut tensors = TensorWriter::new();
        tensors.push_vector("0.actions", actions);
        tensors.push_vector("0.resets", resets);
        tensors.push_vector("0.seeds", seeds);
        fs::write(here.join("actions.safetensors"), tensors.into_bytes()).unwrap();
        let output = replayed(&here, "CartPole-v1", &["--most-steps", "1000"]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(log(&[0, 1], &[0], &[1]).0, Some(0));
    let endless = [1; 100];
    for (actions, resets, seeds, expected) in [
        (&[0, 1][..], &[][..], &[][..], "step 0 lies outside of an episode"),
        (&[0, 1], &[1], &[1], "step 0 lies outside of an episode"),
        (&[0, 1], &[0, 3], &[1, -1], "a reset before step 3 is out of order"),
        (&[0, 1], &[0, 2, 1], &[1, -1, -1], "a reset before step 1 is out of order"),
        (&[0, 1], &[0], &[-1], "give its first reset a seed"),
        (&[0, 7], &[0], &[1], "action 7 does not exist"),
        (&[0, 1], &[0, 1], &[1], "seeds"),
        (&endless, &[0], &[1], "lies outside of an episode"),
    ] {
        let (code, stderr) = log(actions, resets, seeds);
        assert_eq!(code, Some(1), "{expected}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{expected}: {stderr}");
    }
    fs::write(here.join("actions.safetensors"), "none").unwrap();
    let output = replayed(&here, "CartPole-v1", &["--most-steps", "1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be replayed"));
}

#[test]
fn what_cannot_be_done_is_said_and_exit_code_1() {
    let folder = ppo_input("referee-refused");
    gae_input(&folder, "T=8", "(8,)", 8);
    let path = folder.to_str().unwrap();
    let gae = [
        "gae",
        "--case",
        "T=8",
        "--parameters",
        r#"{"batch":1,"length":8,"calls":2,"warmup":1,"repetitions":3}"#,
    ];
    let ppo = [
        "ppo",
        "--case",
        "CartPole-v1",
        "--parameters",
        r#"{"environment":"CartPole-v1","environments":4,"rollout_steps":32,"minibatches":4,"epochs":2,"iterations":1,"parity_updates":3}"#,
    ];
    let old = r#"{"event":"go","case":"T=8","nonce":"00000000000000aa","repetitions":3}"#.to_owned();
    for (words, order, expected) in [
        (gae, old, "missing field `first`"),
        (gae, go("T=9", 0xaa, 0, 1), "\"T=9\", which this process was not given"),
        (gae, go("T=8", 0xaa, 1 << 31, 1), "asked for repetition 2147483648"),
        (gae, go("T=8", 0xaa, u64::MAX, 2), "asked for repetition 18446744073709551615"),
        (gae, outputs("T=8", 0xaa, &[1 << 31]), "asked for repetition 2147483648"),
        (gae, outputs("T=8", 0xaa, &[1]), "name their folder with --output"),
        (ppo, go("CartPole-v1", 0xaa, 1, 2), "asked for 2 repetitions in a window"),
    ] {
        let output = if expected.contains("--output") { &[][..] } else { &["--output", path] };
        let output =
            conversation(&[&words[..], &["--seed", "5", "--input", path], output].concat(), &[order]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{expected}: {stderr}");
        assert_eq!(output.stdout, b"{\"event\":\"ready\"}\n", "{expected}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_said_instead_of_ready() {
    let (right, wrong) = (ppo_input("referee-read"), folder("referee-read-wrong"));
    let parameters = r#"{"algorithm":"ppo","calls":1,"warmup":0,"repetitions":1}"#;
    let training = r#"{"environment":"CartPole-v1","environments":4,"rollout_steps":32,"minibatches":4,"epochs":2,
        "iterations":1,"parity_updates":3}"#;
    fs::write(wrong.join("file"), "").unwrap();
    let file = wrong.join("file");
    // Trainings alone write long after they are ready.
    for (benchmark, parameters, input, output, expected) in [
        ("update", parameters, &wrong, &right, "parity.safetensors"),
        ("ppo", training, &wrong, &right, "parity.safetensors"),
        ("ppo", training, &right, &file, "cannot make"),
    ] {
        let words = [benchmark, "--case", "CartPole-v1", "--parameters", parameters, "--seed", "1"];
        let folders = ["--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
        let output = conversation(&[&words[..], &folders].concat(), &[]);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        assert!(output.stdout.is_empty(), "it was ready");
    }
}
