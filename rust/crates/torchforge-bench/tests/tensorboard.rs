//! What TensorBoard is given is what the CSV says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fields of a message of protocol buffers: their numbers, and their bytes without length.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (key, rest) = varint(message);
        let (field, rest) = match key % 8 {
            0 => rest.split_at(rest.len() - varint(rest).1.len()),
            1 => rest.split_at(8),
            2 => {
                let (len, rest) = varint(rest);
                rest.split_at(len as usize)
            }
            5 => rest.split_at(4),
            other => panic!("a field of kind {other}"),
        };
        found.push((key / 8, field));
        message = rest;
    }
    found
}

fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let len = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let value = bytes[..len].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, &bytes[len..])
}

/// The field of this number.
fn field(message: &[u8], number: u64) -> Option<&[u8]> {
    fields(message).into_iter().find_map(|(found, field)| (found == number).then_some(field))
}

/// Steps, names and values in the one file of a folder.
fn scalars(folder: &Path) -> Vec<(u64, String, f32)> {
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() == 1 && files[0].to_str().unwrap().contains(".tfevents."), "{files:?}");
    let bytes = fs::read(&files[0]).unwrap();
    let (mut rest, mut events) = (&bytes[..], Vec::new());
    while !rest.is_empty() {
        let (len, after) = rest.split_first_chunk().unwrap();
        // Behind the length and behind the event stand their checksums.
        let (event, after) = after[4..].split_at(u64::from_le_bytes(*len) as usize);
        events.push(event);
        rest = &after[4..];
    }
    assert_eq!(field(events[0], 3), Some(&b"brain.Event:2"[..]));
    let scalar = |event| {
        let value = field(field(event, 5)?, 1)?;
        let step = field(event, 2).map_or(0, |step| varint(step).0);
        let number = f32::from_le_bytes(field(value, 2)?.try_into().unwrap());
        Some((step, String::from_utf8(field(value, 1)?.to_vec()).unwrap(), number))
    };
    events[1..].iter().map(|event| scalar(event).expect("a scalar")).collect()
}

/// The same of the CSV.
fn cells(csv: &Path) -> Vec<(u64, String, f32)> {
    let text = fs::read_to_string(csv).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let is_step = |name: &str| name.starts_with("environment_step");
    let place = names.iter().position(|name| is_step(name)).unwrap();
    let mut found = Vec::new();
    for line in lines {
        let step = line[place].parse().unwrap();
        for (name, cell) in names.iter().zip(line) {
            if !is_step(name) && !cell.is_empty() {
                found.push((step, (*name).to_owned(), cell.parse::<f64>().unwrap() as f32));
            }
        }
    }
    found
}

#[test]
fn event_files_hold_the_figures_of_the_csv_at_their_environment_steps() {
    let here = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tensorboard");
    let _ = fs::remove_dir_all(&here);
    fs::create_dir_all(&here).unwrap();
    for (words, figures) in [
        (["dqn", "--steps", "10100"], 9 * 4),
        (["ppo", "--steps", "1024"], 2 * 11),
        // Of SAC's first update of the critics the policy has no figures yet.
        (["sac", "--steps", "1006"], 5 * 8 - 3),
    ] {
        let (folder, csv) = (here.join("runs").join(words[0]), here.join(format!("{}.csv", words[0])));
        let mut command = Command::new(env!("CARGO_BIN_EXE_torchforge"));
        command.args(words).arg("--tensorboard").arg(&folder).arg("--metrics").arg(&csv);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let written = scalars(&folder);
        assert_eq!(written.len(), figures, "{words:?}");
        assert_eq!(written, cells(&csv));
    }
}

#[test]
fn a_folder_that_cannot_be_is_said_before_the_first_step() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("in the way of events");
    fs::write(&file, "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_torchforge"));
    let output = command.args(["dqn", "--tensorboard"]).arg(file.join("runs")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the events") && said.contains("give --tensorboard another folder"));
}
