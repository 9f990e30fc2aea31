//! What the asynchronous loader promises, over files, a folder and a server of HTTP.
#![cfg(feature = "async-http")]

mod dataset_files;
mod range_server;
mod streams;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use dataset_files::{numbered, scratch};
use range_server::{Mood, RangeServer};
use streams::{CONFIG, SHARDS, all, assert_same_batches, mapped, opened, runtime, shards};
use tokio::runtime::Handle;
use torchforge_data::object_store::http::HttpBuilder;
use torchforge_data::object_store::local::LocalFileSystem;
use torchforge_data::object_store::{ClientOptions, ObjectStore, RetryConfig};
use torchforge_data::{
    AsyncLoader, DataLoader, Dataset, DatasetError, LoaderConfig, LoaderState, MmapDataset, ObjectDataset,
    Schema,
};

/// Longer than any step of a test takes where it does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

fn local(folder: &Path) -> Arc<dyn ObjectStore> {
    Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap())
}

/// The server as a store that tries once, and waits for ever.
fn http(server: &RangeServer) -> Arc<dyn ObjectStore> {
    let store = HttpBuilder::new()
        .with_url(server.url())
        .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() });
    Arc::new(
        store
            .with_client_options(ClientOptions::new().with_allow_http(true).with_timeout_disabled())
            .build()
            .unwrap(),
    )
}

/// Waits until something holds, and lets the runtime work meanwhile.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what} took longer than {PATIENCE:?}");
        // A round through the threads for blocking work: no spinning.
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
        tokio::task::yield_now().await;
    }
}

#[test]
fn batches_are_those_of_the_ordinary_loader_wherever_the_rows_lie() {
    let folder = shards("async-order");
    let server = RangeServer::of(&folder);
    runtime().block_on(assert_same_batches(&folder, async |config| {
        vec![
            AsyncLoader::new(mapped(&folder), config).unwrap(),
            AsyncLoader::new(mapped(&folder).positioned(), config).unwrap(),
            AsyncLoader::of_objects(opened(local(&folder)).await, config).unwrap(),
            AsyncLoader::of_objects(opened(http(&server)).await, config).unwrap(),
        ]
    }));
}

#[test]
fn a_saved_state_leads_on_with_the_batches_that_were_left_in_either_loader() {
    let folder = shards("async-resumed");
    runtime().block_on(async {
        let loader = AsyncLoader::of_objects(opened(local(&folder)).await, CONFIG).unwrap();
        let mut batches = loader.epoch(4);
        for _ in 0..5 {
            batches.next().await.unwrap().unwrap();
        }
        let state = LoaderState::from_bytes(&batches.state().to_bytes()).unwrap();
        assert_eq!((state.epoch(), state.batch()), (4, 5));
        let rest = all(batches).await;
        assert_eq!(all(loader.resume(&state).unwrap()).await, rest);

        let ordinary = DataLoader::new(mapped(&folder), CONFIG).unwrap();
        ordinary.resume(&state).unwrap();
        let theirs: Vec<Vec<u8>> = ordinary.iter().map(|batch| batch.unwrap().bytes(0).to_vec()).collect();
        assert_eq!(rest.iter().map(|batch| batch[0].clone()).collect::<Vec<_>>(), theirs);

        let mut ended = loader.epoch(4);
        while ended.next().await.is_some() {}
        assert_eq!((ended.state().epoch(), ended.state().batch()), (5, 0));
        let other = AsyncLoader::new(mapped(&folder), LoaderConfig { seed: 8, ..CONFIG }).unwrap();
        assert!(matches!(other.resume(&state), Err(DatasetError::State { what: "seed", .. })));
    });
}

#[test]
fn only_the_bytes_of_a_batch_and_small_gaps_between_them_are_asked_for() {
    const ROWS: u32 = 20_000;
    let folder = scratch("async-ranges");
    numbered(&folder.join("rows.arrow"), 0..ROWS, 10_000);
    let server = RangeServer::of(&folder);
    let dataset = MmapDataset::open(folder.join("rows.arrow")).unwrap();
    let len = fs::metadata(folder.join("rows.arrow")).unwrap().len();
    runtime().block_on(async {
        let objects = ObjectDataset::open(http(&server), ["rows.arrow"]).await.unwrap();
        let opening: u64 = server.asked().iter().map(|(_, range)| range.end - range.start).sum();
        assert!(opening < 4_096, "{opening} of {len} bytes to open");

        let config = LoaderConfig { shuffle: false, prefetch: 1, ..CONFIG };
        let mut batches = AsyncLoader::of_objects(objects, config).unwrap().epoch(0);
        batches.next().await.unwrap().unwrap();
        drop(batches);
        // Read-ahead may have begun on the second batch: each is a range a column, 8 rows long.
        let asked = server.asked();
        let widths: Vec<u64> =
            dataset.schema().columns().iter().map(|column| column.width() as u64).collect();
        for (column, width) in widths.iter().enumerate() {
            let start = dataset.place(column, 0).1 as u64;
            assert!(asked.contains(&("rows.arrow".into(), start..start + 8 * width)), "{asked:?}");
        }
        assert!(asked.len() <= 6, "{asked:?}");
    });
}

