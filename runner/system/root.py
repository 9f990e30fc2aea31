"""How a command that needs root is printed for whoever reads it."""

import os


def sudo(user: int) -> str:
    """What such a command begins with, for this user id. Root needs nothing, and may have no sudo at all."""
    return "" if user == 0 else "sudo "


SUDO = sudo(os.geteuid())
