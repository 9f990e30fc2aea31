//! Datasets whose files lie in a store of objects.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path as Location;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt};

use super::arrow::{self, Block, Footer};
use super::chunks::Chunks;
use super::{DatasetError, Schema, named};

/// Requests of one batch, or of one opening, that are under way at a time.
const PARALLEL: usize = 8;

/// Ranges that are at most so many bytes apart are one request: what a request says of itself is of that order.
const GAP: usize = 4096;

/// A footer or a block's message is refused from this length on, before anything of it is read.
const LONGEST_METADATA: usize = 1 << 26;

/// A dataset in one or several Arrow files that a store holds: a folder, an HTTP server, S3.
///
/// The files are those of [`MmapDataset`](super::MmapDataset). Opening reads what they say of themselves, in four requests one
/// after another. A batch reads the bytes of its rows, and the gaps between them up to 4 KiB. An object that is replaced
/// meanwhile is an error.
///
/// There is no view of one row, because nothing lies in memory: an [`AsyncLoader`](crate::AsyncLoader) makes batches.
pub struct ObjectDataset {
    chunks: Chunks,
    shards: Vec<Object>,
}

impl fmt::Debug for ObjectDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locations = self.shards.iter().map(|shard| &shard.location);
        f.debug_list().entries(locations).finish()
    }
}

impl ObjectDataset {
    /// Opens several objects as one dataset: the rows of the first, then those of the second, and so on.
    ///
    /// # Errors
    ///
    /// [`DatasetError::Store`] where the store refuses, or cannot be reached as often as it tries; otherwise as
    /// [`MmapDataset::open_shards`](super::MmapDataset::open_shards), whose errors name the object.
    pub async fn open<L: Into<Location>>(
        store: Arc<dyn ObjectStore>,
        locations: impl IntoIterator<Item = L>,
    ) -> Result<Self, DatasetError> {
        let locations: Vec<Location> = locations.into_iter().map(Into::into).collect();
        let opening = locations.into_iter().map(|location| Object::open(Arc::clone(&store), location));
        let opened: Vec<_> = stream::iter(opening).buffered(PARALLEL).try_collect().await?;
        let mut shards = Vec::with_capacity(opened.len());
        let mut chunks: Option<Chunks> = None;
        for (object, schema, blocks) in opened {
            chunks.get_or_insert_with(|| Chunks::new(schema.clone())).add(
                shards.len(),
                &schema,
                blocks,
                object.path(),
            )?;
            shards.push(object);
        }
        Ok(Self { chunks: chunks.ok_or(DatasetError::NoShard)?, shards })
    }