/// Rows that are counted when they are read, and for which the test can be waited for.
struct Watched {
    inner: MmapDataset,
    copies: Arc<AtomicUsize>,
    gate: Option<Mutex<Receiver<()>>>,
}

impl Watched {
    fn new(folder: &Path) -> (Self, Arc<AtomicUsize>) {
        let copies = Arc::new(AtomicUsize::new(0));
        (Self { inner: mapped(folder), copies: Arc::clone(&copies), gate: None }, copies)
    }

    fn gated(folder: &Path) -> (Self, SyncSender<()>) {
        let (open, gate) = sync_channel(1_000);
        (Self { gate: Some(Mutex::new(gate)), ..Self::new(folder).0 }, open)
    }
}

impl Dataset for Watched {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn run(&self, column: usize, row: usize) -> &[u8] {
        self.inner.run(column, row)
    }

    fn copy_rows(&self, column: usize, rows: &[usize], into: &mut [u8]) -> Result<(), DatasetError> {
        if column == 0 {
            self.copies.fetch_add(1, Ordering::SeqCst);
            if let Some(gate) = &self.gate {
                gate.lock().unwrap().recv_timeout(PATIENCE).expect("the executor goes on meanwhile");
            }
        }
        self.inner.copy_rows(column, rows, into)
    }
}

#[test]
fn no_more_than_prefetch_batches_are_made_ahead() {
    let folder = shards("async-pressure");
    runtime().block_on(async {
        let (watched, made) = Watched::new(&folder);
        let loader = AsyncLoader::new(watched, LoaderConfig { prefetch: 3, ..CONFIG }).unwrap();
        let mut batches = loader.epoch(0);
        for taken in 1..=10 {
            batches.next().await.unwrap().unwrap();
            let ahead = loader.batches().min(taken + 3);
            until("read-ahead", || made.load(Ordering::SeqCst) == ahead).await;
            // Whatever was begun too early would come now.
            until("no task", || Handle::current().metrics().num_alive_tasks() == 0).await;
            assert_eq!(made.load(Ordering::SeqCst), ahead);
        }
    });
}

#[test]
fn a_dataset_that_keeps_a_thread_waiting_does_not_keep_the_executor() {
    let folder = shards("async-blocking");
    let (watched, open) = Watched::gated(&folder);
    runtime().block_on(async move {
        let loader = AsyncLoader::new(watched, CONFIG).unwrap();
        // The only thread of the runtime opens the gate, after it began to wait for the batch.
        let opening = tokio::spawn(async move {
            for _ in 0..13 {
                tokio::task::yield_now().await;
                open.send(()).unwrap();
            }
        });
        assert_eq!(all(loader.epoch(0)).await.len(), 13);
        opening.await.unwrap();
    });
}

