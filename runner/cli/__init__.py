"""The command line: words become a command, failures become three lines and an exit code."""
