//! What the loader promises.
#![cfg(feature = "dataset")]

mod dataset_files;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dataset_files::{Scratch, numbered, pixels, scratch, value};
use proptest::prelude::*;
use torchforge_data::{
    Batches, DataLoader, Dataset, DatasetError, LoaderConfig, LoaderState, MmapDataset, RowBatch, Run, Schema,
};

const CONFIG: LoaderConfig =
    LoaderConfig { batch_size: 8, shuffle: false, seed: 0, drop_last: false, prefetch: 2, workers: 1 };

/// A folder with a file of this many rows, in blocks of 16, and the file.
fn file(test: &str, rows: u32) -> (Scratch, PathBuf) {
    let folder = scratch(test);
    let path = folder.join("rows.arrow");
    numbered(&path, 0..rows, 16);
    (folder, path)
}

fn loader(path: &Path, config: LoaderConfig) -> DataLoader<MmapDataset> {
    DataLoader::new(MmapDataset::open(path).unwrap(), config).unwrap()
}

/// The numbers of a batch's rows, once all columns were found to belong together.
fn numbers<D: Dataset>(batch: &RowBatch<D>) -> Vec<u32> {
    let numbers = batch.column::<u32>("number").unwrap();
    let expected: Vec<u8> = numbers.iter().flat_map(|&number| pixels(number)).collect();
    assert_eq!(batch.column::<u8>("pixels").unwrap(), expected);
    let expected: Vec<f64> = numbers.iter().flat_map(|&number| value(number)).collect();
    assert_eq!(batch.column::<f64>("value").unwrap(), expected);
    assert_eq!(batch.len(), numbers.len());
    numbers.to_vec()
}

