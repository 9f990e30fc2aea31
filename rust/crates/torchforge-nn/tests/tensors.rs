//! Files of tensors, whole and made to mislead.

use std::io::Cursor;

use proptest::prelude::*;
use torchforge_nn::{Error, TensorFile, TensorReader, TensorWriter};

fn whole() -> Vec<u8> {
    let mut tensors = TensorWriter::new();
    tensors.push("matrix".into(), vec![2, 2], [1.0, -2.0, f32::NAN, 0.5]);
    tensors.push_vector("words", &[u64::MAX, 3]);
    tensors.push_vector("numbers", &[f64::MIN_POSITIVE]);
    tensors.push_vector("indices", &[7_u32]);
    tensors.into_bytes_with("what it is".into())
}

fn file(bytes: Vec<u8>) -> Result<TensorFile<Cursor<Vec<u8>>>, Error> {
    TensorFile::new(Cursor::new(bytes))
}

#[test]
fn what_was_written_is_read_back_from_memory_and_piece_by_piece() {
    let bytes = whole();
    let reader = TensorReader::new(&bytes).unwrap();
    assert_eq!(reader.shape("matrix").unwrap(), [2, 2]);
    assert_eq!(reader.f32("matrix", &[2, 2]).unwrap()[..2], [1.0, -2.0]);
    assert!(reader.contains("indices") && !reader.contains("index"));

    let mut file = file(bytes).unwrap();
    assert_eq!((file.words(), file.count()), (Some("what it is"), 4));
    assert_eq!(file.vector::<u64>("words", 5).unwrap(), [u64::MAX, 3]);
    assert_eq!(file.vector::<f64>("numbers", 1).unwrap(), [f64::MIN_POSITIVE]);
    assert_eq!(file.vector::<u32>("indices", 1).unwrap(), [7]);
}

#[test]
fn equal_tensors_and_words_give_equal_bytes() {
    assert!((0..20).all(|_| whole() == whole()));
}

#[test]
fn another_type_or_shape_or_more_values_than_asked_for_are_errors() {
    let mut file = file(whole()).unwrap();
    assert!(matches!(file.vector::<u64>("words", 1), Err(Error::TensorKind { .. })));
    assert!(matches!(file.vector::<f64>("words", 2), Err(Error::TensorKind { .. })));
    assert!(matches!(file.vector::<f32>("matrix", 4), Err(Error::TensorKind { .. })));
    assert!(matches!(file.vector::<f32>("word", 4), Err(Error::MissingTensor { .. })));
}

/// A file of this header and nothing more.
fn of_header(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()
}

#[test]
fn a_header_that_promises_what_is_not_there_is_an_error_and_takes_no_memory() {
    for shape in ["[2305843009213693951]", "[1000000000000]", "[1]"] {
        let len: u64 = shape.trim_matches(['[', ']']).parse().unwrap();
        let header = format!(r#"{{"a":{{"dtype":"F64","shape":{shape},"data_offsets":[0,{}]}}}}"#, len * 8);
        let bytes = of_header(&header);
        assert!(matches!(TensorReader::new(&bytes), Err(Error::NotSafetensors { .. })), "{shape}");
        assert!(matches!(file(bytes), Err(Error::NotSafetensors { .. })), "{shape}");
    }
    for length in [u64::MAX, u64::MAX - 7, 1 << 20, 9] {
        let bytes = [&length.to_le_bytes()[..], b"{}"].concat();
        assert!(TensorReader::new(&bytes).is_err() && file(bytes).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn a_file_that_was_altered_or_cut_is_read_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut: prop::sample::Index,
    ) {
        let mut bytes = whole();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(reader) = TensorReader::new(&bytes) {
            let _ = reader.f32("matrix", &[2, 2]);
        }
        if let Ok(mut file) = file(bytes) {
            let _ = (file.vector::<u64>("words", 2), file.vector::<u32>("indices", 1));
        }
    }
}
