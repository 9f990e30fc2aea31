//! What this binary is and what made it.

/// One line of JSON: the version, the compiler's version and the target that was compiled for.
pub fn version() -> String {
    serde_json::json!({
        "torchforge": env!("CARGO_PKG_VERSION"),
        "rustc": env!("TORCHFORGE_RUSTC"),
        "target": env!("TORCHFORGE_TARGET"),
    })
    .to_string()
}
