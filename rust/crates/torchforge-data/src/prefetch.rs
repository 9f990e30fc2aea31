//! Memory that the processor fetches while it copies other rows.
#![cfg_attr(feature = "prefetch", allow(unsafe_code, reason = "the standard library has no stable prefetch"))]

/// Bytes of a row that are fetched whole. The processor itself fetches what follows, as soon as these are read in order.
#[cfg(feature = "dataset")]
const START: usize = 512;
/// Bytes that the processor fetches at a time, where they are 64; elsewhere some are asked for twice.
#[cfg(feature = "dataset")]
const LINE: usize = 64;

/// Hands `count` rows to `copy`, with their places from 0 on. `draw` gives the row of each place, and it is fetched `AHEAD`
/// rows before. With fewer rows ahead a row is not there yet, and with more the processor's places for lines are all taken.
///
/// Rows of a minibatch lie anywhere in a buffer. A processor that copies them one by one waits for most of them.
#[inline(always)]
pub fn ahead<const AHEAD: usize, R: Copy + Default>(
    count: usize,
    mut draw: impl FnMut(usize) -> R,
    fetch: impl Fn(R),
    mut copy: impl FnMut(usize, R),
) {
    let mut drawn = [R::default(); AHEAD];
    let mut next = move |place| {
        let row = draw(place);
        fetch(row);
        row
    };
    drawn.iter_mut().take(count).enumerate().for_each(|(place, row)| *row = next(place));
    for place in 0..count {
        let row = drawn[place % AHEAD];
        if place + AHEAD < count {
            drawn[place % AHEAD] = next(place + AHEAD);
        }
        copy(place, row);
    }
}

/// Has the processor fetch some values, or the first and the last of many. That changes nothing but times.
#[inline(always)]
pub fn fetch<T>(values: &[T]) {
    if let Some(first) = values.first() {
        line_of(first);
    }
    if let [_, .., last] = values {
        line_of(last);
    }
}

/// Has the processor fetch the beginning of a row of a file.
#[cfg(feature = "dataset")]
#[inline(always)]
pub fn fetch_start(row: &[u8]) {
    row.iter().take(START).step_by(LINE).for_each(line_of);
}

/// Has the processor fetch the line that a value lies in.
#[inline(always)]
fn line_of<T>(value: &T) {
    let place = std::ptr::from_ref(value);
    // SAFETY: a prefetch reads nothing into the program and faults nowhere. All processors of this architecture have it.
    #[cfg(all(feature = "prefetch", target_arch = "x86_64"))]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    // SAFETY: as above. The instruction changes neither memory nor flags, and needs no stack.
    #[cfg(all(feature = "prefetch", target_arch = "aarch64"))]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{place}]", place = in(reg) place, options(nostack, readonly, preserves_flags));
    }
    let _ = place;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;

    use super::{ahead, fetch};

    const AHEAD: usize = 16;

    proptest! {
        #[test]
        fn rows_are_copied_in_the_order_in_which_they_are_drawn(count in 0_usize..3 * AHEAD) {
            let (mut drawn, mut copied, fetched) = (0, Vec::new(), RefCell::new(Vec::new()));
            ahead::<AHEAD, _>(
                count,
                |place| { assert_eq!(place, drawn); drawn += 1; drawn },
                |row| fetched.borrow_mut().push(row),
                |place, row| {
                    assert_eq!(place, row - 1);
                    let fetched = fetched.borrow();
                    // What is copied was fetched, and so were the next ones.
                    assert_eq!(fetched.len(), count.min(row - 1 + AHEAD + usize::from(row - 1 + AHEAD < count)));
                    copied.push(row);
                },
            );
            prop_assert_eq!(&copied, &(1..=count).collect::<Vec<_>>());
            prop_assert_eq!(fetched.into_inner(), copied);
            prop_assert_eq!(drawn, count);
        }
    }

    #[test]
    fn whatever_is_fetched_stays_as_it_was() {
        for len in 0..40 {
            let values: Vec<u8> = (0..len).collect();
            fetch(&values);
            #[cfg(feature = "dataset")]
            super::fetch_start(&values);
            assert!(values.into_iter().eq(0..len));
        }
        fetch::<f32>(&[]);
    }
}
