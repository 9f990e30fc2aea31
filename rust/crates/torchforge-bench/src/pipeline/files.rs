//! Datasets in files, written row by row.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use torchforge_data::{Column, Dataset, DatasetWriter, ElementType, MmapDataset, Schema};
use torchforge_referee::Error;

use super::{Parameters, Tape, Workload, failed, sum};
use crate::Failure;

/// The only column.
pub(super) const COLUMN: &str = "row";

/// A file of this process's own, which ends with it.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("torchforge-pipeline-{}-{number}.arrow", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes so many rows of the tape, from row `first` of it on.
pub(super) fn write(path: &Path, tape: &Tape, of: &Parameters, first: usize) -> Result<(), Failure> {
    let column = Column::new(COLUMN, ElementType::U8, &[of.row_bytes]).map_err(failed)?;
    let schema = Schema::new(vec![column]).map_err(failed)?;
    let mut writer = DatasetWriter::create(path, schema).map_err(failed)?;
    for row in first..first + of.rows {
        writer.append(&[tape.row(row).into()]).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

/// The dataset, written once a call.
pub(super) struct Files {
    of: Parameters,
    tape: Tape,
    /// A file a call.
    files: Vec<Scratch>,
    /// The row of the tape that each file begins with.
    firsts: Vec<usize>,
}

impl Files {
    pub(super) fn new(of: Parameters, tape: Tape) -> Self {
        Self { of, tape, files: (0..of.calls).map(|_| Scratch::new()).collect(), firsts: Vec::new() }
    }
}

impl Workload for Files {
    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        self.firsts = numbers.iter().map(|number| (number % Tape::rows() as u64) as usize).collect();
        // To replace a file that is there would free its pages within the time.
        self.files.iter().for_each(|file| drop(fs::remove_file(file.path())));
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        for (file, &first) in self.files.iter().zip(&self.firsts) {
            write(file.path(), &self.tape, &self.of, first)?;
        }
        Ok(())
    }

    /// Of the rows that are read back, each times its place: rows that changed places show.
    fn sums(&self) -> Result<Vec<u64>, Error> {
        let of_file = |file: &Scratch| -> Result<u64, Failure> {
            let dataset = MmapDataset::open(file.path()).map_err(failed)?;
            (0..dataset.len()).try_fold(0_u64, |total, row| {
                let item = dataset.item(row).map_err(failed)?;
                let bytes = item.column::<u8>(COLUMN).map_err(failed)?;
                Ok(total.wrapping_add(sum(bytes).wrapping_mul(row as u64 + 1)))
            })
        };
        Ok(self.files.iter().map(of_file).collect::<Result<_, _>>()?)
    }
}
