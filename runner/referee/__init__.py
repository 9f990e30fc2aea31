"""The arguments of a launch, and the reading of its answers."""
