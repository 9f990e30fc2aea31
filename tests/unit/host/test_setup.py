"""Setting up: what is installed, what is only told, how. The hosts are invented: nothing is installed."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hosts import ARM, FRESH, READY

from runner.host import facts, setup
from runner.host.needs import needs
from runner.matrix.toolchain import Toolchain
from runner.system import emulation, machine
from runner.system.errors import BuildxMissing, DockerUnavailable, EmulationMissing, HostNotReady

TOOLCHAIN = Toolchain(name="trixie", suite="trixie", rust="1.96.0", python="3.13.5", pytorch="2.6.0")


class World:
    """A host that answers what it is told to, and notes the commands that would have run."""

    def __init__(self, *hosts: facts.Host, daemon: bool = True) -> None:
        self.hosts = list(hosts)
        self.daemon = daemon
        self.ran: list[tuple[str, ...]] = []
        self.exit_code = 0

    def read(self, base: str, foreign: frozenset[str]) -> facts.Host:
        del base, foreign
        return self.hosts.pop(0) if len(self.hosts) > 1 else self.hosts[0]

    def require_daemon(self) -> None:
        if not self.daemon:
            raise DockerUnavailable(what="no Docker daemon answers", why="", fix="")

    def run(self, arguments: tuple[str, ...], **_: Any) -> "subprocess.CompletedProcess[str]":
        self.ran.append(tuple(arguments))
        return subprocess.CompletedProcess(arguments, self.exit_code, "", "E: no such package")


@pytest.fixture
def live_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[World], World]:
    def enter(world: World) -> World:
        monkeypatch.setattr(setup, "read_host", world.read)
        monkeypatch.setattr(setup, "require_daemon", world.require_daemon)
        monkeypatch.setattr(setup.subprocess, "run", world.run)
        monkeypatch.setattr(machine, "architecture", lambda: "amd64")
        monkeypatch.setattr(Path, "write_text", lambda *_, **__: 0)
        monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
        return world

    return enter


def set_up(*, fix: bool) -> list[str]:
    said: list[str] = []
    setup.set_up(("amd64", "arm64"), TOOLCHAIN, say=said.append, fix=fix)
    return said


def test_a_ready_host_is_left_alone_in_silence(live_in: Callable[[World], World]) -> None:
    world = live_in(World(READY))
    assert set_up(fix=True) == []
    assert world.ran == []


def test_root_mends_what_is_lacking_and_looks_again(live_in: Callable[[World], World]) -> None:
    world = live_in(World(FRESH, READY))
    said = set_up(fix=True)
    assert len(said) == 3
    assert any("docker-buildx" in command for command in world.ran)
    assert any("qemu-user-static" in command for command in world.ran)


def test_without_root_nothing_runs_and_every_command_is_told_at_once(
    live_in: Callable[[World], World],
) -> None:
    world = live_in(World(replace(FRESH, is_root=False)))
    with pytest.raises(HostNotReady) as caught:
        set_up(fix=True)
    assert world.ran == []
    for word in ("docker-buildx", "mmdebstrap", "qemu-user-static", "systemd-binfmt"):
        assert word in caught.value.fix


def test_looking_alone_never_installs(live_in: Callable[[World], World]) -> None:
    world = live_in(World(FRESH))
    with pytest.raises(HostNotReady):
        set_up(fix=False)
    assert world.ran == []


def test_a_command_that_fails_is_named_with_what_it_said(live_in: Callable[[World], World]) -> None:
    world = live_in(World(FRESH))
    world.exit_code = 100
    with pytest.raises(HostNotReady) as caught:
        set_up(fix=True)
    assert "no such package" in caught.value.why
    assert "apt-get" in caught.value.fix


def test_what_is_still_lacking_after_the_mending_is_an_error(live_in: Callable[[World], World]) -> None:
    live_in(World(FRESH, replace(READY, emulated=frozenset())))
    with pytest.raises(HostNotReady, match="emulation of arm64"):
        set_up(fix=True)


def test_a_host_without_apt_is_told_what_to_install(live_in: Callable[[World], World]) -> None:
    live_in(World(replace(FRESH, has_apt=False)))
    with pytest.raises(HostNotReady) as caught:
        set_up(fix=True)
    assert "own means" in caught.value.fix
    assert "apt-get" not in caught.value.fix


def test_a_base_that_is_named_by_its_digest_is_asked_for_no_mmdebstrap(
    live_in: Callable[[World], World],
) -> None:
    live_in(World(replace(READY, has_base=False, has_mmdebstrap=False, has_keyring=False)))
    pinned = replace(TOOLCHAIN, base="debian@sha256:" + "0" * 64)
    setup.set_up(("amd64", "arm64"), pinned, say=lambda _: None, fix=False)


def test_no_daemon_is_a_failure_of_its_own(live_in: Callable[[World], World]) -> None:
    live_in(World(READY, daemon=False))
    with pytest.raises(DockerUnavailable):
        set_up(fix=True)


@pytest.mark.parametrize(
    ("lacking", "error"),
    [
        ({"has_buildx": False}, BuildxMissing),
        ({"emulated": frozenset()}, EmulationMissing),
        ({"has_base": False, "has_mmdebstrap": False}, HostNotReady),
        ({"has_buildx": False, "emulated": frozenset()}, HostNotReady),
    ],
)
def test_what_is_lacking_alone_has_an_error_of_its_own(
    live_in: Callable[[World], World], lacking: dict[str, Any], error: type[HostNotReady]
) -> None:
    live_in(World(replace(READY, **lacking)))
    with pytest.raises(HostNotReady) as caught:
        set_up(fix=False)
    assert type(caught.value) is error
    # Without emulation there is still this machine's own architecture.
    assert ("--arch amd64" in caught.value.fix) is (error is EmulationMissing)


def test_what_no_command_is_known_for_does_not_keep_the_rest_from_being_mended(
    live_in: Callable[[World], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = live_in(World(FRESH, READY))
    shown = [
        replace(need, steps=(), commands=()) if need.check == "mmdebstrap" else need
        for need in needs(FRESH, ARM)
    ]
    monkeypatch.setattr(setup, "needs", lambda host, *_, **__: shown if host == FRESH else [])
    assert len(set_up(fix=True)) == 2
    assert not any("mmdebstrap" in command for command in world.ran)


@pytest.fixture
def binfmt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (facts, emulation):
        monkeypatch.setattr(module, "BINFMT", tmp_path)
    emulation.emulator_of.cache_clear()
    return tmp_path / "qemu-aarch64"


@pytest.mark.parametrize(
    ("text", "registered"),
    [
        ("enabled\ninterpreter /usr/bin/qemu\nflags: POF\noffset 0\n", True),
        ("enabled\ninterpreter /usr/bin/qemu\nflags: OC\noffset 0\n", False),
        ("disabled\ninterpreter /usr/bin/qemu\nflags: F\noffset 0\n", False),
    ],
)
def test_emulation_serves_containers_when_it_is_enabled_and_opened_beforehand(
    binfmt: Path, text: str, registered: bool
) -> None:
    binfmt.write_text(text, encoding="utf-8")
    assert facts.is_registered("arm64") is registered


def test_an_emulator_is_named_with_the_version_that_it_tells_itself(binfmt: Path, tmp_path: Path) -> None:
    program = tmp_path / "interpreter"
    program.write_text("#!/bin/sh\necho 'qemu-aarch64 version 10.0.2 (Debian 1:10.0.2)'\n", encoding="utf-8")
    program.chmod(0o755)
    binfmt.write_text(f"enabled\ninterpreter {program}\nflags: POF\n", encoding="utf-8")
    assert emulation.emulator_of("arm64") == "qemu-aarch64 10.0.2"


def test_an_emulator_of_another_machine_is_named_without_a_version_and_none_is_none(binfmt: Path) -> None:
    assert emulation.emulator_of("arm64") is None
    emulation.emulator_of.cache_clear()
    binfmt.write_text("enabled\ninterpreter /not/here/qemu\nflags: POF\n", encoding="utf-8")
    assert emulation.emulator_of("arm64") == "qemu-aarch64"
