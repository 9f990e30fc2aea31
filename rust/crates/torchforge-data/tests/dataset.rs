//! What datasets in files promise.
#![cfg(feature = "dataset")]

mod dataset_files;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dataset_files::{numbered, pixels, schema, scratch, value};
use proptest::prelude::*;
use torchforge_data::{Column, Dataset, DatasetError, DatasetWriter, ElementType, MmapDataset, Schema};

fn check_rows(dataset: &MmapDataset, numbers: impl Iterator<Item = u32>) {
    let mut rows = 0;
    for (row, number) in numbers.enumerate() {
        let item = dataset.item(row).unwrap();
        assert_eq!(item.column::<u32>("number").unwrap(), [number]);
        assert_eq!(item.column::<u8>("pixels").unwrap(), pixels(number));
        assert_eq!(item.column::<f64>("value").unwrap(), value(number));
        rows += 1;
    }
    assert_eq!(dataset.len(), rows);
}

#[test]
fn rows_come_back_as_they_were_written_whatever_the_blocks() {
    let folder = scratch("rows");
    for (rows, block) in [(0, 4), (1, 4), (4, 4), (5, 4), (100, 7), (100, 1), (100, 1_000), (1_000, 1)] {
        let path = folder.join(format!("{rows}-{block}.arrow"));
        numbered(&path, 0..rows, block);
        let dataset = MmapDataset::open(&path).unwrap();
        assert_eq!(dataset.schema(), &schema());
        assert_eq!(dataset.schema().to_string(), "number: u32, pixels: u8[2, 3], value: f64[2]");
        check_rows(&dataset, 0..rows);
        assert_eq!(dataset.verify().unwrap(), (rows as usize).div_ceil(block));
    }
}

#[test]
fn a_file_of_thousands_of_columns_is_read() {
    let folder = scratch("wide");
    let path = folder.join("wide.arrow");
    let columns = (0..3_000).map(|each| Column::new(format!("column {each}"), ElementType::U32, &[]));
    let schema = Schema::new(columns.collect::<Result<_, _>>().unwrap()).unwrap();
    let mut writer = DatasetWriter::create(&path, schema).unwrap();
    let row: Vec<[u32; 1]> = (0..3_000).map(|each| [each]).collect();
    writer.append(&row.iter().map(Into::into).collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    let dataset = MmapDataset::open(&path).unwrap();
    assert_eq!(dataset.item(0).unwrap().column::<u32>("column 2999").unwrap(), [2_999]);
}

#[test]
fn several_rows_appended_at_once_are_the_same_bytes_as_one_by_one() {
    let folder = scratch("appended");
    let (one, many) = (folder.join("one.arrow"), folder.join("many.arrow"));
    numbered(&one, 0..50, 8);
    let mut writer = DatasetWriter::with_block_rows(&many, schema(), 8).unwrap();
    for numbers in [0..3, 3..3, 3..40, 40..50_u32] {
        let numbers: Vec<u32> = numbers.collect();
        let pixels: Vec<u8> = numbers.iter().flat_map(|&number| pixels(number)).collect();
        let values: Vec<f64> = numbers.iter().flat_map(|&number| value(number)).collect();
        writer.append(&[(&numbers).into(), (&pixels).into(), (&values).into()]).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(fs::read(one).unwrap(), fs::read(many).unwrap());
}

#[test]
fn shards_are_one_dataset_in_the_order_of_their_paths() {
    let folder = scratch("shards");
    let paths = [(0..10, "a"), (10..10, "b"), (10..31, "c")].map(|(numbers, name)| {
        let path = folder.join(name);
        numbered(&path, numbers, 4);
        path
    });
    check_rows(&MmapDataset::open_shards(&paths).unwrap(), 0..31);
    check_rows(&MmapDataset::open_shards([&paths[2], &paths[0]]).unwrap(), (10..31).chain(0..10));

    let other = folder.join("other");
    let columns = vec![Column::new("number", ElementType::U32, &[2]).unwrap()];
    DatasetWriter::create(&other, Schema::new(columns).unwrap()).unwrap().finish().unwrap();
    let error = MmapDataset::open_shards([&paths[0], &other]).unwrap_err();
    assert!(matches!(&error, DatasetError::Schema { found, .. } if found == "number: u32[2]"), "{error}");
    assert!(matches!(MmapDataset::open_shards([""; 0]), Err(DatasetError::NoShard)));
}

#[test]
fn a_file_of_pyarrow_is_read_and_its_columns_found() {
    // Written by tests/files/write_with_pyarrow.py, with pyarrow's defaults: other alignment, no checksums.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/with_pyarrow.arrow");
    let dataset = MmapDataset::open(path).unwrap();
    let columns = "observation: f32[4], action: i64, done: u8, frame: u8[2, 3]";
    assert_eq!((dataset.len(), dataset.schema().to_string().as_str()), (10, columns));
    for row in 0..10_u8 {
        let item = dataset.item(usize::from(row)).unwrap();
        assert_eq!(item.column::<f32>("observation").unwrap(), [f32::from(row); 4]);
        assert_eq!(item.column::<i64>("action").unwrap(), [-i64::from(row)]);
        assert_eq!(item.column::<u8>("done").unwrap(), [u8::from(row == 9)]);
        let frame: Vec<u8> = (6 * row..6 * row + 6).collect();
        assert_eq!(item.column::<u8>("frame").unwrap(), frame);
    }
    assert_eq!(dataset.verify().unwrap(), 0);
}

#[test]
fn a_file_has_the_bytes_that_pyarrow_was_seen_to_read() {
    // pyarrow 26 validates this file in full and opens it with 0 bytes allocated. Whoever changes the bytes looks again.
    let folder = scratch("bytes");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..100, 16);
    assert_eq!(crc32fast::hash(&fs::read(path).unwrap()), 0x9436_602f);
}

#[test]
fn columns_and_blocks_begin_at_cache_lines() {
    let folder = scratch("alignment");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..100, 7);
    let dataset = MmapDataset::open(&path).unwrap();
    for row in (0..100).step_by(7) {
        for column in 0..3 {
            assert_eq!(dataset.run(column, row).as_ptr().align_offset(64), 0);
        }
    }
}

