//! The stream's batches out of S3. `make async` starts the server, and names its bucket in `TORCHFORGE_TEST_S3`.
#![cfg(feature = "async-s3")]

mod dataset_files;
mod streams;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use dataset_files::numbered;
use streams::{CONFIG, SHARDS, all, assert_same_batches, opened, runtime, shards};
use torchforge_data::object_store::aws::AmazonS3Builder;
use torchforge_data::object_store::prefix::PrefixStore;
use torchforge_data::object_store::{Error, ObjectStore, ObjectStoreExt};
use torchforge_data::{AsyncLoader, DatasetError, ObjectDataset};

/// A part of the server's bucket that is a test's own.
fn bucket(test: &str) -> Arc<dyn ObjectStore> {
    let url = std::env::var("TORCHFORGE_TEST_S3").expect("make async names a bucket in TORCHFORGE_TEST_S3");
    let (server, bucket) = url.rsplit_once('/').unwrap();
    let store = AmazonS3Builder::new()
        .with_endpoint(server)
        .with_bucket_name(bucket)
        .with_allow_http(true)
        .with_access_key_id("any")
        .with_secret_access_key("any")
        .build()
        .unwrap();
    Arc::new(PrefixStore::new(store, test))
}

async fn upload(store: &Arc<dyn ObjectStore>, folder: &Path) {
    for name in SHARDS {
        store.put(&name.into(), fs::read(folder.join(name)).unwrap().into()).await.unwrap();
    }
}

#[test]
#[ignore = "needs the server of S3 that `make async` starts"]
fn batches_out_of_s3_are_those_of_the_local_files() {
    let folder = shards("s3-order");
    let store = bucket("order");
    runtime().block_on(async {
        upload(&store, &folder).await;
        assert_same_batches(&folder, async |config| {
            vec![AsyncLoader::of_objects(opened(Arc::clone(&store)).await, config).unwrap()]
        })
        .await;
    });
}

#[test]
#[ignore = "needs the server of S3 that `make async` starts"]
fn an_object_that_is_missing_or_was_removed_is_an_error_with_its_name() {
    let folder = shards("s3-missing");
    let store = bucket("missing");
    runtime().block_on(async {
        upload(&store, &folder).await;
        let error = ObjectDataset::open(Arc::clone(&store), [SHARDS[0], "lost.arrow"]).await.unwrap_err();
        let DatasetError::Store { path, action: "asking for its length", source } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(path.as_os_str(), "lost.arrow");
        assert!(matches!(source, Error::NotFound { .. }), "{source:?}");

        let loader = AsyncLoader::of_objects(opened(Arc::clone(&store)).await, CONFIG).unwrap();
        for name in SHARDS {
            store.delete(&name.into()).await.unwrap();
        }
        let error = loader.epoch(0).next().await.unwrap().unwrap_err();
        let DatasetError::Store { path, action: "reading", .. } = &error else { panic!("{error:?}") };
        assert!(SHARDS.iter().any(|name| path.as_os_str() == *name), "{error}");
    });
}

#[test]
#[ignore = "needs the server of S3 that `make async` starts"]
fn an_object_of_s3_that_was_replaced_is_an_error_and_never_other_rows() {
    let folder = shards("s3-replaced");
    let store = bucket("replaced");
    runtime().block_on(async {
        upload(&store, &folder).await;
        let loader = AsyncLoader::of_objects(opened(Arc::clone(&store)).await, CONFIG).unwrap();
        assert_eq!(all(loader.epoch(0)).await.len(), loader.batches());
        numbered(&folder.join(SHARDS[0]), 60..120, 16);
        upload(&store, &folder).await;
        let error = loader.epoch(0).next().await.unwrap().unwrap_err();
        let DatasetError::Changed { path } = &error else { panic!("{error:?}") };
        assert_eq!(path.as_os_str(), SHARDS[0]);
    });
}
