//! A complete competitor in Rust: the crate speaks with the referee (`docs/protocol.md`).

use std::error::Error as AnyError;
use std::path::Path;
use std::{env, fs, io};

use serde_json::Value;
use torchforge_referee::{Digest, Error, Operation, Work, serve};

struct Scramble {
    x: Vec<u64>,
    calls: usize,
    steps: u64,
    numbers: Vec<u64>,
    y: Vec<u64>,
}

impl Operation for Scramble {
    fn calls(&self) -> usize {
        self.calls
    }

    fn prepare(&mut self, numbers: &[u64]) -> Result<(), Error> {
        self.numbers = numbers.to_vec();
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        self.y = self.x.repeat(self.calls);
        for (row, number) in self.y.chunks_mut(self.x.len()).zip(&self.numbers) {
            for _ in 0..self.steps {
                row.iter_mut().for_each(|v| *v = v.wrapping_mul(v.wrapping_mul(2).wrapping_add(number | 1)));
            }
        }
        Ok(())
    }

    fn digest(&self, digest: &mut Digest) -> Result<(), Error> {
        self.y.iter().for_each(|word| digest.bytes(&word.to_le_bytes()));
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("elements", self.x.len() as u64)]
    }

    fn write(&mut self, folder: &Path) -> Result<(), Error> {
        let shape = format!("({}, {})", self.calls, self.x.len());
        let header = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': {shape}, }}");
        let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend(self.y.iter().flat_map(|word| word.to_le_bytes()));
        let path = folder.join("y.npy");
        fs::write(&path, bytes).map_err(|error| Error::Write { path, error })
    }
}

fn main() -> Result<(), Box<dyn AnyError>> {
    let words: Vec<String> = env::args().collect();
    let given = |option| words.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1].as_str());
    let [input, output] =
        ["--input", "--output"].map(|option| Path::new(given(option).next().unwrap_or(".")));
    let mut cases: Vec<(String, Box<dyn Work>)> = Vec::new();
    for (case, json) in given("--case").zip(given("--parameters")) {
        let parameters: Value = serde_json::from_str(json)?;
        let [calls, steps] = ["calls", "steps"].map(|name| parameters[name].as_u64().unwrap_or(1));
        // NumPy's header of so small an array has 128 bytes.
        let file = fs::read(input.join(case).join("x.npy"))?;
        let x = file[128..].as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let work = Scramble { x, calls: calls as usize, steps, numbers: Vec::new(), y: Vec::new() };
        cases.push((case.into(), Box::new(work)));
    }
    Ok(serve(cases, io::stdin().lock(), io::stdout(), Some(output))?)
}
