"""Images: their inputs, their builds, and their identities."""