#[test]
fn what_is_no_dataset_is_refused_with_the_place_and_what_was_expected_there() {
    let folder = scratch("refused");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..20, 8);
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        let error = refused_or_opened(&folder, bytes).unwrap_err();
        assert!(error.to_string().contains("changed.arrow: "), "{error}");
        error
    };
    assert!(matches!(refused(b"PK\x03\x04 a zip"), DatasetError::Foreign { .. }));
    assert!(matches!(refused(b"PAR1"), DatasetError::Foreign { .. }));
    assert!(matches!(refused(b""), DatasetError::Truncated { len: 0, .. }));
    for len in [1, 8, 100, whole.len() / 2, whole.len() - 1] {
        let error = refused(&whole[..len]);
        assert!(
            matches!(error, DatasetError::Truncated { len: found, .. } if found == len as u64),
            "{error}"
        );
    }

    // The footer's length.
    let mut changed = whole.clone();
    let at = whole.len() - 10;
    changed[at..at + 4].fill(0xff);
    assert!(matches!(refused(&changed), DatasetError::Corrupt { offset, .. } if offset == at as u64));

    // The version, which the footer holds as a 16-bit number 4 at the place that the error names.
    let footer = at - u32::from_le_bytes(*whole[at..].first_chunk().unwrap()) as usize;
    let versions = (footer..at).filter(|&offset| {
        let mut changed = whole.clone();
        changed[offset] = changed[offset].wrapping_sub(1);
        matches!(refused_or_opened(&folder, &changed), Err(DatasetError::Version { offset: found, found: 3, .. })
            if found == offset as u64)
    });
    assert_eq!(versions.count(), 1);

    assert!(matches!(
        MmapDataset::open(folder.join("none")),
        Err(DatasetError::Io { action: "opening", .. })
    ));
}

fn refused_or_opened(folder: &Path, bytes: &[u8]) -> Result<MmapDataset, DatasetError> {
    let path = folder.join("changed.arrow");
    fs::write(&path, bytes).unwrap();
    MmapDataset::open(&path)
}

