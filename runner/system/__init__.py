"""The operating system and the terminal: errors, signals, files, owners, the machine."""
