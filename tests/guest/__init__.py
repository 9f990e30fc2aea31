"""A whole machine of another architecture, with a kernel of its own."""
