"""A Debian machine for arm64 of the tests' own: QEMU computes it, with its own kernel, sshd and Docker daemon.

Its control groups are of version 2, as those of every newer Debian.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from runner.matrix import load_matrix
from runner.matrix.toolchain import Toolchain
from tests import own_ssh

ROOT = Path(__file__).parents[2]
USER, UID = "board", 1000
WHY_NOT = "a machine of the tests' own needs root, mmdebstrap, arch-test, mkfs.ext4 and qemu-system-arm"
_PROGRAMS = ("mmdebstrap", "arch-test", "mkfs.ext4", "qemu-system-aarch64", "ssh", "ssh-keygen")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PACKAGES = (
    "linux-image-arm64", "systemd-sysv", "systemd-resolved", "libpam-systemd", "dbus-user-session", "openssh-server",
    "docker.io", "docker-cli", "iptables", "podman", "catatonit", "crun", "uidmap", "passt",
)  # fmt: skip
_DISK_GIB = 8
_BOOT_SECONDS = 900
_PATIENCE = 120
# Root's Docker, and a user's Podman whose control group may hold a launch to its CPUs: systemd hands out memory and
# processes alone.
_SET_UP = f"""#!/bin/sh -eu
system=$1
printf '[Match]\\nName=e*\\n[Network]\\nDHCP=yes\\n' >"$system/etc/systemd/network/all.network"
mkdir -p "$system/etc/systemd/system/user@.service.d" "$system/var/lib/systemd/linger"
printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' >"$system/etc/systemd/system/user@.service.d/delegate.conf"
echo guest >"$system/etc/hostname"
chroot "$system" systemctl enable systemd-networkd
chroot "$system" useradd --create-home --uid {UID} --shell /bin/bash {USER}
touch "$system/var/lib/systemd/linger/{USER}"
for home in root home/{USER}; do
    mkdir -p "$system/$home/.ssh"
    cp "$KEY" "$system/$home/.ssh/authorized_keys"
done
wants="$system/home/{USER}/.config/systemd/user/sockets.target.wants"
mkdir -p "$wants"
ln -s /usr/lib/systemd/user/podman.socket "$wants/podman.socket"
chroot "$system" chown --recursive {USER}:{USER} "/home/{USER}"
chmod -R go= "$system/root/.ssh" "$system/home/{USER}/.ssh"
"""


def possible() -> bool:
    """Whether such a machine can be had here."""
    return os.geteuid() == 0 and all(map(shutil.which, _PROGRAMS))


class OwnGuest:
    """One machine. Only the key of these tests opens it, and it is gone at the end."""

    def __init__(self, directory: Path, toolchain: Toolchain) -> None:
        self._directory = directory
        self._toolchain = toolchain
        self._port = own_ssh.free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def docker(self) -> str:
        """What a matrix names for root's Docker daemon."""
        return f"ssh://root@127.0.0.1:{self._port}"

    @property
    def podman(self) -> str:
        """What a matrix names for Podman without root."""
        return f"ssh://{USER}@127.0.0.1:{self._port}/run/user/{UID}/podman/podman.sock"

    @property
    def environment(self) -> Mapping[str, str]:
        """An environment whose ssh has the key of that machine."""
        return own_ssh.environment(self._directory)

    def start(self) -> None:
        """Make its disk from Debian's packages, boot it, and return when its Docker daemon answers."""
        own_ssh.make_client(self._directory)
        system = self._system()
        disk = self._directory / "disk"
        subprocess.run(
            ["mkfs.ext4", "-q", "-d", str(system), "-L", "root", str(disk), f"{_DISK_GIB}G"], check=True
        )
        boot = [
            "qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg,thread=multi",
            "-smp", "2", "-m", "3072", "-display", "none", "-serial", f"file:{self._directory / 'console'}",
            "-kernel", str(system / "vmlinuz"), "-initrd", str(system / "initrd.img"),
            "-append", "root=LABEL=root rw console=ttyAMA0 quiet",
            "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe",
            "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self._port}-:22",
            "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci",
        ]  # fmt: skip
        self._process = subprocess.Popen(boot, stdin=subprocess.DEVNULL, start_new_session=True)
        self._wait_for_docker()

    def run(self, command: str, *, as_user: bool = False) -> str:
        """What a command of root's, or of the user's, prints there."""
        done = self._ssh(command, USER if as_user else "root")
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """Take its power away."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=_PATIENCE)

    def _system(self) -> Path:
        """All files of the system, unpacked. Its programs run under emulation while packages are configured."""
        system = self._directory / "system"
        set_up = self._directory / "set-up"
        set_up.write_text(_SET_UP)
        set_up.chmod(0o755)
        command = [
            "mmdebstrap", "--variant=minbase", "--architectures=arm64", f"--include={','.join(_PACKAGES)}",
            '--aptopt=Acquire::Retries "1"', f"--keyring={_KEYRING}",
            f"--customize-hook={set_up}",
            self._toolchain.suite, str(system), f"deb {self._toolchain.mirror} {self._toolchain.suite} main",
        ]  # fmt: skip
        # As for a base image: what root's mmdebstrap mounts into the system ends with this namespace.
        done = subprocess.run(
            ["unshare", "--mount", *command],
            env={**os.environ, "KEY": str(self._directory / "user.pub")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return system

    def _wait_for_docker(self) -> None:
        until = time.monotonic() + _BOOT_SECONDS
        while self._ssh("docker version").returncode != 0:
            console = self._directory / "console"
            assert time.monotonic() < until, console.read_text(errors="replace")[-2000:]
            assert self._process is not None
            assert self._process.poll() is None, "QEMU ended"
            time.sleep(2)

    def _ssh(self, command: str, user: str = "root") -> "subprocess.CompletedProcess[str]":
        address = ["-p", str(self._port), "-o", "ConnectTimeout=20", f"{user}@127.0.0.1"]
        return subprocess.run(
            [str(self._directory / "bin/ssh"), *address, command],
            capture_output=True, text=True, timeout=_PATIENCE, check=False,
        )  # fmt: skip


@contextlib.contextmanager
def own_guest() -> Iterator[OwnGuest]:
    """The machine, up until the end of the block. Its system is that of the images."""
    toolchain = next(iter(load_matrix(ROOT / "matrix.yaml").toolchains.values()))
    with tempfile.TemporaryDirectory(prefix="fb-guest-", ignore_cleanup_errors=True) as name:
        guest = OwnGuest(Path(name), toolchain)
        try:
            guest.start()
            yield guest
        finally:
            guest.stop()
