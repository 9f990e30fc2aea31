//! Trainings that nobody gave anything, stopped and gone on with, and episodes with what they learnt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use torchforge_env::{AutoresetMode, CartPole, Pcg64, Pendulum, TimeLimit, VectorEnv};
use torchforge_nn::{Mlp, TensorReader, TensorWriter};
use torchforge_rl::{Dqn, DqnOptions, Ppo, PpoOptions, Sac, SacOptions, cleanrl};

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_torchforge"));
    command.args(words);
    command
}

/// What the command prints.
fn told(words: &[&str]) -> String {
    let Output { status, stdout, stderr } = command(words).output().expect("the binary starts");
    assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The one line that the command says when it ends badly.
fn complaint(words: &[&str], code: i32) -> String {
    let Output { status, stdout, stderr } = command(words).output().expect("the binary starts");
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{words:?}: {text}");
    assert!(stdout.is_empty() && text.lines().count() == 1, "{words:?}: {text}");
    text
}

/// A cell of a table by its row's whole name.
fn cell(table: &str, name: &str) -> String {
    let row = table.lines().find(|line| line.split('|').nth(1).is_some_and(|cell| cell.trim() == name));
    row.unwrap_or_else(|| panic!("{name}: {table}")).split('|').nth(2).unwrap().trim().to_owned()
}

/// An empty folder of this test's own.
fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("standalone").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const PENDULUM_PPO: [&str; 3] = ["ppo", "--environment", "Pendulum-v1"];

/// What a training wrote into its folder.
fn outputs(folder: &Path) -> [Vec<u8>; 3] {
    ["episodes.json", "weights.safetensors", "trace.safetensors"]
        .map(|name| fs::read(folder.join(name)).unwrap())
}

#[test]
fn more_steps_than_memory_has_room_for_are_an_error_and_no_crash() {
    for algorithm in ["dqn", "ppo", "sac"] {
        let said = complaint(&[algorithm, "--steps", &u64::MAX.to_string()], 1);
        assert!(said.contains("give it fewer steps"), "{said}");
    }
}

#[test]
fn dqn_without_a_case_needs_nothing_and_prints_a_table() {
    let table = told(&["dqn", "--steps", "12000", "--seed", "3"]);
    assert_eq!(cell(&table, "environment"), "CartPole-v1");
    assert_eq!(cell(&table, "seed"), "3");
    assert_eq!(cell(&table, "environment steps"), "12,000");
    // Every tenth step after the 10,000th.
    assert_eq!(cell(&table, "gradient steps"), "199");
    let mean: f64 = cell(&table, "mean return of the last 100 episodes").parse().unwrap();
    assert!((8.0..=500.0).contains(&mean), "{table}");
}

#[test]
fn ppo_and_sac_without_a_case_need_nothing_either() {
    // Whole iterations of 4 environments and 128 steps, each learnt from 4 times in 4 parts.
    let table = told(&["ppo", "--steps", "1600"]);
    assert_eq!(cell(&table, "environment"), "CartPole-v1");
    assert_eq!(cell(&table, "environment steps"), "1,536");
    assert_eq!(cell(&table, "gradient steps"), "48");
    let table = told(&["sac", "--steps", "1021", "--environment", "MountainCarContinuous-v0"]);
    assert_eq!(cell(&table, "environment"), "MountainCarContinuous-v0");
    assert_eq!(cell(&table, "gradient steps"), "20");
}

/// Trains straight, with checkpoints, and from the last of them: the files are the same.
fn the_same_end(name: &str, words: &[&str], every: &str, gone_on_after: &str) {
    let here = folder(name);
    let [straight, saving, resumed] = ["straight", "saving", "resumed"].map(|name| here.join(name));
    let checkpoint = here.join("checkpoint.safetensors");
    let words = |more: &[&str]| told(&[words, more].concat());
    words(&["--output", text(&straight)]);
    words(&["--output", text(&saving), "--checkpoint", text(&checkpoint), "--checkpoint-every", every]);
    let table = words(&["--output", text(&resumed), "--resume", text(&checkpoint)]);
    assert_eq!(cell(&table, "gone on after"), format!("{gone_on_after} environment steps"));
    assert!(outputs(&saving) == outputs(&straight), "a checkpoint changes nothing");
    assert!(outputs(&resumed) == outputs(&straight), "nor does going on");
}

#[test]
fn every_algorithm_goes_on_from_a_checkpoint_to_the_same_files() {
    let here = folder("other-path");
    the_same_end("dqn", &["dqn", "--steps", "11500"], "5000", "10,000");
    the_same_end("ppo", &["ppo", "--steps", "2560"], "1000", "2,048");
    the_same_end("ppo-of-pendulum", &[&PENDULUM_PPO[..], &["--steps", "6144"]].concat(), "3000", "4,096");
    the_same_end("sac", &["sac", "--steps", "1040"], "512", "1,024");
    // On another path than it was begun on, too.
    let checkpoint = folder("dqn").with_file_name("other-path").join("checkpoint.safetensors");
    let file = text(&checkpoint);
    let dqn = ["dqn", "--steps", "10500"];
    told(&[&dqn[..], &["--checkpoint", file, "--checkpoint-every", "10200"]].concat());
    let [first, second] = ["first", "second"].map(|name| here.join(name));
    told(&[&dqn[..], &["--resume", file, "--simd", "portable", "--output", text(&first)]].concat());
    told(&[&dqn[..], &["--output", text(&second)]].concat());
    assert!(outputs(&first) == outputs(&second));
}

#[test]
fn a_training_that_was_killed_goes_on_to_the_same_files() {
    let here = folder("killed");
    let (checkpoint, straight, resumed) = (here.join("c"), here.join("straight"), here.join("resumed"));
    let dqn = ["dqn", "--steps", "14000", "--seed", "5"];
    let saving = ["--checkpoint", text(&checkpoint), "--checkpoint-every", "200"];
    let mut child =
        command(&[&dqn[..], &saving].concat()).stdout(Stdio::null()).spawn().expect("the binary starts");
    let begun = Instant::now();
    while !checkpoint.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint was written");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    told(&[&dqn[..], &["--resume", text(&checkpoint), "--output", text(&resumed)]].concat());
    told(&[&dqn[..], &["--output", text(&straight)]].concat());
    assert!(outputs(&resumed) == outputs(&straight));
}

#[test]
fn a_checkpoint_of_another_training_is_refused_in_one_line() {
    let here = folder("refused");
    let checkpoint = here.join("checkpoint");
    let file = text(&checkpoint);
    told(&["dqn", "--steps", "100", "--checkpoint", file]);
    for (words, expected) in [
        (vec!["dqn", "--steps", "100", "--seed", "2"], "its seed is 1 and must be 2"),
        (vec!["dqn", "--steps", "200"], "its options is DqnOptions"),
        (vec!["dqn", "--steps", "100", "--environment", "Acrobot-v1"], "its environment is CartPole-v1"),
        (vec!["sac", "--steps", "100"], "its algorithm is dqn and must be sac"),
    ] {
        let text = complaint(&[&words[..], &["--resume", file]].concat(), 1);
        assert!(text.contains(expected) && text.contains("begin it anew"), "{text}");
    }
    let pipe = here.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let waited = Instant::now();
    assert!(complaint(&["dqn", "--resume", text(&pipe)], 1).contains("it is no ordinary file"));
    assert!(waited.elapsed() < Duration::from_secs(5), "it waited for somebody to write into a pipe");
    let missing = here.join("missing");
    assert!(complaint(&["dqn", "--resume", text(&missing)], 1).contains("cannot open the checkpoint"));
    let nowhere = here.join("no-folder/checkpoint");
    let words = ["dqn", "--steps", "100", "--checkpoint", text(&nowhere)];
    assert!(complaint(&words, 1).contains("cannot write the checkpoint"));
}

/// The first process of a container ignores what ends any other, unless it asks for the signal.
#[cfg(target_os = "linux")]
#[test]
fn as_process_1_it_ends_when_it_is_told_to() {
    let first = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
    let unshare = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(first).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    if !unshare(&["true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("this machine lends nobody a process 1: tests/integration/test_edge.py has a container's");
        return;
    }
    let here = folder("first");
    let checkpoint = here.join("checkpoint");
    let program = env!("CARGO_BIN_EXE_torchforge");
    let dqn =
        ["dqn", "--steps", "100000000", "--checkpoint-every", "1000", "--checkpoint", text(&checkpoint)];
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let _ = fs::remove_file(&checkpoint);
        let mut parent = unshare(&[&[program][..], &dqn].concat()).spawn().unwrap();
        let begun = Instant::now();
        while !checkpoint.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint was written");
            std::thread::sleep(Duration::from_millis(5));
        }
        let id = parent.id();
        let child = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        assert!(Command::new("kill").args(["-s", signal, child.trim()]).status().unwrap().success());
        let told = Instant::now();
        let status = loop {
            if let Some(status) = parent.try_wait().unwrap() {
                break status;
            }
            if told.elapsed() > Duration::from_secs(20) {
                parent.kill().unwrap();
                panic!("SIG{signal} was ignored");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(code), "SIG{signal}");
    }
}

#[test]
fn options_of_cleanrl_are_obeyed_by_the_algorithm_that_has_them() {
    let here = folder("tuned");
    let weights = |words: &[&str]| {
        told(&[words, &["--output", text(&here)]].concat());
        outputs(&here)[1].clone()
    };
    for (plain, flags) in [
        (
            vec!["dqn", "--steps", "11000"],
            vec![
                vec!["--tau", "0.5"],
                vec!["--n-step", "3"],
                vec!["--prioritised"],
                vec!["--prioritised", "--n-step", "3"],
                vec!["--alpha", "0.5"],
                vec!["--beta", "1"],
            ],
        ),
        (
            vec!["ppo", "--steps", "1024"],
            vec![
                vec!["--target-kl", "1e-9"],
                vec!["--no-norm-adv"],
                vec!["--no-clip-vloss"],
                vec!["--no-anneal-lr"],
            ],
        ),
        (
            [&PENDULUM_PPO[..], &["--steps", "2048"]].concat(),
            vec![
                vec!["--gamma", "0.9"],
                vec!["--learning-rate", "1e-3"],
                vec!["--target-kl", "1e-9"],
                vec!["--no-norm-adv"],
                vec!["--no-clip-vloss"],
            ],
        ),
        (
            vec!["sac", "--steps", "1010"],
            vec![
                vec!["--tau", "0.5"],
                vec!["--no-autotune"],
                vec!["--alpha", "0.1", "--no-autotune"],
                vec!["--batch", "100"],
                vec!["--hidden", "64,64"],
                vec!["--hidden", "64,48"],
            ],
        ),
    ] {
        let mut seen = vec![weights(&plain)];
        for flags in flags {
            let found = weights(&[plain.clone(), flags.clone()].concat());
            assert!(!seen.contains(&found), "{flags:?} changes nothing");
            seen.push(found);
        }
    }
    let as_before = ["ppo", "--steps", "1024", "--norm-adv", "--clip-vloss", "--anneal-lr"];
    assert!(weights(&as_before) == weights(&["ppo", "--steps", "1024"]));
    let as_before = ["sac", "--steps", "1010", "--hidden", "256,256", "--batch", "256"];
    assert!(weights(&as_before) == weights(&["sac", "--steps", "1010"]));
    for (words, code, expected) in [
        (vec!["dqn", "--target-kl", "0.01"], 2, "invalid option '--target-kl'"),
        (vec!["ppo", "--tau", "0.5"], 2, "invalid option '--tau'"),
        (vec!["sac", "--alpha", "0.1"], 2, "give --no-autotune beside it"),
        (vec!["sac", "--hidden", "64"], 2, "give two numbers from 1 to 4096, as 256,256"),
        (vec!["sac", "--hidden", "64,0"], 2, "give two numbers from 1 to 4096, as 256,256"),
        (vec!["dqn", "--hidden", "64,64"], 2, "invalid option '--hidden'"),
        (vec!["dqn", "--tau", "0"], 1, "tau is 0 and must be more than 0"),
        (vec!["dqn", "--n-step", "0"], 1, "n-step is 0: give at least 1"),
        (vec!["dqn", "--beta", "2"], 1, "beta is 2 and must be a number from 0 to 1"),
        (
            vec!["sac", "--no-autotune", "--alpha", "-1"],
            1,
            "alpha is -1 and must be zero or a positive number",
        ),
    ] {
        let said = complaint(&words, code);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn what_a_training_finds_is_written_as_lines_of_figures_and_changes_nothing_else() {
    let here = folder("metrics");
    let (plain, observed, file) = (here.join("plain"), here.join("observed"), here.join("metrics.csv"));
    for (words, names, lines) in [
        (
            vec!["dqn", "--steps", "11000"],
            "environment_step,gradient_steps,epsilon,loss,mean_q_value",
            // Steps 10,010, 10,020, ..., 10,990.
            99,
        ),
        (
            vec!["ppo", "--steps", "1536"],
            "iterations,environment_steps,gradient_steps,learning_rate,policy_loss,value_loss,entropy,\
             gradient_norm,old_approx_kl,approx_kl,clip_fraction,explained_variance",
            3,
        ),
        (
            vec!["sac", "--steps", "1010"],
            "environment_step,gradient_steps,qf1_loss,qf2_loss,qf1_mean_value,qf2_mean_value,actor_loss,\
             alpha,alpha_loss",
            9,
        ),
    ] {
        told(&[&words[..], &["--output", text(&plain)]].concat());
        told(&[&words[..], &["--output", text(&observed), "--metrics", text(&file)]].concat());
        assert!(outputs(&plain) == outputs(&observed), "{words:?}");
        let written = fs::read_to_string(&file).unwrap();
        let mut rows = written.lines();
        assert_eq!(rows.next(), Some(names));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
        assert_eq!(rows.len(), lines);
        let count = names.split(',').count();
        for (number, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), count, "{row:?}");
            // SAC's first update of the critics comes before the policy's.
            let first_of_sac = words[0] == "sac" && number == 0;
            let numbers = row.iter().filter_map(|field| field.parse::<f64>().ok());
            let numbers = numbers.filter(|number| number.is_finite()).count();
            assert_eq!(numbers, count - if first_of_sac { 3 } else { 0 }, "{row:?}");
        }
    }
    let said = complaint(&["dqn", "--steps", "100", "--metrics", text(&here)], 1);
    assert!(said.contains("cannot write the metrics") && said.contains("give --metrics another file"));
}

#[test]
fn what_a_training_is_to_write_is_tried_before_its_first_step() {
    let here = folder("tried");
    let (in_the_way, checkpoint) = (here.join("file"), here.join("checkpoint"));
    fs::write(&in_the_way, "").unwrap();
    let dqn = ["dqn", "--steps", "1000", "--checkpoint", text(&checkpoint), "--output"];
    let said = complaint(&[&dqn[..], &[text(&in_the_way)]].concat(), 1);
    assert!(said.contains("cannot make"), "{said}");
    assert!(!checkpoint.exists(), "the training had begun");
    let said = complaint(&["dqn", "--steps", "1000", "--checkpoint", text(&here)], 1);
    assert!(said.contains("cannot write the checkpoint"), "{said}");
    assert_eq!(fs::read_dir(&here).unwrap().count(), 1, "a trial leaves nothing behind");
}

#[test]
fn what_was_learnt_is_told_even_where_it_cannot_be_written() {
    let here = folder("unwritten");
    fs::create_dir(here.join("episodes.json")).unwrap();
    let words = ["dqn", "--steps", "100", "--output", text(&here)];
    let Output { status, stdout, stderr } = command(&words).output().expect("the binary starts");
    assert_eq!(status.code(), Some(1));
    assert_eq!(cell(&String::from_utf8(stdout).unwrap(), "environment steps"), "100");
    assert!(String::from_utf8(stderr).unwrap().contains("cannot write"));
}

#[test]
fn a_checkpoint_that_would_never_be_written_is_refused() {
    let here = folder("never");
    let checkpoint = here.join("checkpoint");
    for words in [
        vec!["dqn", "--steps", "1000", "--checkpoint-every", "5000"],
        vec!["sac", "--steps", "1000", "--checkpoint-every", "1000"],
        // PPO stops after each 512 steps alone.
        vec!["ppo", "--steps", "512"],
        vec!["ppo", "--steps", "1024", "--checkpoint-every", "513"],
    ] {
        let said = complaint(&[&words[..], &["--checkpoint", text(&checkpoint)]].concat(), 2);
        assert!(said.contains("--checkpoint would write nothing"), "{said}");
    }
    told(&["ppo", "--steps", "1024", "--checkpoint-every", "512", "--checkpoint", text(&checkpoint)]);
    assert!(checkpoint.exists());
}

#[test]
fn what_was_learnt_is_evaluated_the_same_each_time() {
    let here = folder("evaluated");
    let weights = here.join("weights.safetensors");
    told(&["ppo", "--steps", "25600", "--output", text(&here)]);
    let evaluate =
        ["evaluate", "--weights", text(&weights), "--environment", "CartPole-v1", "--episodes", "20"];
    let table = told(&evaluate);
    assert_eq!((cell(&table, "policy"), cell(&table, "episodes")), ("deterministic".into(), "20".into()));
    let returns = cell(&table, "return: mean ± std");
    let mean: f64 = returns.split(" ± ").next().unwrap().parse().unwrap();
    // A policy that draws at random lasts 22 steps.
    assert!(mean > 60.0, "{table}");
    assert_eq!(told(&evaluate), table);
    assert_eq!(told(&[&evaluate[..], &["--simd", "portable"]].concat()), table);
    assert_ne!(told(&[&evaluate[..], &["--seed", "2"]].concat()), table);
    let drawn = told(&[&evaluate[..], &["--stochastic"]].concat());
    assert_eq!(cell(&drawn, "policy"), "stochastic");
    assert_ne!(cell(&drawn, "return: mean ± std"), returns);
    assert!(
        complaint(&[&evaluate[..], &["--epsilon", "0.1"]].concat(), 2).contains("which has no --epsilon")
    );
}

#[test]
fn ppo_of_continuous_actions_gives_one_policy_on_every_path_and_plays_it() {
    let here = folder("pendulum");
    let [best, portable] = ["best", "portable"].map(|name| here.join(name));
    let words = [&PENDULUM_PPO[..], &["--steps", "4500", "--output"]].concat();
    let table = told(&[&words[..], &[text(&best)]].concat());
    // Two whole rollouts of 2,048 steps, each learnt from ten times in 32 parts.
    assert_eq!(cell(&table, "environment steps"), "4,096");
    assert_eq!(cell(&table, "gradient steps"), "640");
    // An episode costs up to about 3,250 as the environment has it, and never 200 times the ten that rewards are cut at.
    let mean: f64 = cell(&table, "mean return of the last 100 episodes").parse().unwrap();
    assert!((-1_900.0..-600.0).contains(&mean), "{mean}");
    told(&[&words[..], &[text(&portable), "--simd", "portable"]].concat());
    assert!(outputs(&best) == outputs(&portable));

    let weights = best.join("weights.safetensors");
    let evaluate = ["evaluate", "--weights", text(&weights), "--environment"];
    let played = |more: &[&str]| told(&[&evaluate[..], &["Pendulum-v1", "--episodes", "2"], more].concat());
    let table = played(&[]);
    assert!(table.starts_with("| PPO "), "{table}");
    assert_eq!(cell(&table, "policy"), "deterministic");
    assert_eq!(cell(&table, "environment steps"), "400");
    let returns = |table: &str| cell(table, "return: mean ± std");
    assert_eq!(returns(&table), returns(&played(&["--simd", "portable"])));
    assert_ne!(returns(&table), returns(&played(&["--stochastic"])));
    let car = complaint(&[&evaluate[..], &["MountainCarContinuous-v0"]].concat(), 1);
    assert!(car.contains("is F32 [64, 3] and must be F32 [64, 2]"), "{car}");
    let cart_pole = complaint(&[&evaluate[..], &["CartPole-v1"]].concat(), 2);
    assert!(cart_pole.contains("with continuous actions"), "{cart_pole}");
    let nowhere = complaint(&["ppo", "--environment", "Pendulum"], 2);
    assert!(nowhere.contains("use one of Acrobot-v1, CartPole-v1, MountainCar-v0,"), "{nowhere}");
}

#[test]
fn networks_of_other_widths_say_so_and_are_played_with_them_alone() {
    let here = folder("widths");
    told(&["sac", "--steps", "1010", "--hidden", "64,48", "--batch", "100", "--output", text(&here)]);
    let trace = fs::read(here.join("trace.safetensors")).unwrap();
    let trace = TensorReader::new(&trace).unwrap();
    assert_eq!(trace.values::<i64>("hidden", &[4]).unwrap()[..], [64, 48, 64, 48]);
    let weights = here.join("weights.safetensors");
    let evaluate =
        ["evaluate", "--weights", text(&weights), "--environment", "Pendulum-v1", "--episodes", "1"];
    assert!(complaint(&evaluate, 1).contains("is F32 [64, 3] and must be F32 [256, 3]"));
    let table = told(&[&evaluate[..], &["--hidden", "64,48"]].concat());
    assert_eq!(cell(&table, "environment steps"), "200");
}

#[test]
fn weights_of_dqn_and_sac_are_known_by_their_names() {
    let here = folder("known");
    told(&["sac", "--steps", "10", "--output", text(&here)]);
    let weights = here.join("weights.safetensors");
    let pendulum =
        ["evaluate", "--weights", text(&weights), "--environment", "Pendulum-v1", "--episodes", "2"];
    let table = told(&pendulum);
    assert!(table.starts_with("| SAC "), "{table}");
    // Pendulum never ends by itself.
    assert_eq!(cell(&table, "environment steps"), "400");
    let car = ["evaluate", "--weights", text(&weights), "--environment", "MountainCarContinuous-v0"];
    assert!(complaint(&car, 1).contains("is F32 [256, 3] and must be F32 [256, 2]"));
    let cart_pole = ["evaluate", "--weights", text(&weights), "--environment", "CartPole-v1"];
    assert!(complaint(&cart_pole, 2).contains("with continuous actions"));

    // A network whose last layer says: the second action.
    let network = Mlp::new(&[4, 120, 84, 2], &mut Pcg64::new(1)).unwrap();
    let mut parameters = vec![0.0; network.parameters().len()];
    *parameters.last_mut().unwrap() = 1.0;
    let mut tensors = TensorWriter::new();
    network.write("", &parameters, &mut tensors);
    fs::write(&weights, tensors.into_bytes()).unwrap();
    let table = told(&cart_pole);
    assert!(table.starts_with("| DQN "), "{table}");
    let mean: f64 = cell(&table, "return: mean ± std").split(" ± ").next().unwrap().parse().unwrap();
    assert!((8.0..11.0).contains(&mean), "pushed one way, a pole falls within about nine steps: {table}");
    let random = told(&[&cart_pole[..], &["--epsilon", "1"]].concat());
    assert_eq!(cell(&random, "policy"), "greedy, 1 random");
    assert_ne!(cell(&random, "return: mean ± std"), cell(&table, "return: mean ± std"));
    assert!(complaint(&[&cart_pole[..], &["--stochastic"]].concat(), 2).contains("give --epsilon P"));

    for (bytes, expected) in [
        (b"text".to_vec(), "it ends within its header"),
        (TensorWriter::new().into_bytes(), "it holds no networks"),
    ] {
        fs::write(&weights, bytes).unwrap();
        assert!(complaint(&cart_pole, 1).contains(expected));
    }
}

/// What the library gives with two lines is what the command trains: there is one architecture, not two.
#[test]
fn the_library_trains_to_the_bytes_of_the_command() {
    let here = folder("library");
    let weights = |words: &[&str]| {
        told(&[words, &["--seed", "3", "--output", text(&here)]].concat());
        fs::read(here.join("weights.safetensors")).unwrap()
    };
    let limited = || TimeLimit::new(CartPole::new(), 500);

    let options = DqnOptions { steps: 11_000, ..DqnOptions::default() };
    let mut dqn = Dqn::cleanrl_with(limited(), options, 3).unwrap();
    while dqn.environment_steps() < options.steps {
        dqn.step().unwrap();
    }
    let mut tensors = TensorWriter::new();
    let online = dqn.network().online();
    online.write("", online.parameters(), &mut tensors);
    assert!(tensors.into_bytes() == weights(&["dqn", "--steps", "11000"]));

    let options = PpoOptions { iterations: 3, ..PpoOptions::default() };
    let environments = (0..4).map(|_| limited()).collect();
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let mut ppo = Ppo::cleanrl_with(environments, options, 3).unwrap();
    for _ in 0..options.iterations {
        ppo.iterate(&mut Vec::new()).unwrap();
    }
    let mut tensors = TensorWriter::new();
    for (name, network) in [("actor.", ppo.networks().actor()), ("critic.", ppo.networks().critic())] {
        network.write(name, network.parameters(), &mut tensors);
    }
    assert!(tensors.into_bytes() == weights(&["ppo", "--steps", "1536"]));

    let options = PpoOptions { iterations: 2, ..PpoOptions::continuous() };
    let environments = vec![TimeLimit::new(Pendulum::new(), 200)];
    let environments = VectorEnv::new(environments, AutoresetMode::SameStep).unwrap();
    let loss = cleanrl::ppo_continuous_loss();
    let mut ppo = Ppo::cleanrl_continuous_with(environments, options, loss, 3).unwrap();
    for _ in 0..options.iterations {
        ppo.iterate(&mut Vec::new()).unwrap();
    }
    let mut tensors = TensorWriter::new();
    ppo.networks().write(&mut tensors);
    ppo.observation_statistics().for_each(|statistics| statistics.write(&mut tensors));
    assert!(tensors.into_bytes() == weights(&[&PENDULUM_PPO[..], &["--steps", "4096"]].concat()));

    let options = SacOptions { steps: 1_010, ..SacOptions::default() };
    let mut sac = Sac::cleanrl_with(TimeLimit::new(Pendulum::new(), 200), options, 3).unwrap();
    while sac.environment_steps() < options.steps {
        sac.step().unwrap();
    }
    let mut tensors = TensorWriter::new();
    sac.networks().write("", &mut tensors);
    assert!(tensors.into_bytes() == weights(&["sac", "--steps", "1010"]));
}
