//! What messages of a federation promise. That experience is none of them, the documentation's tests show.

use proptest::prelude::*;
use torchforge_data::{Gradients, Message, ShareError, Shareable, Statistics, Weights};

proptest! {
    #[test]
    fn a_message_comes_back_as_it_was_sent(
        values in prop::collection::vec(-1e30_f32..1e30, 0..50),
        counts in any::<[u64; 3]>(),
        means in prop::array::uniform3(-1e300_f64..1e300),
    ) {
        let gradients = Gradients::new(values.clone()).unwrap();
        prop_assert_eq!(Message::from_bytes(&gradients.to_bytes()), Ok(Message::Gradients(gradients)));
        let weights = Weights::new(values).unwrap();
        prop_assert_eq!(Message::from_bytes(&weights.to_bytes()), Ok(Message::Weights(weights)));
        let [episodes, environment_steps, gradient_steps] = counts;
        let [mean_return, mean_length, mean_loss] = means;
        let statistics =
            Statistics { episodes, environment_steps, gradient_steps, mean_return, mean_length, mean_loss };
        prop_assert_eq!(Message::from_bytes(&statistics.to_bytes()), Ok(Message::Statistics(statistics)));
    }

    #[test]
    fn other_bytes_are_refused_or_a_whole_message(
        mut bytes in prop::collection::vec(any::<u8>(), 0..100),
        kind in 0_u64..5,
        count in prop_oneof![0_u64..30, any::<u64>()],
    ) {
        let _ = Message::from_bytes(&bytes);
        for (place, header) in bytes.iter_mut().zip(b"TFSHARE1".iter().copied().chain(kind.to_le_bytes()).chain(count.to_le_bytes())) {
            *place = header;
        }
        if let Ok(message) = Message::from_bytes(&bytes) {
            let again = match message {
                Message::Gradients(gradients) => gradients.to_bytes(),
                Message::Weights(weights) => weights.to_bytes(),
                Message::Statistics(statistics) => statistics.to_bytes(),
            };
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn the_bytes_of_a_message_are_the_same_on_every_machine() {
    let bytes = Gradients::new(vec![1.0, -2.0]).unwrap().to_bytes();
    let expected = b"TFSHARE1\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\xc0";
    assert_eq!(bytes, expected);
}

#[test]
fn what_diverged_is_not_shared_and_not_taken() {
    let error = Gradients::new(vec![0.0, f32::INFINITY]).unwrap_err();
    assert_eq!(error, ShareError::NotFinite { place: 1, value: f64::INFINITY });
    let mut bytes = Weights::new(vec![0.0, 1.0]).unwrap().to_bytes();
    bytes[28..].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
    assert_eq!(
        Message::from_bytes(&bytes),
        Err(ShareError::NotFinite { place: 1, value: f64::NEG_INFINITY })
    );
    let statistics = Statistics { mean_loss: f64::INFINITY, ..Statistics::default() };
    assert!(matches!(
        Message::from_bytes(&statistics.to_bytes()),
        Err(ShareError::NotFinite { place: 2, .. })
    ));
}

#[test]
fn bytes_that_are_no_message_are_refused_with_the_place() {
    let whole = Weights::new(vec![1.0]).unwrap().to_bytes();
    for (bytes, offset) in [(&whole[..7], 0), (&whole[..10], 10), (&whole[..20], 20), (&whole[..27], 24)] {
        let error = Message::from_bytes(bytes).unwrap_err();
        assert!(matches!(error, ShareError::Malformed { offset: found, .. } if found == offset), "{error}");
    }
    let mut other = whole;
    other[8] = 9;
    assert!(matches!(Message::from_bytes(&other), Err(ShareError::Malformed { offset: 8, .. })));
}
