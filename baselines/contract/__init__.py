"""What every implementation owes to whoever starts it: its arguments, its output, its timing and its instructions."""
