//! The types of a tensor's values.

use safetensors::Dtype;

mod sealed {
    pub trait Sealed {}
}

/// A number that tensors are made of.
pub trait Element: Copy + sealed::Sealed {
    /// Its name in a file.
    #[doc(hidden)]
    const DTYPE: Dtype;

    /// Adds its bytes.
    #[doc(hidden)]
    fn put(self, bytes: &mut Vec<u8>);

    /// All values of a tensor's bytes.
    #[doc(hidden)]
    fn all(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($number:ty => $dtype:ident),*) => {$(
        impl sealed::Sealed for $number {}

        impl Element for $number {
            const DTYPE: Dtype = Dtype::$dtype;

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            fn all(bytes: &[u8]) -> Vec<Self> {
                let (numbers, _) = bytes.as_chunks();
                numbers.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect()
            }
        }
    )*};
}

element!(u8 => U8, f32 => F32, f64 => F64, i64 => I64, u32 => U32, u64 => U64);
