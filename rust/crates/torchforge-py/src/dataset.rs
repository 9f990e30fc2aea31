//! Datasets in files and their loader. `python/torchforge/data.py` makes arrays of what these say.

use std::iter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use torchforge_data::{
    Column, DataLoader, Dataset, DatasetError, DatasetWriter, ElementType, LoaderConfig, LoaderState,
    MmapDataset, RowBatch, Run, Schema, SharedBatches, Value, Values,
};

use crate::arguments::{shown, whole};
use crate::arrays::{lent, read};
use crate::worked;

/// A column as Python has it: its name, NumPy's name of its type, and the shape of a row.
type ColumnTuple = (String, String, Vec<usize>);

/// Rows of a batch that are drawn in less time than it takes to let other Python threads run.
const FEW_ROWS: usize = 256;

/// A batch for Python: its arrays by their column, or where its rows lie: see `RowBatches`.
type Given<'py> = Bound<'py, PyAny>;

/// Mapped files that a loader reads: see `torchforge.data.MmapDataset`.
#[pyclass(module = "torchforge._torchforge", frozen)]
pub(crate) struct MappedFiles(Arc<MmapDataset>);

#[pymethods]
impl MappedFiles {
    /// positioned reads rows through the files, not through the map.
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, positioned: bool) -> PyResult<Self> {
        let dataset = py.detach(|| MmapDataset::open_shards(paths)).map_err(refused)?;
        Ok(Self(Arc::new(if positioned { dataset.positioned() } else { dataset })))
    }

    /// The name, NumPy's type and the shape of a row of each column.
    fn columns(&self) -> Vec<ColumnTuple> {
        let column = |of: &Column| (of.name().to_owned(), numpy_name(of.element()), of.shape().to_vec());
        self.0.schema().columns().iter().map(column).collect()
    }

    /// The first row of each block: rows of one block lie side by side.
    fn firsts(&self) -> Vec<usize> {
        self.0.firsts().collect()
    }

    /// The number of a row's file, and its first byte there in each column.
    fn places(&self, row: usize) -> PyResult<(usize, Vec<usize>)> {
        if row >= self.0.len() {
            return Err(PyValueError::new_err(format!("there is no row {row}")));
        }
        // A schema has a column at least, and a row lies in one file.
        let columns = 0..self.0.schema().columns().len();
        Ok((self.0.place(0, row).0, columns.map(|column| self.0.place(column, row).1).collect()))
    }

    /// Compare the length of a file with what it was when it was opened.
    ///
    /// Raises:
    ///     OSError: it is shorter.
    ///     ValueError: there is no such file.
    fn check(&self, file: usize) -> PyResult<()> {
        if file >= self.0.files() {
            return Err(PyValueError::new_err(format!("there is no file {file}")));
        }
        self.0.check_file(file).map_err(refused)
    }

    /// How many rows lie one behind another from this one on, itself among them.
    fn together(&self, row: usize) -> PyResult<usize> {
        if row >= self.0.len() {
            return Err(PyValueError::new_err(format!("there is no row {row}")));
        }
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
pub(crate) struct RowLoader {
    loader: Arc<DataLoader<Shared>>,
    columns: Arc<[Described]>,
}

/// A column as NumPy is told of it.
struct Described {
    name: Py<PyString>,
    dtype: Py<PyAny>,
    shape: Box<[usize]>,
    element: ElementType,
}

impl Described {
    fn new(py: Python<'_>, column: &Column) -> PyResult<Self> {
        let dtype = py.import("numpy")?.getattr("dtype")?.call1((numpy_name(column.element()),))?;
        Ok(Self {
            name: PyString::intern(py, column.name()).unbind(),
            dtype: dtype.unbind(),
            shape: column.shape().into(),
            element: column.element(),
        })
    }
}

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
        let py = batch_size.py();
        let columns = files.0.schema().columns().iter().map(|column| Described::new(py, column));
        let columns = columns.collect::<PyResult<_>>()?;
        let loader = DataLoader::new(Shared(Arc::clone(&files.0)), config).map_err(refused)?;
        Ok(Self { loader: Arc::new(loader), columns })
    }

    /// Begin the next epoch, or go on where the loader was resumed.
    fn begin(&self) -> RowBatches {
        let config = self.loader.config();
        RowBatches {
            epoch: Mutex::new(self.loader.iter_shared()),
            dataset: Arc::clone(&self.loader.dataset().0),
            columns: Arc::clone(&self.columns),
            detaches: config.workers > 0 || config.batch_size > FEW_ROWS,
        }
    }

    /// Where the iteration is, where of the run of this number so many batches were handed on.
    ///
    /// Nothing of a later run was.
    fn state<'py>(&self, py: Python<'py>, number: u64, handed: usize) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.loader.state_in_run(number, handed).to_bytes())
    }

    /// Go on at a saved state.
    fn resume(&self, state: &[u8]) -> PyResult<()> {
        let state = LoaderState::from_bytes(state).map_err(refused)?;
        self.loader.resume(&state).map_err(refused)
    }

    /// Batches of an epoch.
    fn __len__(&self) -> usize {
        self.loader.batches()
    }
}

