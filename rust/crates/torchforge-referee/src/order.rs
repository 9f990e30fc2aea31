//! What the referee says, a line of JSON each.

use serde::{Deserialize, Deserializer, de};

use crate::Error;

/// An order.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Order {
    /// Open a window: so many repetitions of a case, the first of which has this number.
    Go {
        case: String,
        #[serde(deserialize_with = "hexadecimal")]
        nonce: u64,
        first: u64,
        repetitions: u64,
        /// Of a training.
        #[serde(default)]
        seed: Option<u64>,
    },
    /// Compute some repetitions again and write their outputs.
    Outputs {
        case: String,
        #[serde(deserialize_with = "hexadecimal")]
        nonce: u64,
        repetitions: Vec<u64>,
    },
}

impl Order {
    /// Reads a line.
    pub(crate) fn read(line: &str) -> Result<Self, Error> {
        serde_json::from_str(line).map_err(|error| Error::Order(error.to_string()))
    }
}

fn hexadecimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    u64::from_str_radix(&text, 16).map_err(|error| de::Error::custom(format!("nonce {text:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_order_is_named() {
        for (line, named) in [
            ("go", "expected value"),
            (r#"{"event":"stop"}"#, "unknown variant `stop`"),
            (r#"{"event":"go","case":"a","nonce":"1","repetitions":1}"#, "missing field `first`"),
            (r#"{"event":"go","case":"a","nonce":"x","first":0,"repetitions":1}"#, "nonce \"x\""),
            (r#"{"event":"go","case":"a","nonce":"1","first":-1,"repetitions":1}"#, "invalid value"),
            (
                r#"{"event":"go","case":"a","nonce":"1","first":0,"repetitions":1,"more":1}"#,
                "unknown field `more`",
            ),
            (r#"{"event":"outputs","case":"a","nonce":"1","repetitions":1}"#, "expected a sequence"),
        ] {
            let error = Order::read(line).unwrap_err().to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }

    #[test]
    fn an_order_is_read() {
        let line = r#"{"event":"go","case":"a","nonce":"00000000000000aa","first":7,"repetitions":2}"#;
        let expected = Order::Go { case: "a".into(), nonce: 0xaa, first: 7, repetitions: 2, seed: None };
        assert_eq!(Order::read(line).unwrap(), expected);

        let line = r#"{"event":"go","case":"a","nonce":"1","first":1,"repetitions":1,"seed":3}"#;
        let Order::Go { seed, .. } = Order::read(line).unwrap() else { panic!("{line} opens a window") };
        assert_eq!(seed, Some(3));
    }
}
