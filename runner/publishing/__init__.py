"""A publication is made of whole plans, signed, and held to what it says of itself."""
