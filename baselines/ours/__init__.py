"""Our Rust code as a Python user reaches it: the module `torchforge`."""
