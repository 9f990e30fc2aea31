//! What the referee says, a line of JSON each.

use serde::{Deserialize, Deserializer, de};

/// An order.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Order {
    /// Open a window: so many repetitions of a case.
    Go {
        case: String,
        #[serde(deserialize_with = "hexadecimal")]
        nonce: u64,
        repetitions: u64,
    },
    /// Compute some repetitions again and write their outputs.
    Outputs {
        case: String,
        #[serde(deserialize_with = "hexadecimal")]
        nonce: u64,
        repetitions: Vec<u64>,
    },
}

fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    u64::from_str_radix(&text, 16).map_err(|error| de::Error::custom(format!("nonce {text:?}: {error}")))
}
