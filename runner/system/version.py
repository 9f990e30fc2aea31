"""The version of the runner, which a ledger names."""

VERSION = "0.1.0"
