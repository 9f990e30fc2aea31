"""The image behind a record."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ImageFacts:
    """The image that a launch runs in, as a record names it. Fields are null where there is no image."""

    target: str
    architecture: str
    identity: str | None
    execution_hash: str
    config_digest: str | None
    manifest_digest: str | None
