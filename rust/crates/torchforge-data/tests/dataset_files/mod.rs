//! Files that tests read.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::fs;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use torchforge_data::{Column, DatasetWriter, ElementType, Schema};

/// A folder that is gone when its test is over.
pub struct Scratch(PathBuf);

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An empty folder for one test.
pub fn scratch(test: &str) -> Scratch {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    Scratch(folder)
}

/// Columns of rows that say which they are.
pub fn schema() -> Schema {
    Schema::new(vec![
        Column::new("number", ElementType::U32, &[]).unwrap(),
        Column::new("pixels", ElementType::U8, &[2, 3]).unwrap(),
        Column::new("value", ElementType::F64, &[2]).unwrap(),
    ])
    .unwrap()
}

/// The pixels of a row.
pub fn pixels(number: u32) -> [u8; 6] {
    std::array::from_fn(|place| (number as usize * 7 + place) as u8)
}

/// The values of a row.
pub fn value(number: u32) -> [f64; 2] {
    [f64::from(number), -f64::from(number) / 3.0]
}

/// Writes these rows in blocks of `block` rows.
pub fn numbered(path: &Path, numbers: Range<u32>, block: usize) {
    let mut writer = DatasetWriter::with_block_rows(path, schema(), block).unwrap();
    for number in numbers {
        writer.append(&[(&[number]).into(), (&pixels(number)).into(), (&value(number)).into()]).unwrap();
    }
    writer.finish().unwrap();
}