#[test]
fn a_changed_byte_among_the_rows_is_found_by_verification_and_named() {
    let folder = scratch("verified");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..20, 8);
    let mut bytes = fs::read(&path).unwrap();
    let value = value(11)[1].to_le_bytes();
    let at = bytes.windows(8).position(|window| window == value).unwrap();
    bytes[at] ^= 1;
    let changed = refused_or_opened(&folder, &bytes).unwrap();
    match changed.verify().unwrap_err() {
        DatasetError::Checksum { offset, .. } => assert!(offset % 64 == 0 && (offset as usize) < at),
        error => panic!("{error}"),
    }
}

proptest! {
    #[test]
    fn a_file_with_changed_bytes_is_refused_or_read_within_its_bounds(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        last_part_only in any::<bool>(),
    ) {
        let folder = scratch("mutated");
        let path = folder.join("whole.arrow");
        numbered(&path, 0..9, 4);
        let mut bytes = fs::read(&path).unwrap();
        // Half of the changes hit the footer, which says most.
        let from = if last_part_only { bytes.len() - 900 } else { 0 };
        for (index, value) in changes {
            let place = from + index.index(bytes.len() - from);
            bytes[place] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(dataset) = refused_or_opened(&folder, &bytes) {
            // Whatever the file claims now, every row that it claims can be read.
            for row in (0..dataset.len()).take(1_000).chain(dataset.len().checked_sub(1)) {
                for column in 0..dataset.schema().columns().len() {
                    std::hint::black_box(dataset.run(column, row).iter().map(|&byte| u64::from(byte)).sum::<u64>());
                }
            }
            let _ = dataset.verify();
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_mapped_is_an_error_and_no_signal() {
    let folder = scratch("shrunk");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..2_000, 64);
    let mapped = MmapDataset::open(&path).unwrap();
    let positioned = MmapDataset::open(&path).unwrap().positioned();
    let len = fs::metadata(&path).unwrap().len();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(5_000).unwrap();
    for error in [mapped.item(1_999).err(), mapped.check().err(), mapped.verify().err()] {
        assert!(
            matches!(error, Some(DatasetError::Shrunk { expected, found: 5_000, .. }) if expected == len),
            "{error:?}"
        );
    }
    // Without the map there is no moment at which it could be a signal: nothing is asked first here.
    let mut row = [0; 16];
    let error = positioned.copy_rows(2, &[1_999], &mut row).unwrap_err();
    assert!(matches!(error, DatasetError::Shrunk { found: 5_000, .. }), "{error}");
    positioned.copy_rows(2, &[3], &mut row).unwrap();
    assert_eq!(row[..8], value(3)[0].to_le_bytes());
}

#[test]
fn who_has_a_file_open_keeps_its_rows_when_it_is_written_anew() {
    let folder = scratch("anew");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..10, 4);
    let old = MmapDataset::open(&path).unwrap();
    numbered(&path, 100..105, 4);
    check_rows(&old, 0..10);
    check_rows(&MmapDataset::open(&path).unwrap(), 100..105);
}

#[test]
fn two_writers_of_one_file_at_once_write_files_of_their_own() {
    let folder = scratch("twice");
    let path = folder.join("rows.arrow");
    let rows = |writer: &mut DatasetWriter, first: u32| {
        for number in first..first + 10 {
            writer.append(&[(&[number]).into(), (&pixels(number)).into(), (&value(number)).into()]).unwrap();
        }
    };
    let mut one = DatasetWriter::with_block_rows(&path, schema(), 4).unwrap();
    let mut other = DatasetWriter::with_block_rows(&path, schema(), 4).unwrap();
    rows(&mut one, 0);
    rows(&mut other, 100);
    one.finish().unwrap();
    let opened = MmapDataset::open(&path).unwrap();
    other.finish().unwrap();
    check_rows(&opened, 0..10);
    check_rows(&MmapDataset::open(&path).unwrap(), 100..110);
}

#[test]
fn a_writer_that_is_dropped_leaves_no_file() {
    let folder = scratch("dropped");
    let mut writer = DatasetWriter::create(folder.join("rows.arrow"), schema()).unwrap();
    writer.append(&[(&[1_u32]).into(), (&pixels(1)).into(), (&value(1)).into()]).unwrap();
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 1);
    drop(writer);
    assert_eq!(fs::read_dir(&*folder).unwrap().count(), 0);
}

/// Where the child process writes its dataset.
const FILE: &str = "TORCHFORGE_DATA_TEST_DATASET";

/// What is left of the files of killed writers.
fn partials(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "partial")).collect()
}

