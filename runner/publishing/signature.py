"""A signature over publication.json, made and checked by OpenSSH's ssh-keygen."""

import subprocess
from enum import Enum
from pathlib import Path

from runner.records.publication import FACTS
from runner.system.errors import NotPublishable
from runner.system.printable import one_line

SIGNATURE = f"{FACTS}.sig"
# A signature for another purpose does not count here.
_NAMESPACE = "forge-bench"
# Somebody may have to type a passphrase.
_SECONDS = 300
_LONGEST = 300


class Trust(Enum):
    """What a signature says of a publication."""

    UNSIGNED = "unsigned"
    SIGNED = "signed"
    NOT_ALLOWED = "not allowed"
    ALTERED = "altered"
    UNCHECKED = "unchecked"


def sign(folder: Path, key: Path) -> None:
    """Sign the publication in ``folder``.

    Raises:
        NotPublishable: there is no ssh-keygen, or it refuses the key.
    """
    path = folder / FACTS
    done = _call("-Y", "sign", "-n", _NAMESPACE, "-f", str(key), str(path))
    if done is None:
        raise NotPublishable(
            what="the publication was not signed",
            why="there is no ssh-keygen here, which signs",
            fix="install OpenSSH's client (sudo apt-get install openssh-client), or leave out --sign",
        )
    if done.returncode or not (folder / SIGNATURE).is_file():
        raise NotPublishable(
            what=f"the publication was not signed with {key}",
            why=one_line(done.stderr.decode(errors="replace"), _LONGEST) or "ssh-keygen refused the key",
            fix="give the file of a private key (ssh-keygen -t ed25519 makes one), or its .pub with an agent",
        )


def trust_in(folder: Path, allowed: Path) -> tuple[Trust, str]:
    """What the signature of a publication says, and the signer's name or the reason.

    Args:
        folder: the publication.
        allowed: the file of the allowed signers, in the form of ssh-keygen(1).
    """
    signature = folder / SIGNATURE
    if not signature.is_file():
        return Trust.UNSIGNED, ""
    found = _call("-Y", "find-principals", "-s", str(signature), "-f", str(allowed))
    if found is None:
        return Trust.UNCHECKED, "there is no ssh-keygen here: sudo apt-get install openssh-client"
    content = (folder / FACTS).read_bytes()
    names = found.stdout.decode(errors="replace").splitlines() if found.returncode == 0 else []
    for name in names:
        checked = _call(
            *("-Y", "verify", "-n", _NAMESPACE, "-f", str(allowed)),
            *("-I", name, "-s", str(signature)),
            content=content,
        )
        if checked is not None and checked.returncode == 0:
            return Trust.SIGNED, name
    intact = _call("-Y", "check-novalidate", "-n", _NAMESPACE, "-s", str(signature), content=content)
    if intact is None or intact.returncode:
        return Trust.ALTERED, f"{FACTS} is not what was signed"
    said = one_line(intact.stdout.decode(errors="replace"), _LONGEST)
    return Trust.NOT_ALLOWED, said.partition(" with ")[2] or said


def _call(*arguments: str, content: bytes = b"") -> "subprocess.CompletedProcess[bytes] | None":
    command = ["ssh-keygen", *arguments]
    try:
        return subprocess.run(command, input=content, capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        slow = f"ssh-keygen gave no answer within {_SECONDS} seconds".encode()
        return subprocess.CompletedProcess(command, returncode=1, stdout=b"", stderr=slow)
