"""The image behind a record."""

from typing import Annotated

from msgspec import Meta

from runner.records.part import Digest, Hash, Name, Part

# Without an image this is the hash of the checkout's files.
_ExecutionHash = Annotated[str, Meta(pattern=r"^(host:)?[0-9a-f]{64}\Z")]


class ImageFacts(Part, frozen=True, kw_only=True):
    """The image that a launch runs in, as a record names it. Fields are null where there is no image."""

    target: Name
    architecture: Name
    identity: Hash | None
    execution_hash: _ExecutionHash
    config_digest: Digest | None
    manifest_digest: Digest | None
