"""What a host lacks and how that is installed, over invented hosts."""

from dataclasses import replace
from pathlib import Path

import pytest
from host_states import but
from hosts import ARM
from hosts import FRESH as BARE

from runner.host.checks import examine
from runner.host.facts import Host
from runner.host.needs import needs
from runner.host.step import RunCommand, WriteFile
from runner.system.root import SUDO, sudo

READY = replace(BARE, has_buildx=True, has_base=True, emulated=ARM)


def commands(host: Host) -> list[str]:
    return [str(step) for need in needs(host, ARM) for step in need.steps]


def test_a_ready_host_needs_nothing():
    assert needs(READY, ARM) == []
    assert needs(replace(READY, emulated=frozenset()), frozenset()) == [], "nothing foreign is asked for"


def test_a_bare_bookworm_host_gets_everything_in_an_order_that_works():
    assert [need.check for need in needs(BARE, ARM)] == ["docker buildx", "mmdebstrap", "emulation of arm64"]
    lines = commands(BARE)
    assert any("docker-buildx" in line for line in lines)
    assert any(
        "-t bookworm-backports" in line or "qemu-user-static -t bookworm-backports" in line for line in lines
    )
    assert lines[-2] == f"{SUDO}mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc"
    assert lines[-1] == f"{SUDO}/usr/lib/systemd/systemd-binfmt /usr/lib/binfmt.d/qemu-aarch64.conf"


def test_nothing_but_buildx_may_come_from_a_newer_release():
    files = [step for need in needs(BARE, ARM) for step in need.steps if isinstance(step, WriteFile)]
    pins = next(file.content for file in files if "preferences" in str(file.path))
    assert "Package: *\nPin: release n=trixie\nPin-Priority: -10" in pins
    assert "Package: docker-buildx\nPin: release n=trixie\nPin-Priority: 100" in pins
    for file in files:
        if file.path.suffix == ".sources":
            assert "Signed-By:" in file.content


def test_a_newer_release_needs_no_foreign_source():
    steps = [step for need in needs(replace(BARE, codename="trixie"), ARM) for step in need.steps]
    assert not any(isinstance(step, WriteFile) for step in steps)


def test_with_systemd_its_own_service_registers_the_emulator():
    steps = [step for need in needs(replace(BARE, has_systemd=True), ARM) for step in need.steps]
    assert steps[-1] == RunCommand(("systemctl", "restart", "systemd-binfmt"))


def test_an_installed_emulator_is_registered_and_not_installed_again():
    host = replace(READY, emulated=frozenset(), installed_emulators=ARM)
    assert not any("apt-get" in line for line in commands(host))


def test_a_base_that_is_there_needs_no_bootstrap():
    assert "mmdebstrap" not in [need.check for need in needs(replace(BARE, has_base=True), ARM)]


@pytest.mark.parametrize("host", [replace(BARE, has_apt=False)])
def test_without_apt_needs_are_named_and_no_command_is_made_up(host):
    assert commands(host) == []
    assert len(needs(host, ARM)) == 3


def test_a_bootstrap_also_needs_debians_keys_which_other_systems_lack():
    lines = commands(replace(READY, codename="noble", has_base=False))
    assert "debian-archive-keyring" in lines[-1]


def test_a_bootstrap_without_debians_keys_is_no_way_to_a_base():
    host = replace(READY, has_base=False, has_mmdebstrap=True, has_keyring=False)
    assert [need.check for need in needs(host, ARM)] == ["mmdebstrap"]


def test_a_base_that_is_pulled_by_its_digest_needs_no_bootstrap():
    assert "mmdebstrap" not in [need.check for need in needs(BARE, ARM, pulled=True)]


def test_a_plugin_of_a_command_that_is_not_there_is_not_asked_for():
    assert needs(replace(READY, has_docker=False, has_buildx=False), ARM) == []


def test_an_arm_host_wants_the_mirror_image():
    amd = frozenset({"amd64"})
    (need,) = needs(replace(READY, emulated=frozenset(), installed_emulators=amd), amd)
    assert str(need.steps[-1]).endswith("/usr/lib/binfmt.d/qemu-x86_64.conf")


def test_a_printed_step_can_be_pasted_into_a_shell():
    step = WriteFile(Path("/etc/x"), "a: b's\nc\n")
    assert str(step) == f"""printf %s 'a: b'"'"'s\nc\n' | {SUDO}tee /etc/x >/dev/null"""


def test_a_printed_step_writes_to_the_very_file_whatever_its_name():
    assert str(WriteFile(Path("/etc/x y"), "z")) == f"printf %s z | {SUDO}tee '/etc/x y' >/dev/null"


def test_root_is_told_of_no_sudo():
    assert (sudo(0), sudo(1000)) == ("", "sudo ")


@pytest.mark.parametrize("host", [BARE, replace(BARE, has_apt=False), replace(BARE, has_systemd=True)])
def test_what_doctor_prints_is_what_setup_does(host):
    """One finding for both: its commands are its steps, and where there are none it says what to do instead."""
    found = needs(host, ARM)
    assert found
    for each in found:
        assert each.commands == tuple(map(str, each.steps))
        assert bool(each.advice) != bool(each.commands)
    doctors = {each.commands for each in examine(but(host=host)) if each.steps}
    assert {each.commands for each in found if each.steps} == doctors
