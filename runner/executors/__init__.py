"""The places where launches run: containers of the pinned image, or processes beside the runner."""
