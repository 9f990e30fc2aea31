"""What all implementations of one benchmark share: its parameters, its files and its course."""