#[test]
fn a_writer_that_is_killed_leaves_the_older_file_or_none_and_a_partial_one_that_is_refused() {
    let Ok(program) = std::env::current_exe() else { return };
    let folder = scratch("killed");
    let path = folder.join("rows.arrow");
    for round in 0..6 {
        if round == 3 {
            numbered(&path, 0..10, 4);
        }
        let mut child = Command::new(&program)
            .args(["--exact", "child_that_writes_a_dataset_until_it_is_killed", "--nocapture"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It says when it has appended rows, and goes on meanwhile. With nobody to say it to it would end by itself.
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap)
            .filter(|line| line.starts_with("appended "));
        lines.nth(40 * (round % 3)).expect("the child ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();

        if round < 3 {
            assert!(matches!(MmapDataset::open(&path), Err(DatasetError::Io { action: "opening", .. })));
        } else {
            check_rows(&MmapDataset::open(&path).unwrap(), 0..10);
        }
        let left = partials(&folder);
        assert_eq!(left.len(), 1, "{left:?}");
        let error = MmapDataset::open(&left[0]).unwrap_err();
        assert!(matches!(error, DatasetError::Truncated { .. }), "{error}");
        assert!(error.to_string().ends_with("write or copy it again"), "{error}");
        fs::remove_file(&left[0]).unwrap();
    }
}

#[test]
fn child_that_writes_a_dataset_until_it_is_killed() {
    // The test above starts it; by itself it has nothing to do.
    let Some(path) = std::env::var_os(FILE) else { return };
    let mut writer = DatasetWriter::with_block_rows(path, schema(), 16).unwrap();
    for number in 0_u32.. {
        writer.append(&[(&[number]).into(), (&pixels(number)).into(), (&value(number)).into()]).unwrap();
        if number % 50 == 49 {
            writeln!(std::io::stdout(), "appended {}", number + 1).unwrap();
        }
    }
}

#[test]
fn values_that_do_not_fit_the_columns_append_nothing() {
    let folder = scratch("unfit");
    let path = folder.join("rows.arrow");
    let mut writer = DatasetWriter::create(&path, schema()).unwrap();
    let (number, pixel, float) = ([1_u32], pixels(1), value(1));
    let error = writer.append(&[(&number).into(), (&pixel).into()]).unwrap_err();
    assert!(matches!(error, DatasetError::Values { expected: 3, found: 2, .. }));
    let error = writer.append(&[(&[1_i32]).into(), (&pixel).into(), (&float).into()]).unwrap_err();
    assert!(matches!(error, DatasetError::Element { found: ElementType::I32, .. }));
    let error = writer.append(&[(&number).into(), (&pixel[..5]).into(), (&float).into()]).unwrap_err();
    assert!(matches!(error, DatasetError::Values { expected: 6, found: 5, .. }));
    writer.finish().unwrap();
    assert_eq!(MmapDataset::open(&path).unwrap().len(), 0);
}

#[test]
fn schemas_and_rows_that_cannot_be_are_refused() {
    let column = |shape: &[usize]| Column::new("x", ElementType::F64, shape);
    for shape in [&[0][..], &[1 << 20, 1 << 20], &[usize::MAX, 2], &[1; 9]] {
        assert!(matches!(column(shape), Err(DatasetError::Column { .. })), "{shape:?}");
    }
    let twice = vec![column(&[]).unwrap(), column(&[1]).unwrap()];
    for columns in [vec![], twice] {
        assert!(matches!(Schema::new(columns), Err(DatasetError::Column { .. })));
    }
    let folder = scratch("unknown");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..3, 4);
    let dataset = MmapDataset::open(&path).unwrap();
    assert!(matches!(dataset.item(3).err(), Some(DatasetError::Row { row: 3, rows: 3 })));
    let item = dataset.item(0).unwrap();
    assert!(matches!(item.column::<u32>("reward"), Err(DatasetError::NoColumn { .. })));
    assert!(matches!(item.column::<f32>("number"), Err(DatasetError::Element { .. })));
}
