"""The contract with the runner: arguments, output, timing and instructions."""