/// The batches of one epoch, or where they lie.
///
/// A batch that is copied when it is asked for is a dictionary of arrays. Others are tuples that begin with their rows.
/// For batches in the files then follow the first row, how many batches lie there side by side, and the number of this
/// run. For a batch that a worker copied then follow its memory, and where each column begins in it.
#[pyclass(module = "torchforge._torchforge", frozen)]
pub(crate) struct RowBatches {
    epoch: Mutex<SharedBatches<Shared>>,
    dataset: Arc<MmapDataset>,
    columns: Arc<[Described]>,
    /// Whether other Python threads run while the next batches are chosen: where a worker makes them, or many rows are drawn.
    detaches: bool,
}

#[pymethods]
impl RowBatches {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next batch or batches. Other Python threads run while they are waited for or copied.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Given<'py>>> {
        let next = || self.epoch.lock().unwrap_or_else(PoisonError::into_inner).next_run();
        let Some(run) = worked(py, self.detaches, next) else { return Ok(None) };
        let given = match run.map_err(refused)? {
            Run::Lent { first, rows, batches, number } => {
                (rows, first, batches, number).into_bound_py_any(py)?
            }
            Run::Rows(rows) => self.copied(py, &rows)?.into_any(),
            Run::Batch(batch) => made(py, batch)?,
        };
        Ok(Some(given))
    }
}

impl RowBatches {
    /// A copy of these rows in new arrays.
    fn copied<'py>(&self, py: Python<'py>, rows: &[usize]) -> PyResult<Bound<'py, PyDict>> {
        static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let empty = EMPTY.import(py, "numpy", "empty")?;
        let batch = PyDict::new(py);
        for (place, column) in self.columns.iter().enumerate() {
            let shape: Vec<usize> = iter::once(rows.len()).chain(column.shape.iter().copied()).collect();
            let shape = PyTuple::new(py, shape)?;
            let array = empty.call1((shape, column.dtype.bind(py)))?;
            copy(py, &array, column.element, |bytes| self.dataset.copy_rows(place, rows, bytes))?;
            batch.set_item(column.name.bind(py), array)?;
        }
        Ok(batch)
    }
}

/// A batch that a worker made.
fn made<'py>(py: Python<'py>, batch: RowBatch<Shared>) -> PyResult<Given<'py>> {
    let rows = batch.len();
    if let Some(first) = batch.first_lent() {
        // It counts as handed on.
        return (rows, first, 1, 0).into_bound_py_any(py);
    }
    let (memory, columns) =
        batch.into_memory().ok_or_else(|| PyRuntimeError::new_err("a batch has two owners"))?;
    let starts: Vec<usize> = columns.into_iter().map(|range| range.start).collect();
    (rows, PyArray1::from_vec(py, memory), starts).into_bound_py_any(py)
}

/// Write columns into a file: see `torchforge.data.write_dataset`.
#[pyfunction]
#[pyo3(signature = (path, columns, *, block_rows=None))]
pub(crate) fn write_rows(
    py: Python<'_>,
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
    // The arrays are borrowed until this returns, and the docstring says that nobody may write them meanwhile.
    py.detach(|| writer.append(&values).and_then(|()| writer.finish())).map_err(refused)
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

        /// Fills the bytes of a new array, which nobody else has yet, so other Python threads may run.
        fn copy(
            py: Python<'_>,
            array: &Bound<'_, PyAny>,
            element: ElementType,
            fill: impl FnOnce(&mut [u8]) -> Result<(), DatasetError> + Send,
        ) -> PyResult<()> {
            match element {
                $(<$rust as Value>::TYPE => {
                    let mut array = array.cast::<PyArrayDyn<$rust>>()?.readwrite();
                    let bytes = bytemuck::cast_slice_mut(array.as_slice_mut()?);
                    py.detach(|| fill(bytes)).map_err(refused)
                })*
                // `Described` has asked NumPy for each type.
                _ => Err(PyRuntimeError::new_err(format!("NumPy has no {element}"))),
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
pub(crate) fn refused(error: DatasetError) -> PyErr {
    let said = error.to_string();
    match error {
        DatasetError::Io { .. } | DatasetError::Locked { .. } | DatasetError::Shrunk { .. } => {
            PyOSError::new_err(said)
        }
        DatasetError::Superseded | DatasetError::Panicked { .. } | DatasetError::Thread { .. } => {
            PyRuntimeError::new_err(said)
        }
        _ => PyValueError::new_err(said),
    }
}
