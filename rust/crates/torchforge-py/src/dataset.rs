//! Datasets in files and their loader. `python/torchforge/data.py` makes arrays of what these say.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use torchforge_data::{
    Column, DataLoader, Dataset, DatasetError, DatasetWriter, ElementType, LoaderConfig, LoaderState,
    MmapDataset, Schema, SharedBatches, Value, Values,
};

use crate::arguments::{shown, whole};
use crate::arrays::{lent, read};

/// A column as Python has it: its name, NumPy's name of its type, and the shape of a row.
type ColumnTuple = (String, String, Vec<usize>);

/// A batch's rows, and where they lie: the first one in the files, or memory and where each column begins in it.
type Lying<'py> = (usize, Bound<'py, PyAny>);

/// Mapped files that a loader reads: see `torchforge.data.MmapDataset`.
#[pyclass(module = "torchforge._torchforge", frozen)]
pub(crate) struct MappedFiles(Arc<MmapDataset>);

#[pymethods]
impl MappedFiles {
    /// positioned reads rows through the files, not through the map.
    #[new]
    fn new(paths: Vec<PathBuf>, positioned: bool) -> PyResult<Self> {
        let dataset = MmapDataset::open_shards(paths).map_err(refused)?;
        Ok(Self(Arc::new(if positioned { dataset.positioned() } else { dataset })))
    }

    /// The name, NumPy's type and the shape of a row of each column.
    fn columns(&self) -> Vec<ColumnTuple> {
        let column = |of: &Column| (of.name().to_owned(), numpy_name(of.element()), of.shape().to_vec());
        self.0.schema().columns().iter().map(column).collect()
    }

    /// The number of a row's file, and its first byte there.
    fn place(&self, column: usize, row: usize) -> PyResult<(usize, usize)> {
        if row >= self.0.len() || column >= self.0.schema().columns().len() {
            return Err(PyValueError::new_err(format!("there is no row {row} of column {column}")));
        }
        Ok(self.0.place(column, row))
    }

    /// How many rows lie one behind another from this one on, itself among them.
    fn together(&self, row: usize) -> PyResult<usize> {
        // Also refuses a row that is not there.
        self.place(0, row)?;
        Ok(self.0.run(0, row).len() / self.0.schema().columns()[0].width())
    }

    /// Read all rows, and return how many blocks were compared with their checksum.
    fn verify(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.0.verify()).map_err(refused)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// What the threads of a loader share with Python.
struct Shared(Arc<MmapDataset>);

impl Dataset for Shared {
    fn schema(&self) -> &Schema {
        self.0.schema()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn run(&self, column: usize, row: usize) -> &[u8] {
        self.0.run(column, row)
    }

    fn copy_rows(&self, column: usize, rows: &[usize], into: &mut [u8]) -> Result<(), DatasetError> {
        self.0.copy_rows(column, rows, into)
    }

    fn lends(&self) -> bool {
        self.0.lends()
    }

    fn check(&self) -> Result<(), DatasetError> {
        self.0.check()
    }
}

/// The batches of mapped files, epoch after epoch: see `torchforge.data.DataLoader`.
#[pyclass(module = "torchforge._torchforge", frozen)]
pub(crate) struct RowLoader(Arc<DataLoader<Shared>>);

#[pymethods]
impl RowLoader {
    #[new]
    #[pyo3(signature = (files, batch_size, *, shuffle, seed, drop_last, prefetch, workers))]
    fn new(
        files: &MappedFiles,
        batch_size: &Bound<'_, PyAny>,
        shuffle: bool,
        seed: &Bound<'_, PyAny>,
        drop_last: bool,
        prefetch: &Bound<'_, PyAny>,
        workers: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let config = LoaderConfig {
            batch_size: whole("batch_size", batch_size, 1..=u32::MAX as usize)?,
            shuffle,
            seed: whole("seed", seed, 0..=u64::MAX)?,
            drop_last,
            prefetch: whole("prefetch", prefetch, 1..=1 << 16)?,
            workers: whole("workers", workers, 0..=1 << 10)?,
        };
        let loader = DataLoader::new(Shared(Arc::clone(&files.0)), config).map_err(refused)?;
        Ok(Self(Arc::new(loader)))
    }

    /// Begin the next epoch, or go on where the loader was resumed.
    fn begin(&self) -> RowBatches {
        RowBatches(Mutex::new(self.0.iter_shared()))
    }

    /// Where the iteration is.
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.state().to_bytes())
    }

    /// Go on at a saved state.
    fn resume(&self, state: &[u8]) -> PyResult<()> {
        let state = LoaderState::from_bytes(state).map_err(refused)?;
        self.0.resume(&state).map_err(refused)
    }

    /// Batches of an epoch.
    fn __len__(&self) -> usize {
        self.0.batches()
    }
}

