"""What an image of the runner's says of itself in its labels. They are hints: whoever tags an image may write any."""

IDENTITY_LABEL = "forge-bench.identity"
TARGET_LABEL = "forge-bench.target"
EXECUTION_HASH_LABEL = "forge-bench.execution-hash"
