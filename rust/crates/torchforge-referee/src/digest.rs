//! What is said of a repetition's outputs before the referee asks for them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{Operation, number};

/// Bytes of the hash that are kept: 16 hexadecimal digits.
const KEPT: usize = 8;

/// SHA-256 over one element, as a little-endian f64, of each output of each call, at places that the nonce chooses.
pub(crate) fn digest(operation: &dyn Operation, nonce: u64, repetition: u64) -> String {
    let calls = operation.calls();
    let mut hash = Sha256::new();
    for call in 0..calls {
        let index = repetition * calls as u64 + call as u64;
        for (stream, output) in (1..).zip(operation.outputs(call)) {
            let place = number(nonce, stream, index) % output.len() as u64;
            hash.update(output[place as usize].to_le_bytes());
        }
    }
    hash.finalize()[..KEPT].iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}
