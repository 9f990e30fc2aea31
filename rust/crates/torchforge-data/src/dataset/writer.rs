//! Dataset files, written row by row.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{DatasetError, Schema, Values, arrow, named, partial};

/// Bytes of a block, about: enough that a batch seldom meets its end, and little for a small device to hold.
const BLOCK_BYTES: usize = 4 << 20;

/// Writes a dataset as an Arrow file, block after block.
///
/// The file gets its name when it is whole: until [`finish`](Self::finish) it lies beside it under another one, which is
/// removed when the writer is dropped. Whoever has an older file of that name open keeps it. A process that is killed leaves
/// `NAME.PID.NUMBER.partial`, and opening such a file is an error unless it is whole.
///
/// ```
/// use torchforge_data::{Column, Dataset, DatasetWriter, ElementType, MmapDataset, Schema};
/// # let directory = std::env::temp_dir().join(format!("torchforge-data-doc-writer-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("pairs.arrow");
/// let schema = Schema::new(vec![
///     Column::new("observation", ElementType::F32, &[4])?,
///     Column::new("action", ElementType::U32, &[])?,
/// ])?;
/// let mut writer = DatasetWriter::create(&path, schema)?;
/// for step in 0..100_u8 {
///     writer.append(&[(&[f32::from(step); 4]).into(), (&[1_u32]).into()])?;
/// }
/// writer.finish()?;
///
/// let dataset = MmapDataset::open(&path)?;
/// assert_eq!(dataset.len(), 100);
/// assert_eq!(dataset.item(7)?.column::<f32>("observation")?, [7.0; 4]);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DatasetWriter {
    schema: Schema,
    path: PathBuf,
    partial: PathBuf,
    file: File,
    offset: usize,
    block_rows: usize,
    /// The columns of the block under way.
    columns: Vec<Vec<u8>>,
    /// Offset, bytes of metadata and bytes of body of each block.
    blocks: Vec<(u64, usize, usize)>,
    /// A write failed, so what is in the file is no longer known.
    failed: bool,
    finished: bool,
}

impl DatasetWriter {
    /// Begins a file of these columns, in blocks of about 4 MiB whose number of rows is a power of two.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Io`] where no file can be made beside `path`.
    pub fn create(path: impl AsRef<Path>, schema: Schema) -> Result<Self, DatasetError> {
        let rows = (BLOCK_BYTES / schema.width()).max(1);
        Self::with_block_rows(path, schema, 1 << rows.ilog2())
    }

    /// The same with blocks of `rows` rows. A sequential batch is lent without a copy if it ends where it began, so make it a
    /// multiple of the batch size.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create), [`DatasetError::Option`] for blocks without rows.
    pub fn with_block_rows(
        path: impl AsRef<Path>,
        schema: Schema,
        rows: usize,
    ) -> Result<Self, DatasetError> {
        let path = path.as_ref().to_owned();
        if rows == 0 {
            return Err(DatasetError::Option { what: "rows of a block", value: 0, allowed: "at least 1" });
        }
        let (partial, file) = partial::beside(&path).map_err(failed(&path, "creating a file beside"))?;
        let columns = schema.columns().iter().map(|_| Vec::new()).collect();
        let mut writer = Self {
            schema,
            path,
            partial,
            file,
            offset: 0,
            block_rows: rows,
            columns,
            blocks: Vec::new(),
            failed: false,
            finished: false,
        };
        writer.write(arrow::MAGIC)?;
        let message = arrow::schema_message(&writer.schema, writer.offset);
        writer.write(&message)?;
        Ok(writer)
    }

    /// Appends any number of rows: for each column, in the schema's order, its values row after row.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Element`] and [`DatasetError::Values`] where types or numbers of values do not fit the columns; then
    /// nothing is appended. [`DatasetError::Io`] where a block cannot be written.
    pub fn append(&mut self, values: &[Values<'_>]) -> Result<(), DatasetError> {
        let rows = self.rows_of(values)?;
        self.check_sound()?;
        let mut done = 0;
        while done < rows {
            let count = (rows - done).min(self.block_rows - self.pending());
            for ((buffer, column), values) in self.columns.iter_mut().zip(self.schema.columns()).zip(values) {
                buffer.extend(&values.bytes[done * column.width()..][..count * column.width()]);
            }
            done += count;
            if self.pending() == self.block_rows {
                self.write_block()?;
            }
        }
        Ok(())
    }

    /// Writes what is left, waits until it is on the disk, and gives the file its name.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Io`] where that fails; there is no file then.
    pub fn finish(mut self) -> Result<(), DatasetError> {
        if self.pending() > 0 {
            self.write_block()?;
        }
        let footer = arrow::end_of_file(&self.schema, &self.blocks);
        self.write(&footer)?;
        self.file.sync_all().map_err(failed(&self.partial, "writing"))?;
        fs::rename(&self.partial, &self.path).map_err(failed(&self.path, "renaming"))?;
        self.finished = true;
        Ok(())
    }

    /// Rows of the block under way.
    fn pending(&self) -> usize {
        self.columns[0].len() / self.schema.columns()[0].width()
    }

    fn rows_of(&self, values: &[Values<'_>]) -> Result<usize, DatasetError> {
        let columns = self.schema.columns();
        if values.len() != columns.len() {
            let (expected, found) = (columns.len(), values.len());
            return Err(DatasetError::Values { name: self.schema.to_string(), expected, found });
        }
        let rows = values[0].bytes.len() / columns[0].width();
        for (column, values) in columns.iter().zip(values) {
            let (name, expected, found) = (column.name().to_owned(), column.element(), values.element);
            if expected != found {
                return Err(DatasetError::Element { name, expected, found });
            }
            if values.bytes.len() != rows * column.width() {
                let (expected, found) =
                    (rows * column.width() / expected.size(), values.bytes.len() / found.size());
                return Err(DatasetError::Values { name, expected, found });
            }
        }
        Ok(rows)
    }

    fn write_block(&mut self) -> Result<(), DatasetError> {
        let rows = self.pending();
        let mut starts = Vec::with_capacity(self.columns.len());
        let (mut body_len, mut checksum) = (0, crc32fast::Hasher::new());
        for column in &mut self.columns {
            starts.push(body_len);
            column.resize(column.len().next_multiple_of(arrow::ALIGNMENT), 0);
            checksum.update(column);
            body_len += column.len();
        }
        let checksum = checksum.finalize();
        let metadata = arrow::record_batch(&self.schema, rows, &starts, body_len, checksum, self.offset);
        self.blocks.push((self.offset as u64, metadata.len(), body_len));
        self.write(&metadata)?;
        for index in 0..self.columns.len() {
            let mut column = std::mem::take(&mut self.columns[index]);
            self.write(&column)?;
            column.clear();
            self.columns[index] = column;
        }
        Ok(())
    }

    /// After a failed write the columns may be padded, and nothing more may follow.
    fn check_sound(&self) -> Result<(), DatasetError> {
        match self.failed {
            true => Err(failed(&self.partial, "writing")(io::Error::other("an earlier write to it failed"))),
            false => Ok(()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), DatasetError> {
        self.check_sound()?;
        self.failed = true;
        self.file.write_all(bytes).map_err(failed(&self.partial, "writing"))?;
        self.failed = false;
        self.offset += bytes.len();
        Ok(())
    }
}

impl Drop for DatasetWriter {
    fn drop(&mut self) {
        if !self.finished {
            // Who gave up the writer has seen why; what is left is only untidy.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> DatasetError {
    let path = named(path);
    move |source| DatasetError::Io { path, action, source }
}