fn epoch<D: Dataset + 'static>(batches: Batches<'_, D>) -> Vec<Vec<u32>> {
    batches.map(|batch| numbers(&batch.unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_row_comes_once_an_epoch_in_an_order_that_workers_do_not_change(
        rows in 0_u32..120,
        batch_size in 1_usize..40,
        shuffle in any::<bool>(),
        drop_last in any::<bool>(),
        seed in any::<u64>(),
        prefetch in 1_usize..5,
        workers in 0_usize..4,
        positioned in any::<bool>(),
    ) {
        let (_folder, path) = file("orders-of-workers", rows);
        let config = LoaderConfig { batch_size, shuffle, seed, drop_last, prefetch, workers };
        let mut dataset = MmapDataset::open(&path).unwrap();
        if positioned {
            dataset = dataset.positioned();
        }
        let first = DataLoader::new(dataset, config).unwrap();
        let alone = loader(&path, LoaderConfig { workers: 0, ..config });
        for _ in 0..3 {
            let batches = epoch(first.iter());
            prop_assert_eq!(&batches, &epoch(alone.iter()));
            prop_assert_eq!(batches.len(), first.batches());
            let whole = rows as usize / batch_size;
            prop_assert!(batches.iter().take(whole).all(|batch| batch.len() == batch_size));
            let mut seen: Vec<u32> = batches.concat();
            let expected = if drop_last { whole * batch_size } else { rows as usize };
            prop_assert_eq!(seen.len(), expected);
            if !shuffle {
                prop_assert!(seen.is_sorted());
            }
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), expected);
        }
    }

    #[test]
    fn runs_are_the_batches_of_a_loader_and_a_state_between_two_leads_to_the_rest(
        rows in 0_u32..120,
        batch_size in 1_usize..40,
        shuffle in any::<bool>(),
        drop_last in any::<bool>(),
        workers in 0_usize..2,
        handed in 0_usize..4,
    ) {
        let (_folder, path) = file("runs", rows);
        let config = LoaderConfig { batch_size, shuffle, drop_last, workers, seed: 5, ..CONFIG };
        let wanted = epoch(loader(&path, config).iter());
        let given = Arc::new(loader(&path, config));
        let mut found: Vec<Vec<u32>> = Vec::new();
        let mut runs = given.iter_shared();
        while let Some(run) = runs.next_run() {
            let before = found.len();
            let mut last = 0;
            match run.unwrap() {
                Run::Lent { first, rows, batches, number } => {
                    prop_assert!(!shuffle && workers == 0);
                    (0..batches).for_each(|batch| {
                        let first = first + batch * rows;
                        found.push((first..first + rows).map(|row| row as u32).collect());
                    });
                    last = number;
                }
                Run::Rows(rows) => found.push(rows.into_iter().map(|row| row as u32).collect()),
                Run::Batch(batch) => found.push(numbers(&batch)),
            }
            // Of a run that was lent so many were handed on; of an earlier number none of it; all else when it was given.
            for (number, taken) in [(last, before + handed.min(found.len() - before)), (last + 7, before)] {
                let taken = if last == 0 { found.len() } else { taken };
                if taken < given.batches() {
                    let other = loader(&path, config);
                    other.resume(&given.state_in_run(number, handed)).unwrap();
                    prop_assert_eq!(epoch(other.iter()), &wanted[taken..]);
                }
            }
        }
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn a_saved_state_goes_on_with_exactly_the_batches_that_were_left(
        taken in 0_usize..40,
        shuffle in any::<bool>(),
        workers in 0_usize..3,
        other_workers in 0_usize..3,
    ) {
        let (_folder, path) = file("resumed", 100);
        let config = LoaderConfig { shuffle, workers, seed: 9, ..CONFIG };
        let whole = loader(&path, config);
        let all: Vec<Vec<u32>> = (0..4).flat_map(|_| epoch(whole.iter())).collect();

        let stopped = loader(&path, config);
        let mut left = taken;
        while left > 0 {
            let mut batches = stopped.iter();
            while left > 0 && batches.next().is_some() {
                left -= 1;
            }
        }
        let state = LoaderState::from_bytes(&stopped.state().to_bytes()).unwrap();
        prop_assert_eq!((state.epoch(), state.batch()), ((taken / 13) as u64, (taken % 13) as u64));

        let resumed = loader(&path, LoaderConfig { workers: other_workers, prefetch: 3, ..config });
        resumed.resume(&state).unwrap();
        let rest: Vec<Vec<u32>> = (taken / 13..4).flat_map(|_| epoch(resumed.iter())).collect();
        prop_assert_eq!(rest, &all[taken..]);
    }
}

/// A dataset that cannot be read at the first look.
struct Late {
    inner: MmapDataset,
    looks: AtomicUsize,
}

impl Dataset for Late {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn run(&self, column: usize, row: usize) -> &[u8] {
        self.inner.run(column, row)
    }

    fn check(&self) -> Result<(), DatasetError> {
        if self.looks.fetch_add(1, Ordering::Relaxed) == 0 { Err(DatasetError::NoShard) } else { Ok(()) }
    }
}

#[test]
fn a_run_that_cannot_be_read_costs_one_batch() {
    let (_folder, path) = file("late", 64);
    let dataset = Late { inner: MmapDataset::open(&path).unwrap(), looks: AtomicUsize::new(0) };
    let late = Arc::new(DataLoader::new(dataset, LoaderConfig { workers: 0, ..CONFIG }).unwrap());
    let mut runs = late.iter_shared();
    assert!(matches!(runs.next_run(), Some(Err(DatasetError::NoShard))));
    assert_eq!(late.state().batch(), 1);
    let Some(Ok(Run::Lent { first, rows, batches, number })) = runs.next_run() else {
        panic!("a run follows")
    };
    // A block has sixteen rows.
    assert_eq!((first, rows, batches, number), (8, 8, 1, 1));
}

#[test]
fn a_sequential_batch_points_into_the_mapped_file() {
    let (_folder, path) = file("mapped", 64);
    let mapped = loader(&path, CONFIG);
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let ranges: Vec<(usize, usize)> = maps
        .lines()
        .filter(|line| line.ends_with(path.to_str().unwrap()))
        .map(|line| {
            let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
            (usize::from_str_radix(from, 16).unwrap(), usize::from_str_radix(to, 16).unwrap())
        })
        .collect();
    assert!(!ranges.is_empty());
    let inside = |batch: &RowBatch<MmapDataset>| {
        (0..3).all(|column| {
            let begin = batch.bytes(column).as_ptr() as usize;
            ranges.iter().any(|&(from, to)| from <= begin && begin + batch.bytes(column).len() <= to)
        })
    };
    for batch in &mapped {
        let batch = batch.unwrap();
        assert!(batch.is_lent() && inside(&batch));
    }
    for batch in &loader(&path, LoaderConfig { shuffle: true, ..CONFIG }) {
        let batch = batch.unwrap();
        assert!(!batch.is_lent() && !inside(&batch));
        assert!((0..3).all(|column| batch.bytes(column).as_ptr().align_offset(64) == 0));
    }
    // Where a batch meets the end of a block its rows do not lie side by side.
    let lent: Vec<bool> = loader(&path, LoaderConfig { batch_size: 12, ..CONFIG })
        .iter()
        .map(|batch| batch.unwrap().is_lent())
        .collect();
    assert_eq!(lent, [true, false, false, true, true, true]);
}

#[test]
fn a_lent_batch_lies_in_the_file_where_its_place_says() {
    let (_folder, path) = file("places", 64);
    let bytes = fs::read(&path).unwrap();
    let dataset = MmapDataset::open_shards([&path, &path]).unwrap();
    let mapped = DataLoader::new(dataset, CONFIG).unwrap();
    for (number, batch) in mapped.iter().enumerate() {
        let batch = batch.unwrap();
        assert_eq!(batch.first_lent(), Some(number * 8));
        for column in 0..3 {
            let (shard, start) = mapped.dataset().place(column, number * 8);
            assert_eq!(shard, number / 8);
            assert_eq!(batch.bytes(column), &bytes[start..][..batch.bytes(column).len()]);
        }
        assert!(batch.into_memory().is_none(), "the rows are the file's");
    }
}

#[test]
fn the_memory_of_a_copied_batch_is_given_away_whole_unless_another_view_is_left() {
    let (_folder, path) = file("given", 100);
    for workers in [0, 2] {
        let shuffled = Arc::new(loader(&path, LoaderConfig { shuffle: true, workers, ..CONFIG }));
        let mut kept = Vec::new();
        for batch in shuffled.iter_shared() {
            let batch = batch.unwrap();
            assert_eq!(batch.first_lent(), None);
            assert!(batch.clone().into_memory().is_none());
            let expected: Vec<Vec<u8>> = (0..3).map(|column| batch.bytes(column).to_vec()).collect();
            kept.push((expected, batch.into_memory().unwrap()));
        }
        assert_eq!(kept.len(), 13);
        for (expected, (memory, columns)) in kept {
            let found: Vec<Vec<u8>> = columns.into_iter().map(|range| memory[range].to_vec()).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_shared_iteration_keeps_its_loader_alive() {
    let (_folder, path) = file("alive", 40);
    let mut batches = Arc::new(loader(&path, CONFIG)).iter_shared();
    assert_eq!(batches.by_ref().map(|batch| numbers(&batch.unwrap()).len()).sum::<usize>(), 40);
    assert!(batches.next().is_none());
}

#[test]
fn a_batch_stays_as_it_was_however_many_come_after_it() {
    let (_folder, path) = file("kept", 100);
    for workers in [0, 2] {
        let config = LoaderConfig { shuffle: true, workers, ..CONFIG };
        let shuffled = loader(&path, config);
        let mut kept = Vec::new();
        for epoch in 0..5 {
            for (place, batch) in shuffled.iter().enumerate() {
                let batch = batch.unwrap();
                // Views of all ages: some live for long, the others' buffers are filled again.
                if (place + epoch) % 3 == 0 {
                    kept.push((numbers(&batch), batch.clone()));
                }
            }
        }
        drop(shuffled);
        for (expected, batch) in kept {
            assert_eq!(numbers(&batch), expected);
        }
    }
}

#[test]
fn epochs_and_seeds_have_orders_of_their_own() {
    let (_folder, path) = file("orders", 100);
    let orders = |seed| {
        let loader = loader(&path, LoaderConfig { shuffle: true, seed, ..CONFIG });
        [0, 1].map(|_| epoch(loader.iter()).concat())
    };
    let different: BTreeSet<Vec<u32>> = [orders(1), orders(2)].into_iter().flatten().collect();
    assert_eq!(different.len(), 4);
    assert_eq!(orders(1), orders(1));
}

#[test]
fn an_iteration_that_is_left_early_is_followed_by_the_next_epoch() {
    let (_folder, path) = file("early", 100);
    let config = LoaderConfig { shuffle: true, ..CONFIG };
    let (left, whole) = (loader(&path, config), loader(&path, config));
    left.iter().take(2).for_each(|batch| drop(batch.unwrap()));
    let expected = [0, 1].map(|_| epoch(whole.iter()));
    assert_eq!(epoch(left.iter()), expected[1]);
}

#[test]
fn an_older_iteration_ends_with_an_error() {
    let (_folder, path) = file("superseded", 100);
    for workers in [0, 1] {
        let loader = loader(&path, LoaderConfig { workers, ..CONFIG });
        let mut older = loader.iter();
        older.next().unwrap().unwrap();
        let newer = loader.iter();
        assert!(matches!(older.next(), Some(Err(DatasetError::Superseded))));
        assert!(older.next().is_none());
        assert_eq!(epoch(newer).len(), 13);
    }
}

/// Rows in memory; reading the row 42 does what the test wants, and reads are counted.
struct Troubled {
    schema: Schema,
    rows: Vec<u8>,
    trouble: fn() -> Result<(), DatasetError>,
    reads: Arc<AtomicUsize>,
}

impl Troubled {
    fn new(trouble: fn() -> Result<(), DatasetError>) -> (Self, Arc<AtomicUsize>) {
        let column = torchforge_data::Column::new("row", torchforge_data::ElementType::U8, &[]).unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        let schema = Schema::new(vec![column]).unwrap();
        (Self { schema, rows: (0..100).collect(), trouble, reads: Arc::clone(&reads) }, reads)
    }
}

impl Dataset for Troubled {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn run(&self, _column: usize, row: usize) -> &[u8] {
        &self.rows[row..]
    }

    fn copy_rows(&self, column: usize, rows: &[usize], into: &mut [u8]) -> Result<(), DatasetError> {
        self.reads.fetch_add(rows.len(), Ordering::Relaxed);
        if rows.contains(&42) {
            (self.trouble)()?;
        }
        rows.iter().zip(into).for_each(|(&row, into)| *into = self.run(column, row)[0]);
        Ok(())
    }

    fn lends(&self) -> bool {
        false
    }
}

#[test]
fn an_error_comes_in_the_place_of_its_batch_and_the_others_follow() {
    let troubles: [fn() -> Result<(), DatasetError>; 2] =
        [|| Err(DatasetError::NoShard), || panic!("on purpose")];
    for (trouble, panics) in troubles.into_iter().zip([false, true]) {
        for workers in [1, 3] {
            let (dataset, _) = Troubled::new(trouble);
            let loader = DataLoader::new(dataset, LoaderConfig { workers, ..CONFIG }).unwrap();
            for _ in 0..2 {
                let batches: Vec<_> = loader.iter().collect();
                assert_eq!(batches.len(), 13);
                for (number, batch) in batches.into_iter().enumerate() {
                    match batch {
                        Ok(batch) => assert_eq!(batch.bytes(0)[0] as usize, 8 * number),
                        Err(DatasetError::Panicked { batch: 5 }) => assert!(panics && number == 5),
                        Err(error) => {
                            assert!(!panics && number == 5 && matches!(error, DatasetError::NoShard));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn workers_wait_when_they_are_ahead_by_what_was_allowed() {
    for (prefetch, workers) in [(1, 1), (1, 3), (4, 2)] {
        let (dataset, reads) = Troubled::new(|| Ok(()));
        let loader = DataLoader::new(dataset, LoaderConfig { prefetch, workers, ..CONFIG }).unwrap();
        for (taken, batch) in loader.iter().enumerate() {
            batch.unwrap();
            // Whatever the workers did meanwhile: no batch beyond the window has been begun.
            assert!(reads.load(Ordering::Relaxed) <= 8 * (taken + 1 + prefetch));
        }
    }
}

#[test]
fn a_loader_that_is_dropped_in_the_middle_leaves_no_thread() {
    for taken in [0, 1, 5] {
        let (dataset, reads) = Troubled::new(|| Ok(()));
        let loader = DataLoader::new(dataset, LoaderConfig { workers: 3, ..CONFIG }).unwrap();
        loader.iter().take(taken).for_each(|batch| drop(batch.unwrap()));
        assert_eq!(Arc::strong_count(&reads), 2);
        drop(loader);
        // Each thread holds the dataset, so it is gone when they are.
        assert_eq!(Arc::strong_count(&reads), 1);
    }
}

#[test]
fn a_file_that_shrinks_during_an_epoch_is_an_error_of_the_batches_that_follow() {
    for (workers, shuffle, positioned) in
        [(0, false, false), (2, true, false), (2, true, true), (0, false, true)]
    {
        let (_folder, path) = file("shrinking", 2_000);
        let mut dataset = MmapDataset::open(&path).unwrap();
        if positioned {
            dataset = dataset.positioned();
        }
        let loader = DataLoader::new(dataset, LoaderConfig { workers, shuffle, ..CONFIG }).unwrap();
        let mut batches = loader.iter();
        batches.next().unwrap().unwrap();
        // By less than a page at the end, so that no row that is read meanwhile loses its page.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_len(fs::metadata(&path).unwrap().len() - 100).unwrap();
        let failed = batches.filter_map(Result::err).inspect(|error| {
            assert!(matches!(error, DatasetError::Shrunk { .. }), "{error}");
        });
        assert!(failed.count() >= 240);
    }
}

#[test]
fn options_and_states_that_do_not_fit_are_refused() {
    let (_folder, path) = file("options", 100);
    let refused = |config| DataLoader::new(MmapDataset::open(&path).unwrap(), config).err();
    for (what, config) in [
        ("batch_size", LoaderConfig { batch_size: 0, ..CONFIG }),
        ("prefetch", LoaderConfig { prefetch: 0, ..CONFIG }),
        ("batch_size", LoaderConfig { batch_size: usize::MAX, ..CONFIG }),
    ] {
        assert!(matches!(refused(config), Some(DatasetError::Option { what: found, .. }) if found == what));
    }
    // No batch has more rows than there are, and no epoch more batches.
    for workers in [0, 2] {
        let large =
            LoaderConfig { batch_size: 1 << 36, prefetch: usize::MAX, shuffle: true, workers, ..CONFIG };
        assert_eq!(epoch((&loader(&path, large)).into_iter()).concat().len(), 100);
    }
    let one = loader(&path, CONFIG);
    let state = one.state();
    for (what, config) in [
        ("batch_size", LoaderConfig { batch_size: 9, ..CONFIG }),
        ("seed", LoaderConfig { seed: 1, ..CONFIG }),
        ("shuffle", LoaderConfig { shuffle: true, ..CONFIG }),
        ("drop_last", LoaderConfig { drop_last: true, ..CONFIG }),
    ] {
        let error = loader(&path, config).resume(&state).unwrap_err();
        assert!(matches!(error, DatasetError::State { what: found, .. } if found == what), "{error}");
    }
    numbered(&path, 0..101, 16);
    assert!(matches!(loader(&path, CONFIG).resume(&state), Err(DatasetError::State { what: "rows", .. })));

    let mut bytes = state.to_bytes();
    assert_eq!(LoaderState::from_bytes(&bytes).unwrap(), state);
    assert!(matches!(LoaderState::from_bytes(&bytes[1..]), Err(DatasetError::NoState { len: 63 })));
    bytes[0] ^= 1;
    assert!(matches!(LoaderState::from_bytes(&bytes), Err(DatasetError::NoState { len: 64 })));
    bytes = state.to_bytes();
    bytes[56..].fill(0xff);
    let state = LoaderState::from_bytes(&bytes).unwrap();
    assert!(matches!(one.resume(&state), Err(DatasetError::State { what: "next batch", .. })));
}