/// Where the batches of one epoch lie.
///
/// Each is its number of rows; and the first one in the files, or memory of their own and where each column begins in it.
#[pyclass(module = "torchforge._torchforge", frozen)]
pub(crate) struct RowBatches(Mutex<SharedBatches<Shared>>);

#[pymethods]
impl RowBatches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Where the next batch lies. Other Python threads run while it is waited for.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Lying<'py>>> {
        let next = || self.0.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(batch) = py.detach(next) else { return Ok(None) };
        let batch = batch.map_err(refused)?;
        let rows = batch.len();
        if let Some(first) = batch.first_lent() {
            return Ok(Some((rows, first.into_bound_py_any(py)?)));
        }
        let (memory, columns) =
            batch.into_memory().ok_or_else(|| PyRuntimeError::new_err("a batch has two owners"))?;
        let starts: Vec<usize> = columns.into_iter().map(|range| range.start).collect();
        Ok(Some((rows, (PyArray1::from_vec(py, memory), starts).into_bound_py_any(py)?)))
    }
}

/// Write columns into a file: see `torchforge.data.write_dataset`.
#[pyfunction]
#[pyo3(signature = (path, columns, *, block_rows=None))]
pub(crate) fn write_rows(
    path: PathBuf,
    columns: Vec<(String, Bound<'_, PyAny>)>,
    block_rows: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let mut arrays = Vec::with_capacity(columns.len());
    let mut described = Vec::with_capacity(columns.len());
    for (name, value) in &columns {
        let array = Written::new(name, value)?;
        let &[rows, ref shape @ ..] = array.shape() else {
            return Err(PyValueError::new_err(format!("{name} has no axis of rows; give one row at least")));
        };
        let first: &Written<'_> = arrays.first().unwrap_or(&array);
        if first.shape()[0] != rows {
            return Err(PyValueError::new_err(format!(
                "{name} has {rows} rows and {} has {}; give as many of each",
                columns[0].0,
                first.shape()[0]
            )));
        }
        described.push(Column::new(name, array.element(), shape).map_err(refused)?);
        arrays.push(array);
    }
    let schema = Schema::new(described).map_err(refused)?;
    let mut writer = match block_rows {
        Some(rows) => {
            let rows = whole("block_rows", rows, 1..=isize::MAX as usize)?;
            DatasetWriter::with_block_rows(path, schema, rows)
        }
        None => DatasetWriter::create(path, schema),
    }
    .map_err(refused)?;
    let values = arrays.iter().map(Written::values).collect::<PyResult<Vec<_>>>()?;
    writer.append(&values).and_then(|()| writer.finish()).map_err(refused)
}

macro_rules! columns {
    ($($variant:ident: $rust:ty = $name:literal),*) => {
        /// An array that is written, borrowed.
        enum Written<'py> {
            $($variant(PyReadonlyArrayDyn<'py, $rust>),)*
        }

        impl<'py> Written<'py> {
            fn new(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
                let value = &lent(name, value)?;
                $(if is::<$rust>(value) {
                    return Ok(Self::$variant(read(name, value)?));
                })*
                Err(PyValueError::new_err(format!(
                    "{name} is {} and must be a NumPy array of {}; convert it with numpy.asarray, booleans to uint8",
                    shown(value),
                    [$($name),*].join(", ")
                )))
            }

            fn shape(&self) -> &[usize] {
                match self {
                    $(Self::$variant(array) => array.shape(),)*
                }
            }

            fn element(&self) -> ElementType {
                match self {
                    $(Self::$variant(_) => <$rust as Value>::TYPE,)*
                }
            }

            fn values(&self) -> PyResult<Values<'_>> {
                match self {
                    $(Self::$variant(array) => Ok(array.as_slice()?.into()),)*
                }
            }
        }

        /// NumPy's name of a type.
        fn numpy_name(element: ElementType) -> String {
            [$((<$rust as Value>::TYPE, $name)),*]
                .into_iter()
                .find(|(each, _)| *each == element)
                .map_or_else(|| element.to_string(), |(_, name)| name.to_owned())
        }
    };
}

columns!(
    U8: u8 = "uint8",
    U16: u16 = "uint16",
    U32: u32 = "uint32",
    U64: u64 = "uint64",
    I8: i8 = "int8",
    I16: i16 = "int16",
    I32: i32 = "int32",
    I64: i64 = "int64",
    F32: f32 = "float32",
    F64: f64 = "float64"
);

fn is<T: Element>(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyArrayDyn<T>>()
}

/// As an error of the operating system where it was one.
fn refused(error: DatasetError) -> PyErr {
    let said = error.to_string();
    match error {
        DatasetError::Io { .. } | DatasetError::Shrunk { .. } => PyOSError::new_err(said),
        DatasetError::Superseded | DatasetError::Panicked { .. } | DatasetError::Thread { .. } => {
            PyRuntimeError::new_err(said)
        }
        _ => PyValueError::new_err(said),
    }
}
