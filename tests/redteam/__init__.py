"""Implementations that lie about their time or their work, and records that were altered: each with its verdict."""
