//! Figures as CSV.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Metric, Record};

/// A file with a line of names, then one of values each time.
pub(super) struct CsvFile {
    file: BufWriter<File>,
    named: bool,
}

impl CsvFile {
    /// Makes the file anew.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(File::create(path)?), named: false })
    }
}

impl Record for CsvFile {
    fn add(&mut self, metrics: &[Metric]) -> io::Result<()> {
        if !self.named {
            let names: Vec<&str> = metrics.iter().map(|(name, _)| *name).collect();
            writeln!(self.file, "{}", names.join(","))?;
            self.named = true;
        }
        for (place, (_, value)) in metrics.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(self.file, "{comma}{value}")?;
        }
        writeln!(self.file)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
