"""How a command that needs root is printed for its reader."""

import os


def sudo(user: int) -> str:
    """The prefix of such a command for this user id. Root needs no prefix, and may lack sudo."""
    return "" if user == 0 else "sudo "


SUDO = sudo(os.geteuid())
