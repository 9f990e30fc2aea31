//! Copies of a few values.

/// Copies `from` into `into`, which is as long.
///
/// A call of the C library's `memmove` costs more than a small observation or an action. So up to six values are copied in
/// place.
///
/// # Panics
///
/// Where the lengths differ.
#[inline(always)]
pub fn copy<T: Copy>(into: &mut [T], from: &[T]) {
    let done = exactly::<1, T>(into, from)
        || exactly::<2, T>(into, from)
        || exactly::<3, T>(into, from)
        || exactly::<4, T>(into, from)
        || exactly::<6, T>(into, from);
    if !done {
        into.copy_from_slice(from);
    }
}

/// Copies `N` values where there are so many.
#[inline(always)]
fn exactly<const N: usize, T: Copy>(into: &mut [T], from: &[T]) -> bool {
    match (<&mut [T; N]>::try_from(into), <&[T; N]>::try_from(from)) {
        (Ok(into), Ok(from)) => {
            *into = *from;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::copy;

    proptest! {
        #[test]
        fn a_copy_of_any_length_is_the_original(values in prop::collection::vec(any::<u32>(), 0..12)) {
            let mut into = vec![7; values.len()];
            copy(&mut into, &values);
            prop_assert_eq!(into, values);
        }
    }

    #[test]
    #[should_panic(expected = "length")]
    fn lengths_that_differ_are_refused() {
        copy(&mut [0; 4], &[1; 3]);
    }
}
