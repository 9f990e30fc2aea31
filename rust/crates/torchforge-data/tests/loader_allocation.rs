//! Batches take their memory once. The only test of its program, so that nothing else allocates meanwhile.
#![cfg(feature = "dataset")]

mod counting;
mod dataset_files;

use counting::allocations;
use dataset_files::{numbered, scratch};
use torchforge_data::{DataLoader, LoaderConfig, MmapDataset};

#[test]
fn iterating_allocates_nothing_per_batch() {
    let folder = scratch("loader-allocation");
    let path = folder.join("rows.arrow");
    numbered(&path, 0..1_000, 64);
    for (shuffle, workers) in [(false, 0), (true, 0), (false, 2), (true, 2)] {
        let dataset = MmapDataset::open(&path).unwrap();
        let config = LoaderConfig { batch_size: 8, shuffle, workers, ..Default::default() };
        let loader = DataLoader::new(dataset, config).unwrap();
        let epoch = || {
            let mut sum = 0;
            for batch in &loader {
                sum += batch.unwrap().column::<u32>("number").unwrap().iter().sum::<u32>();
            }
            assert_eq!(sum, 499_500);
        };
        // A buffer for each batch that is under way at once, and what threads need to wait for the first time.
        (0..20).for_each(|_| epoch());
        let before = allocations();
        (0..20).for_each(|_| epoch());
        let made = allocations() - before;
        // A worker may fall behind for the first time: at most a buffer each for what is made, ahead and in use.
        assert!(made <= 10, "{made} allocations in 2,500 batches, shuffle {shuffle}, {workers} workers");
    }
}
