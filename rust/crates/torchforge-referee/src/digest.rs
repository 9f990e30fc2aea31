//! What is said of a repetition's outputs before the referee asks for them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{Operation, number};

/// Bytes of the hash that are kept: 16 hexadecimal digits.
const KEPT: usize = 8;

/// SHA-256 over one element of each call as a little-endian f64, at places that the nonce chooses; the outputs of a call
/// count as laid end to end.
pub(crate) fn digest(operation: &dyn Operation, nonce: u64, repetition: u64) -> String {
    let calls = operation.calls();
    let mut hash = Sha256::new();
    for call in 0..calls {
        let outputs = operation.outputs(call);
        let total: usize = outputs.iter().map(|output| output.len()).sum();
        let index = repetition * calls as u64 + call as u64;
        let mut place = (number(nonce, 1, index) % total as u64) as usize;
        for output in outputs {
            if let Some(element) = output.get(place) {
                hash.update(element.to_le_bytes());
                break;
            }
            place -= output.len();
        }
    }
    hash.finalize()[..KEPT].iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}
