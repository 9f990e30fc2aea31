"""The labels of an image that the runner built. They are hints, because any program can write any label."""

IDENTITY_LABEL = "forge-bench.identity"
TARGET_LABEL = "forge-bench.target"
EXECUTION_HASH_LABEL = "forge-bench.execution-hash"
