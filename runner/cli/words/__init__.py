"""The words of the command line: the known words, their meaning, and their completion by a shell."""
