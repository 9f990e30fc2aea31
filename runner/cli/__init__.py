"""The command line. Words become a command; failures become three lines and an exit code."""
