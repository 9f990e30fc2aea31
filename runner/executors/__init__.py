"""Where launches run: in containers of the pinned image, or as processes beside the runner."""
