//! A server of HTTP on loopback that gives ranges of a folder's files, and can be told to misbehave.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// How the server answers requests for bytes; it always says how long a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Willing,
    /// Never answers, until the mood changes.
    Silent,
    /// Says that the file is gone.
    Refusing,
}

/// The running server, which ends when it is dropped.
pub struct RangeServer {
    shared: Arc<Shared>,
    address: std::net::SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    folder: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    mood: Mood,
    asked: Vec<(String, Range<u64>)>,
    connections: Vec<TcpStream>,
    ended: bool,
}

impl RangeServer {
    pub fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { mood: Mood::Willing, asked: Vec::new(), connections: Vec::new(), ended: false };
        let shared =
            Arc::new(Shared { folder: folder.into(), state: Mutex::new(state), changed: Condvar::new() });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { shared, address, accepting: Some(accepting) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn be(&self, mood: Mood) {
        self.shared.state.lock().unwrap().mood = mood;
        self.shared.changed.notify_all();
    }

    /// The file and range of each request since the last call.
    pub fn asked(&self) -> Vec<(String, Range<u64>)> {
        std::mem::take(&mut self.shared.state.lock().unwrap().asked)
    }
}

impl Drop for RangeServer {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap();
        state.ended = true;
        for connection in &state.connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        self.accepting.take().unwrap().join().unwrap();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut serving = Vec::new();
    loop {
        let (connection, _) = listener.accept().unwrap();
        let mut state = shared.state.lock().unwrap();
        if state.ended {
            break;
        }
        state.connections.push(connection.try_clone().unwrap());
        drop(state);
        let shared = Arc::clone(shared);
        serving.push(std::thread::spawn(move || serve(connection, &shared)));
    }
    serving.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Answers the requests of a connection until its other end is closed.
fn serve(connection: TcpStream, shared: &Shared) {
    let mut lines = BufReader::new(connection.try_clone().unwrap());
    let mut connection = connection;
    while let Some((request, range)) = request(&mut lines) {
        let mut words = request.split(' ');
        let (method, name) = (words.next().unwrap(), words.next().unwrap().trim_start_matches('/'));
        let answer = answer(shared, method, name, range);
        if connection.write_all(&answer).is_err() {
            break;
        }
    }
}

/// The first line of a request, and the range that it asks for.
fn request(lines: &mut impl BufRead) -> Option<(String, Option<Range<u64>>)> {
    let mut first = String::new();
    lines.read_line(&mut first).ok().filter(|&len| len > 0)?;
    let mut range = None;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|&len| len > 0)?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            return Some((first, range));
        }
        if let Some(bounds) = line.strip_prefix("range: bytes=") {
            let (start, last) = bounds.split_once('-').unwrap();
            range = Some(start.parse().unwrap()..last.parse::<u64>().unwrap() + 1);
        }
    }
}

fn answer(shared: &Shared, method: &str, name: &str, range: Option<Range<u64>>) -> Vec<u8> {
    let gone = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    let Ok(mut file) = fs::File::open(shared.folder.join(name)) else { return gone };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    // What a file is: as much as a test needs to change it.
    let tag = bytes.iter().fold(0_u64, |tag, &byte| tag.wrapping_mul(31).wrapping_add(byte.into()));
    if method == "HEAD" {
        let len = bytes.len();
        return format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\nETag: \"{tag}\"\r\n\r\n").into_bytes();
    }
    let range = range.expect("the loader reads ranges alone");
    let mut state = shared.state.lock().unwrap();
    state.asked.push((name.to_owned(), range.clone()));
    while state.mood == Mood::Silent && !state.ended {
        state = shared.changed.wait(state).unwrap();
    }
    if state.mood == Mood::Refusing || state.ended {
        return gone;
    }
    let part = &bytes[range.start as usize..range.end as usize];
    let (last, len) = (range.end - 1, bytes.len());
    let mut answer = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {}-{last}/{len}\r\nETag: \"{tag}\"\r\n\r\n",
        part.len(),
        range.start
    )
    .into_bytes();
    answer.extend(part);
    answer
}
