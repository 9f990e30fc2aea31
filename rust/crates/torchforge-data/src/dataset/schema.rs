//! Columns, and the types of what is in them.

use std::collections::HashSet;
use std::fmt;

use super::DatasetError;

/// Row widths and shapes are below this, so that no arithmetic with them can overflow.
const WIDEST: usize = 1 << 31;

/// The type of a column's numbers. Booleans are `U8`: bits could not be lent as a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the type of its name")]
pub enum ElementType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl ElementType {
    /// Bytes of one number.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A Rust type that columns are made of.
pub trait Value: bytemuck::Pod + sealed::Sealed {
    /// Its name among the types of columns.
    const TYPE: ElementType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! values {
    ($($rust:ty => $element:ident),*) => {$(
        impl sealed::Sealed for $rust {}
        impl Value for $rust {
            const TYPE: ElementType = ElementType::$element;
        }
    )*};
}

values!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, f32 => F32, f64 => F64);

/// Numbers of one type, borrowed, to be written.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    pub(super) element: ElementType,
    pub(super) bytes: &'a [u8],
}

impl<'a, T: Value> From<&'a [T]> for Values<'a> {
    fn from(values: &'a [T]) -> Self {
        Self { element: T::TYPE, bytes: bytemuck::cast_slice(values) }
    }
}

impl<'a, T: Value, const N: usize> From<&'a [T; N]> for Values<'a> {
    fn from(values: &'a [T; N]) -> Self {
        Self::from(values.as_slice())
    }
}

impl<'a, T: Value> From<&'a Vec<T>> for Values<'a> {
    fn from(values: &'a Vec<T>) -> Self {
        Self::from(values.as_slice())
    }
}

/// A column: in every row an array of the same shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    element: ElementType,
    shape: Vec<usize>,
    width: usize,
}

impl Column {
    /// A column of `shape` in every row; `&[]` is one number.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Column`] for a dimension of 0, more than 8 dimensions, or rows of 2 GiB.
    pub fn new(name: impl Into<String>, element: ElementType, shape: &[usize]) -> Result<Self, DatasetError> {
        let name = name.into();
        let width = shape.iter().try_fold(element.size(), |bytes, &length| {
            bytes.checked_mul(length).filter(|&bytes| bytes < WIDEST)
        });
        let fault = match width {
            None => "is wider than 2 GiB: divide it",
            Some(0) => "has a dimension of 0: give at least 1",
            Some(_) if shape.len() > 8 => "has more than 8 dimensions: join some",
            Some(width) => return Ok(Self { name, element, shape: shape.to_vec(), width }),
        };
        Err(DatasetError::Column { name, fault })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its numbers.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The shape of one row.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of one row.
    pub fn width(&self) -> usize {
        self.width
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.element)?;
        if !self.shape.is_empty() {
            write!(f, "{:?}", self.shape)?;
        }
        Ok(())
    }
}

/// The columns of a dataset, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<Column>,
}

impl Schema {
    /// A schema of these columns.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Column`] without a column, for two of one name, or where a row has 2 GiB.
    pub fn new(columns: Vec<Column>) -> Result<Self, DatasetError> {
        let fault = |name: &str, fault| Err(DatasetError::Column { name: name.to_owned(), fault });
        if columns.is_empty() {
            return fault("", "is missing: give at least one");
        }
        let mut names = HashSet::with_capacity(columns.len());
        if let Some(twice) = columns.iter().find(|column| !names.insert(&column.name)) {
            return fault(&twice.name, "is there twice: rename one");
        }
        // Each is below 2 GiB, so the sum of fewer than 2^31 cannot overflow.
        if columns.iter().map(Column::width).sum::<usize>() >= WIDEST {
            return fault(&columns[0].name, "and the others make rows of 2 GiB: divide them");
        }
        Ok(Self { columns })
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Bytes of one row of all columns.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// The place of a column of these elements.
    pub(crate) fn find<T: Value>(&self, name: &str) -> Result<usize, DatasetError> {
        let found = self.columns.iter().position(|column| column.name == name);
        let index = found
            .ok_or_else(|| DatasetError::NoColumn { name: name.to_owned(), columns: self.to_string() })?;
        let expected = self.columns[index].element;
        if expected == T::TYPE {
            Ok(index)
        } else {
            Err(DatasetError::Element { name: name.to_owned(), expected, found: T::TYPE })
        }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{column}")?;
        }
        Ok(())
    }
}
