"""Where results lie: beside the checkout, or, inside an image, in the directory that the user mounted."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from runner.records.store import Store
from runner.system.errors import StoreError

MOUNT = Path("/results")


def store_of_checkout(root: Path) -> Store:
    """The store of a checkout: results/local, which is not committed."""
    return Store(root / "results" / "local")


def published_results(root: Path) -> Path:
    """Where the publications of a checkout lie."""
    return root / "results" / "published"


def store_inside_image(say: Callable[[str], None]) -> Store:
    """The mounted directory if it can be written, else a directory that ends with the container.

    Raises:
        StoreError: the container has no writable directory at all.
    """
    _require_scratch()
    if not MOUNT.is_mount():
        say(f"records are not kept; keep them with: docker run -v DIR:{MOUNT} ...")
        return _temporary()
    store = Store(MOUNT)
    try:
        store.require_writable()
    except StoreError as error:
        say(f"records are not kept: {error.what}: {error.why}")
        say(f"  to do: chown {os.getuid()} DIR on the host, or docker run --user $(id -u):$(id -g) ...")
        return _temporary()
    return store


def _require_scratch() -> None:
    # Inputs and outputs pass through the temporary directory, even where records go elsewhere.
    try:
        tempfile.gettempdir()
    except OSError as error:
        raise StoreError(
            what="this container has no temporary directory that can be written",
            why=str(error),
            fix="with --read-only give it one: docker run --read-only --tmpfs /tmp ...",
        ) from error


def _temporary() -> Store:
    # It ends with the container, so nothing has to be removed.
    return Store(Path(tempfile.mkdtemp(prefix="forge-bench-results-")))
