"""The words of the command line: which there are, what they mean, how a shell completes them."""
