//! The real binary, started as the runner starts it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use torchforge_nn::{
    Activation, AdamOptions, DenseDqn, DqnUpdate, Mlp, SimdPath, TensorReader, TensorWriter,
};
use torchforge_referee::number;

mod common;

use common::*;

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
    // Two calls, the first axis.
    assert_eq!(fs::read(folder.join("T=8/returns.npy")).unwrap().len(), 128 + 2 * 8 * 8);
}

#[test]
fn env_step_measures_steps_and_records_gymnasiums() {
    let folder = folder("env-step");
    for (case, shape, len) in [("single", "(40, 1)", 40), ("n=2", "(40, 2)", 80)] {
        fs::create_dir_all(folder.join(case)).unwrap();
        fs::write(folder.join(case).join("actions.npy"), npy(&vec![0.0; len], shape)).unwrap();
    }
    let path = folder.to_str().unwrap();
    let single = r#"{"environments":1,"vector":false,"calls":40,"warmup":1,"repetitions":3}"#;
    let several = r#"{"environments":2,"vector":true,"calls":40,"warmup":0,"repetitions":1}"#;
    let mut words = vec![
        "env-step",
        "--case",
        "single",
        "--parameters",
        single,
        "--case",
        "n=2",
        "--parameters",
        several,
    ];
    // The environments' seed becomes 42, and the actions begin with the first.
    let seed = nonce_of(42).to_string();
    words.extend(["--seed", &seed, "--input", path, "--output", path]);

    let lines = lines(&torchforge(&words));
    let of = |case: &str| lines.iter().find(|line| line["case"] == case).unwrap();
    assert_eq!(of("single")["metrics"]["seconds"].as_array().unwrap().len(), 3);
    assert_eq!(of("single")["counts"]["environment_steps"], 40);
    assert_eq!(of("n=2")["counts"]["environment_steps"], 80);

    // Gymnasium's CartPole-v1, reset(seed=42), after action 0.
    let state = [0.02727336, -0.20172954, 0.03625453, 0.32351475];
    let first = &values(&folder.join("single/observations.npy"))[..4];
    assert!(first.iter().zip(state).all(|(found, wanted)| (found - wanted).abs() < 1e-6), "{first:?}");
    // Pushed to one side only, the pole falls again and again, and a vector's first environment falls alike.
    let fallen = values(&folder.join("single/terminated.npy"));
    assert!(fallen.iter().sum::<f64>() >= 2.0);
    let end = fallen.iter().position(|&flag| flag == 1.0).unwrap();
    let together = values(&folder.join("n=2/observations.npy"));
    let alone = values(&folder.join("single/observations.npy"));
    assert!((0..=end).all(|step| together[step * 8..][..4] == alone[step * 4..][..4]));
    // Alone the next call is a step already; in a vector it is the reset, without a reward.
    assert_eq!(values(&folder.join("n=2/rewards.npy"))[2 * (end + 1)], 0.0);
    assert_eq!(values(&folder.join("single/rewards.npy"))[end + 1], 1.0);
    assert_eq!(values(&folder.join("single/last_observations.npy")), alone[39 * 4..]);
}

#[test]
fn env_step_refuses_what_is_no_step() {
    let folder = folder("env-step-refused");
    fs::create_dir_all(folder.join("a")).unwrap();
    let path = folder.to_str().unwrap();
    let refused = |actions: f64, parameters: &str| {
        fs::write(folder.join("a/actions.npy"), npy(&[actions], "(1, 1)")).unwrap();
        let words = ["env-step", "--case", "a", "--parameters", parameters, "--seed", "1", "--input", path];
        String::from_utf8(torchforge(&words).stderr).unwrap()
    };
    let fine = r#"{"environments":1,"vector":false,"calls":1,"warmup":0,"repetitions":1}"#;
    assert_eq!(refused(1.0, fine), "");
    assert!(refused(2.0, fine).contains("it holds 2, which is no action of CartPole-v1"));
    let two = r#"{"environments":2,"vector":false,"calls":1,"warmup":0,"repetitions":1}"#;
    assert!(refused(1.0, two).contains("without vector there is one environment"));
    let none = r#"{"environments":1,"vector":true,"calls":0,"warmup":0,"repetitions":1}"#;
    assert!(refused(1.0, none).contains("environments or calls is 0; give at least 1"));
}

