"""The checkout that this package lies in: an installed copy has the runner, and nothing of what it works on."""

from pathlib import Path

from runner.system.errors import PythonNotReady

ROOT = Path(__file__).resolve().parents[2]
# What these do needs records or a matrix that the call names, or neither.
ANYWHERE = frozenset({"list", "init", "completion", "show", "export"})


def require_checkout() -> None:
    """See that the runner lies in a checkout, or in an image that was made from one.

    Raises:
        PythonNotReady: it is a copy that was installed without.
    """
    if not (ROOT / "templates").is_dir():
        raise PythonNotReady(
            what="this copy of forge-bench was installed without its checkout",
            why=f"the matrix, the templates, docker/ and the implementations are not beside it in {ROOT}",
            fix="call it in a checkout (git clone): make setup, then .venv/bin/python -m runner; without one, "
            "list --matrix FILE, show, export --results DIR and init work",
        )
