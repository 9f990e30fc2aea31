"""What a host needs before images can be built and run, and how it comes by what it lacks."""