fn train_dqn(folder: &Path, environment: &str, options: &[&str]) -> Output {
    let parameters = format!(
        r#"{{"environment":"{environment}","steps":1500,"learning_starts":1000,"train_frequency":10,"parity_updates":3}}"#
    );
    train("dqn", folder, environment, &parameters, options)
}

const OUTPUTS: [&str; 4] =
    ["episodes.json", "weights.safetensors", "update.safetensors", "trace.safetensors"];

/// Trains on every path, and on threads; returns the last line of one of them.
fn same_files_whatever_computes(
    benchmark: &str,
    case: &str,
    parameters: &str,
    input: impl Fn(&str) -> PathBuf,
) -> Value {
    let trained = |options: &[&str]| {
        let folder = input(&format!("{benchmark}{}", options.concat()));
        let lines = lines(&train(benchmark, &folder, case, parameters, options));
        let files = OUTPUTS.map(|name| fs::read(folder.join(case).join(name)).unwrap());
        (files, lines.last().unwrap().clone())
    };
    let (expected, measurement) = trained(&[]);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        assert!(trained(&["--simd", &path.to_string()]).0 == expected, "{benchmark} on {path}");
    }
    assert!(trained(&["--threads", "3"]).0 == expected, "{benchmark} on threads");
    measurement
}

#[test]
fn ppo_gives_the_same_bytes_on_every_simd_path_and_on_threads_and_counts_its_steps() {
    let parameters = r#"{"environment":"CartPole-v1","environments":4,"rollout_steps":32,"minibatches":4,
        "epochs":2,"iterations":3,"parity_updates":3}"#;
    let counts = &same_files_whatever_computes("ppo", "CartPole-v1", parameters, ppo_input)["counts"];
    assert_eq!((&counts["environment_steps"], &counts["gradient_steps"]), (&384.into(), &24.into()));
}

#[test]
fn sac_gives_the_same_bytes_on_every_simd_path_and_on_threads_and_counts_its_steps() {
    let parameters = r#"{"environment":"Pendulum-v1","learning_starts":200,"batch":16,"steps":211,
        "parity_updates":3}"#;
    let counts = &same_files_whatever_computes("sac", "Pendulum-v1", parameters, sac_input)["counts"];
    assert_eq!((&counts["environment_steps"], &counts["gradient_steps"]), (&211.into(), &10.into()));
}

#[test]
fn dqn_gives_the_same_bytes_on_every_simd_path_and_on_threads() {
    let trained = |options: &[&str]| {
        let folder = dqn_input(&format!("dqn{}", options.concat()), "CartPole-v1", SIZES);
        lines(&train_dqn(&folder, "CartPole-v1", options));
        OUTPUTS.map(|name| fs::read(folder.join("CartPole-v1").join(name)).unwrap())
    };
    let expected = trained(&["--simd", "portable"]);
    for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
        assert!(trained(&["--simd", &path.to_string()]) == expected, "{path}");
    }
    assert!(trained(&[]) == expected);
    assert!(trained(&["--threads", "3"]) == expected);
}

