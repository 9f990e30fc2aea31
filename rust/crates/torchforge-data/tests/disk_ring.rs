//! What a ring on disk promises.
#![cfg(feature = "dataset")]

mod dataset_files;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use dataset_files::scratch;
use proptest::prelude::*;
use torchforge_data::{Batch, DatasetError, DiskReplayBuffer, Error, Rows, Transition};
use torchforge_env::Pcg64;

fn push(buffer: &mut DiskReplayBuffer<u16>, number: u32, width: usize) {
    let observation = vec![number as f32; width];
    let next_observation = vec![number as f32 + 0.5; width];
    buffer
        .push(Transition {
            observation: &observation,
            next_observation: &next_observation,
            action: &[number as u16, (number >> 16) as u16, 7],
            reward: -(number as f32),
            terminated: number % 2 == 1,
            truncated: number % 3 == 1,
        })
        .unwrap();
}

/// The numbers of all transitions that are held, each of which must be whole.
fn held(buffer: &DiskReplayBuffer<u16>) -> BTreeSet<u32> {
    let width = buffer.observation_len();
    let mut batch = Batch::new(30 * buffer.len().max(1), width, 3).unwrap();
    match buffer.sample(&mut Pcg64::new(1), &mut batch) {
        Err(Error::Empty) => return BTreeSet::new(),
        result => result.unwrap(),
    }
    let mut numbers = BTreeSet::new();
    for row in 0..batch.size() {
        let action = &batch.actions()[3 * row..][..3];
        let number = u32::from(action[0]) | u32::from(action[1]) << 16;
        assert_eq!(action[2], 7);
        assert!(batch.observations()[row * width..][..width].iter().all(|&value| value == number as f32));
        assert!(
            batch.next_observations()[row * width..][..width]
                .iter()
                .all(|&value| value == number as f32 + 0.5)
        );
        assert_eq!(batch.rewards()[row], -(number as f32));
        assert_eq!(batch.terminations()[row] > 0.0, number % 2 == 1);
        assert_eq!(batch.truncations()[row] > 0.0, number % 3 == 1);
        numbers.insert(number);
    }
    assert_eq!(numbers.len(), buffer.len(), "every transition is drawn once at least");
    numbers
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Push(u32),
    Seal,
    Reopen,
    /// A copy of the file now is what a killed process leaves.
    Crash,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (1_u32..20).prop_map(Event::Push),
        1 => Just(Event::Seal),
        1 => Just(Event::Reopen),
        2 => Just(Event::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_newest_transitions_are_held_but_for_an_unsealed_block(
        capacity in 1_usize..40,
        width in 1_usize..4,
        events in prop::collection::vec(event(), 1..25),
    ) {
        let folder = scratch("ring");
        let (path, copy) = (folder.join("ring"), folder.join("copy"));
        let mut buffer = DiskReplayBuffer::create(&path, capacity, width, 3).unwrap();
        let block = buffer.block_rows() as u32;
        prop_assert!(buffer.capacity() >= capacity);
        let (mut pushed, mut sealed) = (0_u32, 0_u32);
        for event in events {
            match event {
                Event::Push(count) => {
                    for _ in 0..count {
                        push(&mut buffer, pushed, width);
                        pushed += 1;
                        if pushed.is_multiple_of(block) {
                            sealed = pushed;
                        }
                    }
                }
                Event::Seal => {
                    buffer.seal();
                    sealed = pushed;
                }
                Event::Reopen => {
                    drop(buffer);
                    sealed = pushed;
                    buffer = DiskReplayBuffer::open(&path).unwrap();
                }
                Event::Crash => {
                    fs::copy(&path, &copy).unwrap();
                    let left = DiskReplayBuffer::open(&copy).unwrap();
                    let held = held(&left);
                    prop_assert_eq!(held.last().map_or(0, |newest| newest + 1), sealed);
                    prop_assert!(pushed - sealed < block);
                    prop_assert!(left.len() >= left.capacity().min(sealed as usize));
                    left.verify().unwrap();
                }
            }
            let held = held(&buffer);
            prop_assert_eq!(held.last().map_or(0, |newest| newest + 1), pushed);
            prop_assert!(buffer.len() >= buffer.capacity().min(pushed as usize));
            prop_assert!(held.first().is_none_or(|&oldest| (pushed - oldest) as usize == buffer.len()));
        }
    }

    #[test]
    fn a_file_with_changed_bytes_is_refused_or_read_within_its_bounds(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_header in any::<bool>(),
    ) {
        let folder = scratch("ring-mutated");
        let path = folder.join("ring");
        let mut buffer = DiskReplayBuffer::create(&path, 10, 1, 3).unwrap();
        (0..17).for_each(|number| push(&mut buffer, number, 1));
        drop(buffer);
        let mut bytes = fs::read(&path).unwrap();
        let len = if in_header { 60 } else { bytes.len() };
        for (index, value) in changes {
            bytes[index.index(len)] = value;
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(buffer) = DiskReplayBuffer::<u16>::open(&path) {
            let mut batch = Batch::new(100, 1, 3).unwrap();
            let _ = buffer.sample(&mut Pcg64::new(1), &mut batch);
            let _ = buffer.verify();
        }
    }
}

/// Where the child process finds its file.
const FILE: &str = "TORCHFORGE_DATA_TEST_RING";

#[test]
fn a_process_that_is_killed_while_it_writes_loses_at_most_the_last_block() {
    let Ok(program) = std::env::current_exe() else { return };
    let folder = scratch("ring-killed");
    let path = folder.join("ring");
    drop(DiskReplayBuffer::<u16>::create(&path, 3_000, 5, 3).unwrap());
    let mut before = 0;
    for round in 0..12 {
        let mut child = Command::new(&program)
            .args(["--exact", "child_that_pushes_until_it_is_killed", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It says how many it has pushed, and goes on pushing meanwhile.
        let said = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .filter_map(|line| line.unwrap().strip_prefix("pushed ")?.parse::<u32>().ok())
            .nth(3 + 7 * round)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();

        let buffer = DiskReplayBuffer::open(&path).unwrap();
        buffer.verify().unwrap();
        let held = held(&buffer);
        let after = held.last().map_or(0, |newest| newest + 1);
        assert!(after + buffer.block_rows() as u32 > said, "{said} were pushed and {after} are left");
        assert!(after >= before && buffer.len() >= buffer.capacity().min(after as usize));
        before = after;
    }
    assert!(before > 3_000, "the ring has gone round");
}

#[test]
fn child_that_pushes_until_it_is_killed() {
    // The test above starts it; by itself it has nothing to do.
    let Some(path) = std::env::var_os(FILE) else { return };
    let mut buffer = DiskReplayBuffer::open(Path::new(&path)).unwrap();
    let first = held(&buffer).last().map_or(0, |newest| newest + 1);
    for number in first.. {
        push(&mut buffer, number, 5);
        if number % 23 == 22 {
            writeln!(std::io::stdout(), "pushed {}", number + 1).unwrap();
        }
    }
}

#[test]
fn a_ring_of_bytes_is_opened_as_one_alone_and_takes_a_byte_a_value() {
    let folder = scratch("ring-bytes");
    let (path, floats) = (folder.join("ring"), folder.join("floats"));
    const WIDTH: usize = 28_224;
    let frame = |number: u8| -> Vec<u8> { (0..WIDTH).map(|place| number ^ place as u8).collect() };
    let mut buffer = DiskReplayBuffer::<u16, u8>::create(&path, 20, WIDTH, 3).unwrap();
    for number in 0..15 {
        buffer
            .push(Transition {
                observation: &frame(number),
                next_observation: &frame(number + 1),
                action: &[u16::from(number); 3],
                reward: f32::from(number),
                terminated: false,
                truncated: true,
            })
            .unwrap();
    }
    drop(buffer);
    drop(DiskReplayBuffer::<u16>::create(&floats, 20, WIDTH, 3).unwrap());
    let len = |path| fs::metadata(path).unwrap().len();
    assert!(len(&path) * 3 < len(&floats), "{} and {} bytes", len(&path), len(&floats));

    let error = DiskReplayBuffer::<u16>::open(&path).unwrap_err();
    assert!(error.to_string().contains("observation"), "{error}");
    let buffer = DiskReplayBuffer::<u16, u8>::open(&path).unwrap();
    let mut batch = Batch::new(64, WIDTH, 3).unwrap();
    buffer.sample(&mut Pcg64::new(1), &mut batch).unwrap();
    for (row, &reward) in batch.rewards().iter().enumerate() {
        let number = reward as u8;
        assert_eq!(batch.observations()[row * WIDTH..][..WIDTH], frame(number));
        assert_eq!(batch.next_observations()[row * WIDTH..][..WIDTH], frame(number + 1));
        assert_eq!(batch.actions()[3 * row..][..3], [u16::from(number); 3]);
        assert_eq!(batch.truncations()[row], 1.0);
    }
}

#[test]
fn what_is_no_ring_is_refused_with_the_place_and_what_was_expected_there() {
    let folder = scratch("ring-refused");
    let path = folder.join("ring");
    let mut buffer = DiskReplayBuffer::create(&path, 20, 1, 3).unwrap();
    assert!(matches!(DiskReplayBuffer::<u16>::open(&path), Err(DatasetError::Locked { .. })));
    let anew = DiskReplayBuffer::<u16>::create(&path, 20, 1, 3);
    assert!(matches!(anew, Err(DatasetError::Locked { .. })), "its rows would lose their name");
    (0..50).for_each(|number| push(&mut buffer, number, 1));
    drop(buffer);
    assert!(matches!(DiskReplayBuffer::<f32>::open(&path), Err(DatasetError::Element { .. })));

    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        let path = folder.join("changed");
        fs::write(&path, bytes).unwrap();
        DiskReplayBuffer::<u16>::open(&path).unwrap_err()
    };
    let changed = |place: usize, value: u8| {
        let mut bytes = whole.clone();
        bytes[place] = value;
        refused(&bytes)
    };
    assert!(matches!(changed(0, b'X'), DatasetError::Foreign { .. }));
    assert!(matches!(changed(8, 9), DatasetError::Version { offset: 8, expected: 2, found: 9, .. }));
    assert!(matches!(changed(17, 1), DatasetError::Corrupt { offset: 64, .. }));
    assert!(matches!(refused(&[]), DatasetError::Truncated { len: 0, .. }));
    assert!(matches!(refused(&whole[..5_000]), DatasetError::Truncated { len: 5_000, .. }));
    assert!(matches!(refused(&whole[..whole.len() - 1]), DatasetError::Truncated { .. }));
}

#[test]
fn a_field_of_another_length_is_named() {
    let folder = scratch("ring-fields");
    let mut buffer = DiskReplayBuffer::create(folder.join("ring"), 20, 1, 3).unwrap();
    push(&mut buffer, 0, 1);
    let into = Rows {
        observations: &mut [0.0; 2],
        next_observations: &mut [0.0; 2],
        actions: &mut [0; 6],
        rewards: &mut [0.0; 2],
        terminations: &mut [0.0; 3],
        truncations: &mut [0.0; 2],
    };
    let refused = buffer.sample_into(&mut Pcg64::new(1), into);
    assert_eq!(refused, Err(Error::Len { what: "terminations", expected: 2, found: 3 }));
}

#[test]
fn a_block_whose_seal_or_rows_are_broken_is_named() {
    let folder = scratch("ring-broken");
    let path = folder.join("ring");
    let mut buffer = DiskReplayBuffer::create(&path, 32, 1, 3).unwrap();
    let block = buffer.block_rows();
    (0..32).for_each(|number| push(&mut buffer, number, 1));
    drop(buffer);
    let whole = fs::read(&path).unwrap();
    let block_len = 64 + block * 24;
    let second = 4096 + block_len;

    let mut bytes = whole.clone();
    bytes[second] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = DiskReplayBuffer::<u16>::open(&path).unwrap_err();
    assert!(matches!(error, DatasetError::Corrupt { offset, .. } if offset == second as u64), "{error}");

    let mut bytes = whole;
    bytes[second + 64 + 3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = DiskReplayBuffer::<u16>::open(&path).unwrap().verify().unwrap_err();
    assert!(
        matches!(error, DatasetError::Checksum { offset, .. } if offset == second as u64 + 64),
        "{error}"
    );
}

#[test]
fn sizes_that_no_file_can_have_are_refused() {
    let folder = scratch("ring-sizes");
    let refused = |capacity, observation_len, action_len| {
        DiskReplayBuffer::<u16>::create(folder.join("ring"), capacity, observation_len, action_len)
            .unwrap_err()
    };
    for (capacity, observation_len, action_len) in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        let error = refused(capacity, observation_len, action_len);
        assert!(matches!(error, DatasetError::Buffer(Error::Zero { .. })));
    }
    for (capacity, observation_len) in [(usize::MAX, 1), (1, usize::MAX), (usize::MAX, 1 << 27)] {
        assert!(matches!(
            refused(capacity, observation_len, 1),
            DatasetError::Buffer(Error::TooLarge { .. })
        ));
    }
}
