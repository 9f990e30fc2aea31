"""Images: what goes into them, how they are built, and by what they are known."""
