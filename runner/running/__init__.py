"""The run: launches are started, judged and stored."""
