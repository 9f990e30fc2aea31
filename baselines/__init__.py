"""Python implementations of forge-bench's benchmarks, one file each; README.md is the guide."""
