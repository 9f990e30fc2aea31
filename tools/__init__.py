"""What helps to develop forge-bench and is no part of the runner."""
