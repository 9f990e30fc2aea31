"""The one way to a Docker daemon: where it is, what it says of itself, how it fails."""
