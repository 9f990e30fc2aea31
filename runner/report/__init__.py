"""Pages and exported tables, made from records alone."""
