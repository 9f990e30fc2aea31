"""Invented hosts: one that has everything and one that has nothing."""

from dataclasses import replace

from runner.host.facts import Host

ARM = frozenset({"arm64"})
READY = Host(
    codename="bookworm",
    has_apt=True,
    is_root=True,
    has_docker=True,
    has_buildx=True,
    has_base=True,
    has_mmdebstrap=True,
    has_keyring=True,
    has_systemd=True,
    binfmt_mounted=True,
    emulated=ARM,
    installed_emulators=ARM,
)
FRESH = replace(
    READY,
    has_buildx=False,
    has_base=False,
    has_mmdebstrap=False,
    has_keyring=False,
    has_systemd=False,
    binfmt_mounted=False,
    emulated=frozenset(),
    installed_emulators=frozenset(),
)