    /// The columns that every row has.
    pub fn schema(&self) -> &Schema {
        self.chunks.schema()
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads these rows: the bytes of the first column, piece by piece, then those of the second, and so on.
    pub(crate) async fn read(&self, rows: &[usize]) -> Result<Vec<Bytes>, DatasetError> {
        let columns = 0..self.schema().columns().len();
        let pieces: Vec<Piece> = columns.flat_map(|column| self.pieces(column, rows)).collect();
        let (requests, request_of) = requests(&pieces);
        let reading = requests.clone().into_iter().map(|(shard, range)| self.shards[shard].read(range));
        let read: Vec<Bytes> = stream::iter(reading).buffered(PARALLEL).try_collect().await?;
        let cut = pieces.iter().zip(&request_of).map(|((_, piece), &request)| {
            let start = piece.start - requests[request].1.start;
            read[request].slice(start..start + piece.len())
        });
        Ok(cut.collect())
    }

    /// Where these rows of a column lie: rows side by side are one piece.
    fn pieces(&self, column: usize, rows: &[usize]) -> Vec<Piece> {
        let width = self.schema().columns()[column].width();
        let mut pieces: Vec<Piece> = Vec::new();
        for &row in rows {
            let (shard, start) = self.chunks.place(column, row);
            match pieces.last_mut() {
                Some((last, range)) if (*last, range.end) == (shard, start) => range.end += width,
                _ => pieces.push((shard, start..start + width)),
            }
        }
        pieces
    }
}

/// Bytes of one of the objects.
type Piece = (usize, Range<usize>);

/// Few requests that have all pieces, and which of them has each piece.
fn requests(pieces: &[Piece]) -> (Vec<Piece>, Vec<usize>) {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_unstable_by_key(|&index| (pieces[index].0, pieces[index].1.start));
    let mut requests: Vec<Piece> = Vec::new();
    let mut request_of = vec![0; pieces.len()];
    for index in order {
        let (shard, piece) = &pieces[index];
        match requests.last_mut() {
            Some((last, range)) if last == shard && piece.start <= range.end + GAP => {
                range.end = range.end.max(piece.end);
            }
            _ => requests.push((*shard, piece.clone())),
        }
        request_of[index] = requests.len() - 1;
    }
    (requests, request_of)
}

/// An object as it was when it was opened.
struct Object {
    store: Arc<dyn ObjectStore>,
    location: Location,
    len: u64,
    /// What the store says a content is, if it says so.
    e_tag: Option<String>,
}

impl Object {
    /// Reads what an object says of itself.
    async fn open(
        store: Arc<dyn ObjectStore>,
        location: Location,
    ) -> Result<(Self, Schema, Vec<Block>), DatasetError> {
        let meta = store.head(&location).await;
        let ObjectMeta { size: len, e_tag, .. } = meta.map_err(|source| DatasetError::Store {
            path: named(Path::new(location.as_ref())),
            action: "asking for its length",
            source,
        })?;
        let object = Self { store, location, len, e_tag };
        let path = object.path();
        let [begin, end] = object.read_all(arrow::ends(len as usize)).await?;
        let range = arrow::footer_range(len as usize, &begin, &end, path)?;
        let Footer { schema, blocks } =
            arrow::footer(&object.metadata(range.clone()).await?, range.start, path)?;
        let messages: Vec<_> = blocks.iter().map(|entry| entry.metadata.clone()).collect();
        let reading = messages.into_iter().map(|range| object.metadata(range));
        let messages: Vec<Bytes> = stream::iter(reading).buffered(PARALLEL).try_collect().await?;
        let read =
            messages.iter().zip(&blocks).map(|(bytes, entry)| arrow::block(bytes, entry, &schema, path));
        let blocks = read.collect::<Result<_, _>>()?;
        Ok((object, schema, blocks))
    }

    /// The location as errors name it.
    fn path(&self) -> &Path {
        Path::new(self.location.as_ref())
    }

    async fn read_all<const N: usize>(&self, ranges: [Range<usize>; N]) -> Result<[Bytes; N], DatasetError> {
        let reading = ranges.into_iter().map(|range| self.read(range));
        let read: Vec<Bytes> = stream::iter(reading).buffered(N).try_collect().await?;
        Ok(read.try_into().expect("one for each range"))
    }

    async fn metadata(&self, range: Range<usize>) -> Result<Bytes, DatasetError> {
        if range.len() >= LONGEST_METADATA {
            let (path, offset) = (named(self.path()), range.start as u64);
            return Err(DatasetError::Unsupported { path, offset, expected: "metadata below 64 MiB" });
        }
        self.read(range).await
    }

    async fn read(&self, range: Range<usize>) -> Result<Bytes, DatasetError> {
        // A server refuses to read nothing.
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let refused = |source| DatasetError::Store { path: named(self.path()), action: "reading", source };
        let bounded = GetRange::Bounded(range.start as u64..range.end as u64);
        let options = GetOptions { range: Some(bounded), ..GetOptions::default() };
        let result = self.store.get_opts(&self.location, options).await.map_err(refused)?;
        let changed = result.meta.size != self.len || result.meta.e_tag != self.e_tag;
        let bytes = if changed { Bytes::new() } else { result.bytes().await.map_err(refused)? };
        if bytes.len() != range.len() {
            return Err(DatasetError::Changed { path: named(self.path()) });
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_lie_near_are_one_request_and_others_are_not() {
        let pieces = [(0, 9_000..9_010), (1, 0..10), (0, 0..10), (0, 20..30), (0, 4_126..4_130)];
        let (requests, request_of) = requests(&pieces);
        assert_eq!(requests, [(0, 0..4_130), (0, 9_000..9_010), (1, 0..10)]);
        assert_eq!(request_of, [1, 2, 0, 0, 0]);
    }

    #[test]
    fn nothing_needs_no_request() {
        assert_eq!(requests(&[]), (Vec::new(), Vec::new()));
    }
}
