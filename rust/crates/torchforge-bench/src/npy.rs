//! NumPy's .npy format, for arrays in C order (NumPy's `numpy/lib/format.py`).

const MAGIC: &[u8] = b"\x93NUMPY";
/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;

/// The values of a little-endian array of this type and of exactly this shape, row after row.
pub(crate) fn decode<T: Number>(bytes: &[u8], shape: &[usize]) -> Result<Vec<T>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a .npy file")?;
    let (version, rest) = rest.split_at_checked(2).ok_or("its header is cut off")?;
    let (header_len, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(len, rest)| (u16::from_le_bytes(*len) as usize, rest)),
        2 | 3 => rest.split_first_chunk().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)),
        other => return Err(format!("its format version {other} is unknown")),
    }
    .ok_or("its header is cut off")?;
    let (header, data) = rest.split_at_checked(header_len).ok_or("its header is cut off")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;

    let wanted = [
        ("'descr':", format!("'{}'", T::NAME), "type"),
        ("'fortran_order':", "False".to_owned(), "Fortran order"),
        ("'shape':", tuple(shape), "shape"),
    ];
    for (key, value, what) in wanted {
        let found = header.split_once(key).ok_or_else(|| format!("its header lacks {key}"))?.1.trim_start();
        if !found.starts_with(&value) {
            let end = if found.starts_with('(') {
                found.find(')').map_or(found.len(), |end| end + 1)
            } else {
                found.find([',', '}']).unwrap_or(found.len())
            };
            return Err(format!("its {what} is {} and must be {value}", &found[..end]));
        }
    }
    let expected = shape.iter().product::<usize>() * size_of::<T>();
    if data.len() != expected {
        return Err(format!("it holds {} bytes of data and must hold {expected}", data.len()));
    }
    Ok(data.chunks_exact(size_of::<T>()).map(T::parse).collect())
}

/// A type of numbers that is read and written.
pub(crate) trait Number: Copy {
    /// NumPy's name of its little-endian type.
    const NAME: &'static str;
    /// Appends its bytes.
    fn append(self, bytes: &mut Vec<u8>);
    /// The number that has these bytes, which are as many as it has.
    fn parse(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty, $name:literal) => {
        impl Number for $type {
            const NAME: &'static str = $name;
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn parse(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as a number has"))
            }
        }
    };
}

number!(f64, "<f8");
number!(f32, "<f4");
number!(u64, "<u8");
number!(u8, "|u1");

/// The file that `numpy.save` writes for this array.
pub(crate) fn encode<T: Number>(values: &[T], shape: &[usize]) -> Vec<u8> {
    assert_eq!(values.len(), shape.iter().product::<usize>(), "one value an element");
    let mut header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", T::NAME, tuple(shape));
    let before = MAGIC.len() + 2 + size_of::<u16>();
    let padded = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before;
    header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
    header.push('\n');
    let header_len = u16::try_from(header.len()).expect("a shape of a few numbers");

    let mut bytes = Vec::with_capacity(before + header.len() + size_of_val(values));
    bytes.extend(MAGIC);
    bytes.extend([1, 0]);
    bytes.extend(header_len.to_le_bytes());
    bytes.extend(header.as_bytes());
    values.iter().for_each(|value| value.append(&mut bytes));
    bytes
}

/// A shape as Python prints a tuple.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        many => format!("({})", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for shape in [vec![3], vec![1, 3], vec![3, 1]] {
            let bytes = encode(&[1.5, -2.0, f64::MIN_POSITIVE], &shape);
            assert_eq!(bytes.len() % ALIGNMENT, 24);
            assert_eq!(decode::<f64>(&bytes, &shape).unwrap(), [1.5, -2.0, f64::MIN_POSITIVE]);
        }
        assert_eq!(decode::<f32>(&encode(&[0.5_f32, -1.0], &[2]), &[2]).unwrap(), [0.5, -1.0]);
        assert_eq!(decode::<u64>(&encode(&[u64::MAX], &[1]), &[1]).unwrap(), [u64::MAX]);
        assert_eq!(decode::<u8>(&encode(&[7_u8, 255], &[2]), &[2]).unwrap(), [7, 255]);
    }

    #[test]
    fn the_header_is_numpys_own() {
        let bytes = encode(&[0.0; 6], &[2, 3]);
        let expected = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(std::str::from_utf8(&bytes[10..128]).unwrap().trim_end(), expected);
    }

    #[test]
    fn another_shape_or_type_is_named() {
        let bytes = encode(&[0.0; 6], &[2, 3]);
        assert_eq!(decode::<f64>(&bytes, &[3, 2]).unwrap_err(), "its shape is (2, 3) and must be (3, 2)");
        let single: Vec<u8> = bytes.iter().map(|&byte| if byte == b'8' { b'4' } else { byte }).collect();
        assert_eq!(decode::<f64>(&single, &[2, 3]).unwrap_err(), "its type is '<f4' and must be '<f8'");
    }

    #[test]
    fn a_damaged_file_is_an_error_wherever_it_is_cut() {
        let bytes = encode(&[1.0, 2.0], &[2]);
        for len in 0..bytes.len() {
            assert!(decode::<f64>(&bytes[..len], &[2]).is_err(), "cut to {len} bytes");
        }
    }
}
