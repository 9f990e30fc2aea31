"""Other libraries, each put together as its own users do."""
