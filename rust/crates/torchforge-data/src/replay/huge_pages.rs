//! Memory of large buffers in huge pages.
#![allow(unsafe_code, reason = "the standard library gives no advice to the kernel")]

/// NumPy asks for huge pages of arrays that are as large.
const LARGE: usize = 4 << 20;
/// What a huge page is aligned to where pages have 4 KiB, and a multiple of the size of any other page.
const ALIGNMENT: usize = 2 << 20;

/// Asks the kernel for huge pages in what a list has reserved and not yet written.
///
/// Rows of a minibatch lie anywhere in a large buffer, and the processor has to find the page of each. A kernel that has no
/// huge pages, or was told to give none, gives others: nothing else changes.
pub fn prefer<T>(values: &mut Vec<T>) {
    let room = values.spare_capacity_mut();
    let bytes = size_of_val(room);
    let start = room.as_mut_ptr().cast::<u8>();
    let skipped = start.align_offset(ALIGNMENT);
    if bytes < LARGE || skipped >= bytes {
        return;
    }
    let whole = (bytes - skipped) / ALIGNMENT * ALIGNMENT;
    // SAFETY: the range begins `skipped` bytes into memory that the list owns, and ends within it. The advice changes neither
    // contents nor rights of pages, so the result can be ignored.
    unsafe { libc::madvise(start.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::columns::Columns;
    use super::{ALIGNMENT, LARGE, prefer};

    fn there_are_some() -> bool {
        fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap()
    }

    /// The kernel's flags of the memory that holds an address. `hg` is that it was asked for huge pages.
    fn flags_of(address: usize) -> String {
        let told = fs::read_to_string("/proc/self/smaps").unwrap();
        let mut within = false;
        for line in told.lines() {
            let bounds = line.split_once(' ').and_then(|(bounds, _)| bounds.split_once('-'));
            if let Some((first, last)) = bounds {
                let at = |text| usize::from_str_radix(text, 16).unwrap();
                within = (at(first)..at(last)).contains(&address);
            } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| within) {
                return flags.to_owned();
            }
        }
        panic!("no memory at {address:#x}");
    }

    fn asked(address: usize) -> bool {
        flags_of(address).split(' ').any(|flag| flag == "hg")
    }

    fn asked_in_the_middle(bytes: usize) -> bool {
        let mut values = Vec::<u32>::with_capacity(bytes / 4);
        prefer(&mut values);
        let start = values.as_ptr() as usize;
        let asked = asked(start + bytes / 2);
        // All of it can be written, to its last value.
        values.resize(values.capacity(), 7);
        assert!(values.iter().all(|&value| value == 7));
        asked
    }

    #[test]
    fn only_large_memory_is_asked_to_lie_in_huge_pages() {
        if there_are_some() {
            assert!(asked_in_the_middle(LARGE + 2 * ALIGNMENT));
        }
        assert!(!asked_in_the_middle(LARGE - 4));
    }

    #[test]
    fn only_rows_that_are_filled_at_once_are_asked_to_lie_there() {
        let (rows, width) = (100_000, 64);
        let middle = rows * width / 2 * size_of::<f32>();
        let whole = Columns::<u32, f32>::zeroed(rows, "rows", width, 1).unwrap();
        assert_eq!(asked(whole.observations.as_ptr() as usize + middle), there_are_some());
        let mut begun = Columns::<u32, f32>::with_room(rows, "rows", width, 1).unwrap();
        begun.touch(10);
        assert!(!asked(begun.observations.as_ptr() as usize + middle));
    }
}