/// Serves one case of an operation; returns its one measurement.
fn operate(benchmark: &str, case: &str, parameters: &str, [input, output]: [&Path; 2], simd: &str) -> Value {
    let words = [benchmark, "--case", case, "--parameters", parameters, "--seed", "1", "--simd", simd];
    let folders = ["--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
    let [measurement] = lines(&torchforge(&[&words[..], &folders].concat())).try_into().expect("one line");
    measurement
}

/// The parameters after all updates, by their names, to the bit.
fn after(file: &[u8]) -> Vec<(String, Vec<u32>)> {
    let given = TensorReader::new(file).unwrap();
    let names = given.names().into_iter().filter(|name| name.starts_with("after."));
    let bits = |name: &str| {
        let values = given.f32(name, &given.shape(name).unwrap()).unwrap();
        values.into_iter().map(f32::to_bits).collect()
    };
    let mut found: Vec<_> = names.map(|name| (name.clone(), bits(&name))).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

#[test]
fn the_updates_that_are_timed_are_a_trainings_of_the_drawn_minibatches_on_every_path() {
    type Input = fn(&str) -> PathBuf;
    let dqn: Input = |test| dqn_input(test, "CartPole-v1", SIZES);
    let cases: [(&str, Input, &str, &str); 3] = [
        ("dqn", dqn, "CartPole-v1", r#""steps":1,"learning_starts":10,"train_frequency":10"#),
        (
            "ppo",
            ppo_input,
            "CartPole-v1",
            r#""environments":4,"rollout_steps":128,"minibatches":4,"epochs":4,"iterations":1"#,
        ),
        ("sac", sac_input, "Pendulum-v1", r#""steps":1,"learning_starts":10,"batch":256"#),
    ];
    for (algorithm, input, case, training) in cases {
        let folder = input(&format!("update-{algorithm}"));
        let file = folder.join(case).join("parity.safetensors");
        let whole = fs::read(&file).unwrap();
        // With three updates SAC's policy learns twice.
        fs::write(&file, drawn(&whole, 1, 0, 3)).unwrap();
        let training = format!(r#"{{"environment":"{case}","parity_updates":3,{training}}}"#);
        let trained = || {
            lines(&train(algorithm, &folder, case, &training, &[]));
            fs::read(folder.join(case).join("update.safetensors")).unwrap()
        };
        let drawn = after(&trained());
        fs::write(&file, whole).unwrap();
        let wanted = trained();
        let parameters = format!(r#"{{"algorithm":"{algorithm}","calls":3,"warmup":1,"repetitions":3}}"#);
        for path in SimdPath::ALL.into_iter().filter(|path| path.is_available()) {
            let output = folder.join(path.to_string());
            let measured = operate("update", case, &parameters, [&folder, &output], &path.to_string());
            assert_eq!(measured["metrics"]["seconds"].as_array().unwrap().len(), 3);
            assert_eq!(measured["counts"]["updates"], 3);
            let program = fs::metadata(env!("CARGO_BIN_EXE_torchforge")).unwrap().len();
            assert_eq!(measured["metrics"]["program_bytes"].as_f64(), Some(program as f64));
            let written = |name: &str| fs::read(output.join(case).join(name)).unwrap();
            assert!(written("update.safetensors") == wanted, "{algorithm} on {path}: the files differ");
            assert!(
                after(&written("drawn.safetensors")) == drawn,
                "{algorithm} on {path}: the parameters differ"
            );
        }
    }
}

#[test]
fn the_values_that_are_timed_are_the_given_networks_of_scaled_observations() {
    let folder = dqn_input("act", "CartPole-v1", SIZES);
    let parameters = r#"{"environment":"CartPole-v1","calls":30,"warmup":0,"repetitions":2}"#;
    let measured = operate("act", "CartPole-v1", parameters, [&folder, &folder], "portable");
    assert_eq!(measured["counts"]["observations"], 30);

    let given = fs::read(folder.join("CartPole-v1/parity.safetensors")).unwrap();
    let given = TensorReader::new(&given).unwrap();
    let online = Mlp::read(&SIZES, Activation::Relu, "online.", &given).unwrap();
    let observations = given.f32("observations", &given.shape("observations").unwrap()).unwrap();
    let mut network =
        DenseDqn::from_networks(online.clone(), online, 1, 0.99, AdamOptions::default()).unwrap();
    let rows = observations.chunks_exact(SIZES[0]).take(30).zip(0..);
    let scaled = rows.map(|(row, call)| {
        let scale = 0.5 + (number(1, 0, call) % (1 << 20)) as f32 / (1 << 21) as f32;
        row.iter().map(|value| value * scale).collect::<Vec<_>>()
    });
    let wanted: Vec<f32> = scaled.flat_map(|row| network.q_values(&row).unwrap().to_vec()).collect();
    let found = fs::read(folder.join("CartPole-v1/values.safetensors")).unwrap();
    assert_eq!(TensorReader::new(&found).unwrap().f32("values", &[30, 2]).unwrap(), wanted);

    let many = parameters.replace("30", "100000");
    let words = ["act", "--case", "CartPole-v1", "--parameters", &many, "--seed", "1"];
    let refused = torchforge(&[&words[..], &["--input", folder.to_str().unwrap()]].concat());
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("at least 100000 rows"));
}

/// What our networks say of the first six rows of a file, two a call.
#[test]
fn the_rows_that_are_timed_have_the_values_of_one_row_alone() {
    let sizes = [4, 16, 16, 2];
    let folder = dqn_input("nn-act", "small", sizes);
    let parameters = r#"{"algorithm":"dqn","hidden":16,"rows":2,"calls":3,"warmup":0,"repetitions":2}"#;
    let measured = operate("nn-act", "small", parameters, [&folder, &folder], "portable");
    assert_eq!(measured["counts"]["observations"], 2);

    let given = fs::read(folder.join("small/parity.safetensors")).unwrap();
    let given = TensorReader::new(&given).unwrap();
    let online = Mlp::read(&sizes, Activation::Relu, "online.", &given).unwrap();
    let observations = given.f32("observations", &given.shape("observations").unwrap()).unwrap();
    let mut network =
        DenseDqn::from_networks(online.clone(), online, 1, 0.99, AdamOptions::default()).unwrap();
    let calls = observations.chunks_exact(2 * sizes[0]).take(3).zip(0..);
    let scaled = calls.flat_map(|(rows, call)| {
        let scale = 0.5 + (number(1, 0, call) % (1 << 20)) as f32 / (1 << 21) as f32;
        rows.iter().map(move |value| value * scale)
    });
    let scaled: Vec<f32> = scaled.collect();
    let wanted: Vec<f32> =
        scaled.chunks(sizes[0]).flat_map(|row| network.q_values(row).unwrap().to_vec()).collect();
    let found = fs::read(folder.join("small/values.safetensors")).unwrap();
    assert_eq!(TensorReader::new(&found).unwrap().f32("values", &[3, 2, 2]).unwrap(), wanted);

    for (wrong, said) in [
        (parameters.replace("\"rows\":2", "\"rows\":100000"), "at least 300000 rows"),
        (parameters.replace("\"rows\":2", "\"rows\":0"), "rows is 0; give at least 1"),
        (parameters.replace("\"rows\":2", "\"rows\":2,\"each\":4"), "each is more than calls"),
        (parameters.replace("dqn", "sac"), "SAC's policy acts after one observation"),
        (
            r#"{"algorithm":"sac","rows":1,"calls":3,"warmup":0,"repetitions":2}"#.into(),
            "needs observation, action and hidden",
        ),
    ] {
        let words = ["nn-act", "--case", "small", "--parameters", &wrong, "--seed", "1"];
        let refused = torchforge(&[&words[..], &["--input", folder.to_str().unwrap()]].concat());
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && stderr.contains(said), "{stderr}");
    }
}

#[test]
fn critics_without_sizes_or_with_other_minibatches_are_refused() {
    let folder = sac_input("nn-step");
    let sizes = r#""hidden":256,"observation":3,"action":1,"batch":16,"#;
    let asked = |sizes: &str| {
        let parameters = format!(r#"{{"algorithm":"critics",{sizes}"calls":2,"warmup":0,"repetitions":1}}"#);
        let words = ["update", "--case", "Pendulum-v1", "--parameters", &parameters, "--seed", "1"];
        let found = torchforge(&[&words[..], &["--input", folder.to_str().unwrap()]].concat());
        (found.status.success(), String::from_utf8_lossy(&found.stderr).into_owned())
    };
    assert!(asked(sizes).0);
    assert!(asked("").1.contains("critics need observation, action and hidden"));
    assert!(asked(&sizes.replace("16", "17")).1.contains("minibatches of 17 rows"));
}

#[test]
#[cfg(any(feature = "candle", feature = "burn"))]
fn every_backend_makes_the_updates_and_learns() {
    let names = [(cfg!(feature = "candle"), "candle"), (cfg!(feature = "burn"), "burn")];
    let dqn = dqn_input("backends-dqn", "CartPole-v1", SIZES);
    let (ppo, sac) = (ppo_input("backends-ppo"), sac_input("backends-sac"));
    let cases = [
        ("dqn", dqn, "CartPole-v1", r#""steps":1500,"learning_starts":1000,"train_frequency":10"#, 49),
        (
            "ppo",
            ppo,
            "CartPole-v1",
            r#""environments":4,"rollout_steps":32,"minibatches":4,"epochs":2,"iterations":3"#,
            24,
        ),
        ("sac", sac, "Pendulum-v1", r#""steps":211,"learning_starts":200,"batch":16"#, 10),
    ];
    for (benchmark, folder, case, training, gradient_steps) in cases {
        let parameters = format!(r#"{{"environment":"{case}","parity_updates":3,{training}}}"#);
        let tensors = |name: &str| fs::read(folder.join(case).join(name)).unwrap();
        lines(&train(benchmark, &folder, case, &parameters, &[]));
        let (own, own_weights) = (tensors("update.safetensors"), tensors("weights.safetensors"));
        let own = TensorReader::new(&own).unwrap();
        for (_, backend) in names.into_iter().filter(|(compiled, _)| *compiled) {
            let lines = lines(&train(benchmark, &folder, case, &parameters, &["--backend", backend]));
            assert_eq!(lines.last().unwrap()["counts"]["gradient_steps"], gradient_steps);
            let found = tensors("update.safetensors");
            let found = TensorReader::new(&found).unwrap();
            assert_eq!(found.names(), own.names(), "{benchmark} on {backend}");
            for name in &own.names() {
                let shape = own.shape(name).unwrap();
                let (found, own) = (found.f32(name, &shape).unwrap(), own.f32(name, &shape).unwrap());
                let largest = own.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
                let apart = found.iter().zip(&own).fold(0.0_f32, |most, (f, o)| most.max((f - o).abs()));
                assert!(apart <= 1e-4 * largest, "{benchmark} on {backend}, {name}: {apart} of {largest}");
            }
            let weights = tensors("weights.safetensors");
            let names = |bytes: &[u8]| TensorReader::new(bytes).unwrap().names();
            assert_eq!(names(&weights), names(&own_weights), "{benchmark} on {backend}");
        }
    }
}

#[test]
fn what_the_programs_compilation_took_is_said_where_it_is_known() {
    let folder = ppo_input("compiled");
    let program = folder.join("torchforge-copied");
    fs::copy(env!("CARGO_BIN_EXE_torchforge"), &program).unwrap();
    let measured = || {
        let parameters = r#"{"algorithm":"ppo","calls":1,"warmup":0,"repetitions":1}"#;
        let words = ["update", "--case", "CartPole-v1", "--parameters", parameters, "--seed", "1", "--input"];
        let output = Command::new(&program).args(words).arg(&folder).output().expect("the copy starts");
        let [measurement] = lines(&output).try_into().expect("one line");
        measurement["metrics"]["compile_seconds"].clone()
    };
    assert_eq!(measured(), Value::Null);
    fs::write(folder.join("torchforge-copied.compile-seconds"), "341.8\n").unwrap();
    assert_eq!(measured(), 341.8);
    fs::write(folder.join("torchforge-copied.compile-seconds"), "inf\n").unwrap();
    assert_eq!(measured(), Value::Null);
}

#[test]
fn dqn_trains_counts_its_steps_and_writes_its_outputs() {
    let folder = dqn_input("dqn", "CartPole-v1", SIZES);
    let lines = lines(&train_dqn(&folder, "CartPole-v1", &[]));
    let measurement = lines.last().unwrap();
    assert_eq!(measurement["counts"]["environment_steps"], 1500);
    assert_eq!(measurement["counts"]["gradient_steps"], 49);
    let seconds = |name: &str| measurement["metrics"][name].as_f64().unwrap();
    let parts = seconds("training_seconds") + seconds("initialisation_seconds");
    assert!((seconds("wall_seconds") - parts).abs() < 1e-6);

    let episodes = fs::read(folder.join("CartPole-v1/episodes.json")).unwrap();
    let episodes: Vec<Value> = serde_json::from_slice(&episodes).unwrap();
    assert_eq!(episodes[0]["step"].as_u64().unwrap() + 1, episodes[0]["length"].as_u64().unwrap());
    assert_eq!(episodes[0]["return"].as_f64(), episodes[0]["length"].as_f64());

    let weights = fs::read(folder.join("CartPole-v1/weights.safetensors")).unwrap();
    Mlp::read(&SIZES, Activation::Relu, "", &TensorReader::new(&weights).unwrap()).unwrap();
    let update = fs::read(folder.join("CartPole-v1/update.safetensors")).unwrap();
    let update = TensorReader::new(&update).unwrap();
    assert!(update.f32("loss", &[1]).unwrap()[0] > 0.0);
    assert_eq!(update.f32("gradient.2.weight", &[84, 120]).unwrap().len(), 84 * 120);
    assert_eq!(update.f32("parameter.4.bias", &[2]).unwrap().len(), 2);
}

#[test]
fn a_training_whose_files_cannot_be_used_never_begins() {
    let (right, wrong) = (dqn_input("tried", "CartPole-v1", SIZES), folder("tried-wrong"));
    fs::write(wrong.join("file"), "").unwrap();
    // It would take long enough to tell how far it is.
    let parameters = r#"{"environment":"CartPole-v1","steps":100000000,"learning_starts":100000000,
        "train_frequency":100000000,"parity_updates":1}"#;
    let of_more = parameters.replace(r#""parity_updates":1"#, r#""parity_updates":1000"#);
    let of_sac = sac_input("tried-sac");
    fs::rename(of_sac.join("Pendulum-v1"), of_sac.join("CartPole-v1")).unwrap();
    for (input, output, parameters, expected) in [
        (&wrong, &right, parameters, "parity.safetensors"),
        (&of_sac, &right, parameters, "tensor \"online.0.weight\" is missing"),
        (&right, &right, of_more.as_str(), "observations has 0 values"),
        (&right, &wrong.join("file"), parameters, "cannot make"),
    ] {
        let words = ["dqn", "--case", "CartPole-v1", "--parameters", parameters, "--seed", "1"];
        let folders = ["--input", input.to_str().unwrap(), "--output", output.to_str().unwrap()];
        let refused = torchforge(&[&words[..], &folders].concat());
        let stderr = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(expected), "{stderr}");
        assert!(refused.stdout.is_empty(), "the training had begun");
    }
}

/// A parity file with one tensor in the place of another.
fn with_tensor(bytes: &[u8], name: &str, shape: &[usize], value: Option<u64>) -> Vec<u8> {
    let (given, mut tensors) = (TensorReader::new(bytes).unwrap(), TensorWriter::new());
    for each in given.names().iter().filter(|each| *each != name) {
        let shape = given.shape(each).unwrap();
        match given.f32(each, &shape) {
            Ok(values) => tensors.push(each.clone(), shape, values),
            Err(_) => {
                let values = given.i64(each, &shape).unwrap();
                tensors.push_all(each.clone(), shape, &values);
            }
        }
    }
    match value {
        Some(value) => {
            tensors.push_all(name.into(), shape.to_vec(), &vec![value as i64; shape.iter().product()]);
        }
        None => tensors.push(name.into(), shape.to_vec(), vec![0.0; shape.iter().product()]),
    }
    tensors.into_bytes()
}

#[test]
fn a_file_whose_tensors_do_not_fit_is_an_error_and_no_crash() {
    let (dqn, ppo, sac) =
        (dqn_input("unfit-dqn", "CartPole-v1", SIZES), ppo_input("unfit-ppo"), sac_input("unfit-sac"));
    for (algorithm, folder, case, name, shape, value) in [
        ("dqn", &dqn, "CartPole-v1", "actions", &[0, 1 << 40][..], Some(0)),
        ("dqn", &dqn, "CartPole-v1", "actions", &[0, 1 << 40, 1 << 40], Some(0)),
        ("dqn", &dqn, "CartPole-v1", "rewards", &[0, 1 << 40], None),
        ("dqn", &dqn, "CartPole-v1", "actions", &[MINIBATCHES, 16], Some(2)),
        ("dqn", &dqn, "CartPole-v1", "actions", &[MINIBATCHES, 16], Some(u64::MAX)),
        ("dqn", &dqn, "CartPole-v1", "online.2.weight", &[120 * 84], None),
        ("dqn", &dqn, "CartPole-v1", "online.2.weight", &[84, 0], None),
        ("ppo", &ppo, "CartPole-v1", "rollout.rewards", &[8, 0], None),
        ("ppo", &ppo, "CartPole-v1", "rollout.next_value", &[0], None),
        ("ppo", &ppo, "CartPole-v1", "actions", &[MINIBATCHES, 16], Some(2)),
        ("ppo", &ppo, "CartPole-v1", "returns", &[MINIBATCHES, 15], None),
        ("ppo", &ppo, "CartPole-v1", "critic.4.weight", &[64], None),
        ("sac", &sac, "Pendulum-v1", "rewards", &[0, 1 << 40], None),
        ("sac", &sac, "Pendulum-v1", "noise.policy", &[MINIBATCHES, 2, 0, 1], None),
        ("sac", &sac, "Pendulum-v1", "log_alpha", &[0], None),
    ] {
        let file = folder.join(case).join("parity.safetensors");
        let whole = fs::read(&file).unwrap();
        let oracle = ["oracle", algorithm, file.to_str().unwrap(), "/dev/null"];
        assert!(torchforge(&oracle).status.success(), "{algorithm}: the whole file");
        fs::write(&file, with_tensor(&whole, name, shape, value)).unwrap();
        let parameters = format!(r#"{{"algorithm":"{algorithm}","calls":1,"warmup":0,"repetitions":1}}"#);
        let path = folder.to_str().unwrap();
        let update = [
            "update",
            "--case",
            case,
            "--parameters",
            &parameters,
            "--seed",
            "1",
            "--input",
            path,
            "--output",
            path,
        ];
        for words in [&update[..], &oracle] {
            let output = torchforge(words);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{name} {shape:?} {words:?}: {stderr}");
            assert!(stderr.contains("parity.safetensors cannot be used"), "{name} {shape:?}: {stderr}");
        }
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn a_minibatch_that_no_memory_holds_is_a_wrong_argument() {
    let parameters = r#"{"environment":"Pendulum-v1","learning_starts":200,"batch":4611686018427387904,"steps":211,
        "parity_updates":3}"#;
    let words = ["sac", "--case", "a", "--parameters", parameters, "--seed", "1", "--input", "."];
    let output = torchforge(&words);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("a minibatch has 4611686018427387904 rows"), "{stderr}");
}

#[test]
fn dqn_learns_in_every_environment_with_discrete_actions() {
    for (environment, sizes) in [("Acrobot-v1", [6, 120, 84, 3]), ("MountainCar-v0", [2, 120, 84, 3])] {
        let folder = dqn_input(environment, environment, sizes);
        let lines = lines(&train_dqn(&folder, environment, &[]));
        assert_eq!(lines.last().unwrap()["counts"]["gradient_steps"], 49);
        let weights = fs::read(folder.join(environment).join("weights.safetensors")).unwrap();
        Mlp::read(&sizes, Activation::Relu, "", &TensorReader::new(&weights).unwrap()).unwrap();
    }
    let pendulum = train_dqn(&folder("none"), "Pendulum-v1", &[]);
    assert_eq!(pendulum.status.code(), Some(2));
    let stderr = String::from_utf8(pendulum.stderr).unwrap();
    assert!(stderr.contains("use one of Acrobot-v1, CartPole-v1, MountainCar-v0"), "{stderr}");
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
        (vec!["dqn", "--case", "a", "--backend", "torch"], "the backends are candle and burn"),
        #[cfg(not(feature = "burn"))]
        (vec!["dqn", "--case", "a", "--backend", "burn"], "compiled without burn"),
        (vec!["dqn", "--steps", "0"], "see `torchforge --help`"),
        (vec!["dqn", "--threads", "0"], "see `torchforge --help`"),
        (vec!["dqn", "--threads", "17"], "--threads is 17, and no training divides"),
        (vec!["sac", "--case", "a", "--threads", "17"], "give 1 to 16"),
        (vec!["oracle", "td3", "in", "out"], "there is no oracle of \"td3\""),
        (vec!["oracle", "sac", "in"], "2 words are given; see `torchforge --help`"),
        (vec!["oracle", "sac", "in", "out", "more"], "4 words are given"),
        (vec!["oracle", "sac", "in", "out", "--simd"], "see `torchforge --help`"),
        (vec!["version", "more"], "see `torchforge --help`"),
        (vec!["--version", "--seed"], "see `torchforge --help`"),
        (vec!["sleep", "10"], "see `torchforge --help`"),
        (vec!["dqn", "--seed", "1", "--input", "."], "no case is given, and --input belongs to one"),
        (vec!["dqn", "--case", "a", "--resume", "x"], "--resume is of a training with no case"),
        (vec!["ppo", "--steps", "511"], "give 512 or more"),
        (vec!["sac", "--environment", "CartPole-v1"], "use one of MountainCarContinuous-v0, Pendulum-v1"),
        (vec!["sac", "--checkpoint-every", "5"], "give --checkpoint FILE"),
        (vec!["dqn", "--checkpoint", "x", "--checkpoint-every", "0"], "see `torchforge --help`"),
        (vec!["help", "more"], "unexpected argument"),
        (vec!["evaluate", "--weights", "x"], "give --environment ID"),
        (vec!["evaluate", "--environment", "CartPole-v1"], "give --weights FILE"),
        (vec!["evaluate", "--epsilon", "1.5"], "give a number from 0 to 1"),
        (vec!["dqn", "--case=a", "--seed", "1"], "case \"a\" has no parameters"),
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
fn sizes_of_the_pipeline_that_do_not_fit_are_wrong_arguments() {
    for (sizes, expected) in [
        (r#""does":"files","rows_a_call":4,"batch":4"#, "rows_a_call must be 8"),
        (r#""does":"epochs","rows_a_call":4,"batch":4"#, "calls times batch must be rows"),
        (r#""does":"epochs","rows_a_call":0,"batch":0"#, "batch is 0"),
        (r#""does":"nothing","rows_a_call":4,"batch":4"#, "unknown variant `nothing`"),
    ] {
        let rest = r#""rows":8,"row_bytes":8,"workers":0,"calls":3,"warmup":0,"repetitions":1"#;
        let parameters = format!("{{{sizes},{rest}}}");
        let words = ["pipeline", "--case", "a", "--parameters", &parameters, "--seed", "1", "--input", "."];
        let output = torchforge(&words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{sizes}: {stderr}");
        assert!(stderr.contains(expected), "{sizes}: {stderr}");
    }
}

#[test]
fn sizes_that_can_never_be_learnt_from_are_wrong_arguments_and_the_reason_is_true() {
    let refused = |changed: &str, to: &str| {
        let parameters = r#"{"environment":"CartPole-v1","environments":4,"rollout_steps":128,"minibatches":4,
            "epochs":4,"iterations":1,"parity_updates":1}"#;
        let changed_to = format!(r#""{changed}":{to},"#);
        let begin = parameters.find(&format!(r#""{changed}""#)).unwrap();
        let end = begin + parameters[begin..].find(',').unwrap() + 1;
        let parameters = [&parameters[..begin], &changed_to, &parameters[end..]].concat();
        let words = ["ppo", "--case", "a", "--parameters", &parameters, "--seed", "1", "--input", "."];
        let output = torchforge(&words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        stderr
    };
    assert!(refused("minibatches", "1000").contains("512 steps cannot be divided into 1000 minibatches"));
    assert!(refused("minibatches", "512").contains("a minibatch has 1 rows and must have 2 to 16777216"));
    assert!(refused("minibatches", "0").contains("minibatches is 0: give at least 1"));
    assert!(refused("epochs", "0").contains("epochs is 0: give at least 1"));
    assert!(refused("rollout_steps", "0").contains("rollout steps is 0: give at least 1"));
    assert!(refused("rollout_steps", "1099511627776").contains("a rollout has 4398046511104 steps"));
    assert!(refused("environments", "4611686018427387904").contains("give it at most 16777216"));
}

#[test]
fn what_the_launch_allows_must_be_a_number_of_threads() {
    for (allowed, works) in [("2", true), ("64", true), ("0", false), ("many", false)] {
        let output = Command::new(env!("CARGO_BIN_EXE_torchforge"))
            .args(["dqn", "--steps", "10"])
            .env("FORGE_BENCH_THREADS", allowed)
            .output()
            .expect("the binary starts");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(if works { 0 } else { 2 }), "{stderr}");
        assert!(works || stderr.contains("FORGE_BENCH_THREADS is"), "{stderr}");
    }
}

#[test]
fn what_the_launch_caps_is_the_best_that_is_chosen_and_must_be_here() {
    let missing = SimdPath::ALL.into_iter().find(|path| !path.is_available()).expect("no processor has all");
    for (cap, words, expected) in [
        ("portable", &["dqn", "--steps", "10"][..], Ok(" portable |")),
        (missing.to_string().as_str(), &["dqn", "--steps", "10"], Err("FORGE_BENCH_SIMD cannot be used")),
        ("sse9", &["ppo"], Err("FORGE_BENCH_SIMD cannot be used")),
        ("portable", &["update", "--backend", "candle"], Err("caps our own kernels alone")),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_torchforge"))
            .args(words)
            .env("FORGE_BENCH_SIMD", cap)
            .output()
            .expect("the binary starts");
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(
            output.status.code(),
            Some(if expected.is_ok() { 0 } else { 2 }),
            "{cap} {words:?}: {stderr}"
        );
        match expected {
            Ok(row) => assert!(stdout.contains(row), "{stdout}"),
            Err(why) => assert!(stderr.contains(why), "{stderr}"),
        }
    }
}

#[test]
fn a_benchmark_without_networks_refuses_what_it_would_ignore() {
    for benchmark in ["env-step", "gae", "pipeline"] {
        for [option, value] in [
            ["--simd", "portable"],
            ["--threads", "2"],
            #[cfg(feature = "candle")]
            ["--backend", "candle"],
        ] {
            let words = [benchmark, "--case", "a", "--parameters", "{}", "--seed", "1", "--input", "."];
            let output = torchforge(&[&words[..], &[option, value]].concat());
            assert_eq!(output.status.code(), Some(2));
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains(&format!("{benchmark} computes no network")), "{stderr}");
        }
    }
}

#[test]
fn help_is_given_wherever_it_is_asked_for() {
    for command in ["oracle", "version", "sleep", "dqn", "gae", "evaluate"] {
        let output = torchforge(&[command, "--help"]);
        assert!(output.status.success(), "{command}");
        assert!(String::from_utf8(output.stdout).unwrap().starts_with("Usage: torchforge"), "{command}");
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
