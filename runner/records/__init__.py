"""Records, and the append-only store that holds them."""
