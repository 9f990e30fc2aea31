//! Streams a dataset out of a folder, or from a server of HTTP that answers requests for ranges.
//!
//! `cargo run --release --example stream -p torchforge-experience --features async-http`
//!
//! With an address it reads the objects that are named after it: `-- http://127.0.0.1:8000 steps.arrow`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use torchforge_data::object_store::http::HttpBuilder;
use torchforge_data::object_store::local::LocalFileSystem;
use torchforge_data::object_store::{ClientOptions, ObjectStore};
use torchforge_data::{AsyncLoader, Column, DatasetWriter, ElementType, LoaderConfig, ObjectDataset, Schema};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let [address, objects @ ..] = &arguments[..] {
        let options = ClientOptions::new().with_allow_http(true);
        let store = HttpBuilder::new().with_url(address).with_client_options(options).build()?;
        return runtime.block_on(stream(Arc::new(store), objects));
    }
    let folder = std::env::temp_dir().join(format!("torchforge-stream-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let objects = ["first.arrow".to_owned(), "second.arrow".to_owned()];
    for object in &objects {
        write(&folder.join(object))?;
    }
    let store = LocalFileSystem::new_with_prefix(&folder)?;
    runtime.block_on(stream(Arc::new(store), &objects))?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn write(path: &Path) -> Result<(), Box<dyn Error>> {
    let schema = Schema::new(vec![
        Column::new("observation", ElementType::F32, &[4])?,
        Column::new("reward", ElementType::F32, &[])?,
    ])?;
    let mut writer = DatasetWriter::create(path, schema)?;
    for step in 0..5_000_u16 {
        let step = f32::from(step);
        writer.append(&[(&[step, -step, 0.0, 1.0]).into(), (&[step / 2.0]).into()])?;
    }
    Ok(writer.finish()?)
}

async fn stream(store: Arc<dyn ObjectStore>, objects: &[String]) -> Result<(), Box<dyn Error>> {
    let dataset = ObjectDataset::open(store, objects.iter().map(String::as_str)).await?;
    println!("{} rows of {}", dataset.len(), dataset.schema());
    let config = LoaderConfig { batch_size: 256, shuffle: true, prefetch: 4, ..Default::default() };
    let loader = AsyncLoader::of_objects(dataset, config)?;
    for epoch in 0..2 {
        let (mut batches, mut rows) = (loader.epoch(epoch), 0);
        while let Some(batch) = batches.next().await {
            rows += batch?.len();
        }
        println!("epoch {epoch}: {rows} rows in {} batches", loader.batches());
    }
    Ok(())
}