#[test]
fn dropping_a_stream_stops_its_requests_and_leaves_no_task() {
    let folder = shards("async-cancelled");
    let server = RangeServer::of(&folder);
    runtime().block_on(async {
        let store = http(&server);
        let loader = AsyncLoader::of_objects(opened(Arc::clone(&store)).await, CONFIG).unwrap();
        server.be(Mood::Silent);
        server.asked();
        let mut batches = loader.epoch(0);
        {
            // Polled once: it reads ahead, and nobody answers.
            let mut next = std::pin::pin!(batches.next());
            std::future::poll_fn(|context| {
                assert!(next.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
        }
        let asked = Mutex::new(Vec::new());
        until("a request", || {
            asked.lock().unwrap().extend(server.asked());
            !asked.lock().unwrap().is_empty()
        })
        .await;
        drop((batches, loader, store));
        until("the end of all tasks", || Handle::current().metrics().num_alive_tasks() == 0).await;
        server.asked();
        server.be(Mood::Willing);
        tokio::task::yield_now().await;
        assert_eq!(server.asked(), []);
    });
}

#[test]
fn dropping_a_stream_of_files_lets_go_of_the_dataset() {
    let folder = shards("async-dropped");
    let (watched, open) = Watched::gated(&folder);
    let copies = Arc::clone(&watched.copies);
    runtime().block_on(async {
        // One batch at a time, so that the first finds the gate open.
        let loader = AsyncLoader::new(watched, LoaderConfig { prefetch: 1, ..CONFIG }).unwrap();
        let mut batches = loader.epoch(0);
        open.send(()).unwrap();
        batches.next().await.unwrap().unwrap();
        until("read-ahead", || copies.load(Ordering::SeqCst) == 2).await;
        drop((batches, loader));
        // That batch ends, and nothing follows.
        open.send(()).unwrap();
        // The dataset's own count and the test's: the dataset is gone when one is left.
        until("the end of the dataset", || Arc::strong_count(&copies) == 1).await;
        assert_eq!(copies.load(Ordering::SeqCst), 2);
        assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    });
}

#[test]
fn an_error_comes_once_with_its_cause_and_the_state_leads_back_to_its_batch() {
    let folder = shards("async-error");
    let server = RangeServer::of(&folder);
    runtime().block_on(async {
        let loader = AsyncLoader::of_objects(opened(http(&server)).await, CONFIG).unwrap();
        let expected = all(loader.epoch(0)).await;
        let mut batches = loader.epoch(0);
        server.be(Mood::Refusing);
        let error = batches.next().await.unwrap().unwrap_err();
        let DatasetError::Store { path, action: "reading", .. } = &error else { panic!("{error:?}") };
        assert!(SHARDS.iter().any(|name| path.as_os_str() == *name), "{error}");
        assert!(error.to_string().contains("look whether the store is there"), "{error}");
        assert!(batches.next().await.is_none());
        assert!(batches.next().await.is_none());

        server.be(Mood::Willing);
        assert_eq!(all(loader.resume(&batches.state()).unwrap()).await, expected);
    });
}

#[test]
fn an_object_that_was_replaced_is_an_error_and_never_other_rows() {
    for over_http in [false, true] {
        let folder = shards("async-replaced");
        let server = RangeServer::of(&folder);
        runtime().block_on(async {
            let store = if over_http { http(&server) } else { local(&folder) };
            let loader = AsyncLoader::of_objects(opened(store).await, CONFIG).unwrap();
            numbered(&folder.join(SHARDS[0]), 60..120, 16);
            let error = loader.epoch(0).next().await.unwrap().unwrap_err();
            let DatasetError::Changed { path } = &error else { panic!("{error:?}") };
            assert_eq!(path.as_os_str(), SHARDS[0]);
        });
    }
}

#[test]
fn what_is_no_dataset_is_refused_as_a_file_would_be() {
    let folder = shards("async-refused");
    let whole = fs::read(folder.join(SHARDS[0])).unwrap();
    let mut changed = whole.clone();
    changed[0] = b'X';
    let server = RangeServer::of(&folder);
    for bytes in [&whole[..whole.len() - 9], &whole[..9], &changed, b"short"] {
        fs::write(folder.join("bad"), bytes).unwrap();
        let expected = MmapDataset::open(folder.join("bad")).unwrap_err();
        for store in [local(&folder), http(&server)] {
            let found = runtime().block_on(ObjectDataset::open(store, ["bad"])).unwrap_err();
            assert_eq!(
                found.to_string(),
                expected.to_string().replace(&format!("{}/", folder.display()), "")
            );
        }
    }
    let columns = Schema::new(vec![
        torchforge_data::Column::new("other", torchforge_data::ElementType::U8, &[]).unwrap(),
    ]);
    torchforge_data::DatasetWriter::create(folder.join("other"), columns.unwrap()).unwrap().finish().unwrap();
    let open = |names: Vec<&'static str>| runtime().block_on(ObjectDataset::open(local(&folder), names));
    assert!(matches!(open(vec![SHARDS[0], "other"]), Err(DatasetError::Schema { .. })));
    assert!(matches!(open(vec![]), Err(DatasetError::NoShard)));
    let missing = open(vec!["missing"]);
    assert!(
        matches!(missing, Err(DatasetError::Store { action: "asking for its length", .. })),
        "{missing:?}"
    );
}

#[test]
fn options_and_places_that_make_no_sense_are_refused() {
    let folder = shards("async-options");
    let outside = AsyncLoader::new(mapped(&folder), CONFIG);
    assert!(matches!(outside, Err(DatasetError::NoRuntime)));
    let runtime = runtime();
    let _entered = runtime.enter();
    for config in [LoaderConfig { prefetch: 0, ..CONFIG }, LoaderConfig { batch_size: 0, ..CONFIG }] {
        let refused = AsyncLoader::new(mapped(&folder), config);
        assert!(matches!(refused, Err(DatasetError::Option { value: 0, .. })));
    }
}

#[test]
fn a_panic_of_a_dataset_is_an_error_of_its_batch() {
    struct Panicking(MmapDataset);
    impl Dataset for Panicking {
        fn schema(&self) -> &Schema {
            self.0.schema()
        }
        fn len(&self) -> usize {
            self.0.len()
        }
        fn run(&self, _: usize, _: usize) -> &[u8] {
            panic!("this dataset has a fault")
        }
    }
    let folder = shards("async-panic");
    runtime().block_on(async {
        let mut batches = AsyncLoader::new(Panicking(mapped(&folder)), CONFIG).unwrap().epoch(0);
        assert!(matches!(batches.next().await, Some(Err(DatasetError::Panicked { batch: 0 }))));
        assert!(batches.next().await.is_none());
    });
}

#[test]
fn a_runtime_that_ends_is_an_error_of_the_batch_that_it_was_to_make() {
    let folder = shards("async-ended");
    let ended = runtime();
    let loader = {
        let _entered = ended.enter();
        AsyncLoader::new(mapped(&folder), CONFIG).unwrap()
    };
    drop(ended);
    let mut batches = loader.epoch(0);
    let made = runtime().block_on(batches.next());
    assert!(matches!(made, Some(Err(DatasetError::RuntimeEnded { batch: 0 }))), "{made:?}");
}
