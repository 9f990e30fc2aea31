"""Whether a GPU trains faster: our trainings on CPU cores beside JAX and PyTorch on the GPU of one machine."""
