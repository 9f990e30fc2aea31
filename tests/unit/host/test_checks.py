"""What each check says, over invented situations, and what follows from all of them."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from host_states import DAEMON, GB, GIB, MACHINE, MIRROR, SERVED, TOOLCHAIN, WELL, but
from hosts import ARM, READY
from hypothesis import given
from hypothesis import strategies as st

from runner.cli.commands.doctor import as_text
from runner.daemon.whereabouts import Whereabouts
from runner.host.checks import examine
from runner.host.finding import Finding, State, exit_code
from runner.host.state import Daemon, HostState, Place, Remedy, Results, Wanted
from runner.system.errors import (
    BuildxMissing,
    DamagedRecord,
    DockerForbidden,
    DockerMissing,
    DockerUnavailable,
    EmulationMissing,
    HostNotReady,
    MirrorUnreachable,
    NewerRecord,
    NoSpace,
    PackagesDrifted,
    PinMismatch,
    StoreError,
)
from runner.system.root import SUDO

NO_COMMAND = Daemon(
    problem=DockerMissing(what="there is no docker command here", why="not on PATH", fix="install it")
)
STOPPED = Daemon(
    problem=DockerUnavailable(what="no Docker daemon answers", why="Cannot connect", fix="start it"),
    host="unix:///var/run/docker.sock",
    client="28.2.2",
)
FORBIDDEN = replace(
    STOPPED, problem=DockerForbidden(what="this user may not", why="permission denied", fix="join")
)
FULL = Place(path=Path("/var"), holds=("images", "records"), free_bytes=GB, needed_bytes=8 * GB)
OLD_MIRROR = replace(MIRROR, served={**(MIRROR.served or {}), "pytorch": frozenset({"2.7.1"})})
UNLOCKED = PackagesDrifted(what="not locked", why="there is no lock", fix=".venv/bin/python -m runner lock")
CLOSED = Results(
    path=Path("/results"),
    problem=StoreError(
        what="the results directory /results cannot be written", why="Permission denied", fix="another"
    ),
    remedy=Remedy.TAKE,
)
UNPRIVILEGED = replace(READY, is_root=False, has_base=False)


def finding(host_state: HostState, check: str) -> Finding:
    """The one finding of this check."""
    found = [each for each in examine(host_state) if each.check.startswith(check)]
    assert len(found) == 1, [each.check for each in found]
    return found[0]


def test_where_all_is_well_every_check_says_so():
    assert {each.state for each in examine(WELL)} == {State.OK}
    assert exit_code(examine(WELL)) == 0


# What is wrong, the check that says so, what a run would end with, a word of what is to be done.
MISSING: dict[str, tuple[HostState, str, type, str]] = {
    "no command": (
        but(daemon=NO_COMMAND, host=replace(READY, has_docker=False)),
        "docker command",
        DockerMissing,
        "apt-get install docker.io",
    ),
    "a broken command": (but(daemon=NO_COMMAND), "docker command", DockerMissing, "type -a docker"),
    "stopped": (but(daemon=STOPPED), "docker daemon", DockerUnavailable, "start"),
    "forbidden": (but(daemon=FORBIDDEN), "docker permission", DockerForbidden, "usermod -aG docker $USER"),
    "no library": (
        but(daemon=replace(DAEMON, sdk="it has no module docker")),
        "docker library",
        HostNotReady,
        "make setup",
    ),
    "no buildx": (
        but(host=replace(READY, has_buildx=False)),
        "docker buildx",
        BuildxMissing,
        "docker-buildx",
    ),
    "no emulation": (
        but(host=replace(READY, emulated=frozenset())),
        "emulation of arm64",
        EmulationMissing,
        "systemd-binfmt",
    ),
    "emulation that fails": (
        but(trial={"arm64": False}),
        "emulation of arm64",
        EmulationMissing,
        "--reinstall",
    ),
    "no way to a base": (
        but(host=replace(READY, has_base=False, has_mmdebstrap=False)),
        "base image",
        HostNotReady,
        "mmdebstrap",
    ),
    "a base without keys": (
        but(host=replace(READY, has_base=False, has_keyring=False)),
        "base image",
        HostNotReady,
        "debian-archive-keyring",
    ),
    "no mirror": (
        but(mirrors=(replace(MIRROR, problem="no route", served=None),), missing_images=("x",)),
        "mirror of trixie",
        MirrorUnreachable,
        "curl -I http://mirror.example/debian/dists/trixie/Release",
    ),
    "another pin than is locked": (
        but(locked={"trixie": {**SERVED, "rust": frozenset({"1.85.0"})}}, missing_images=("x",)),
        "pins of trixie",
        PinMismatch,
        "toolchains.trixie",
    ),
    "no lock": (
        but(locked={"trixie": UNLOCKED}, missing_images=("x",)),
        "pins of trixie",
        PackagesDrifted,
        "python -m runner lock",
    ),
    "a full disk": (but(places=(FULL,)), "disk space on /var", NoSpace, "clean --dry-run"),
    "closed results": (but(results=CLOSED), "results directory", StoreError, "chown"),
    "an altered record": (
        but(damaged=(Path("/results/records/gae/x.json"),)),
        "records",
        DamagedRecord,
        "rm /results/records/gae/x.json",
    ),
    "a record of a newer version": (
        but(unread=(NewerRecord(what="x was written by a newer version", why="schema 9", fix="git pull"),)),
        "records",
        NewerRecord,
        "git pull",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_would_stop_a_run_is_missing_with_its_reason_its_remedy_and_its_exit_code(name):
    host_state, check, error, remedy = MISSING[name]
    found = finding(host_state, check)
    assert (found.state, found.error) == (State.MISSING, error)
    assert found.why
    assert remedy in " ".join([*found.commands, found.advice])
    assert exit_code(examine(host_state)) == error.exit_code


def test_a_results_directory_is_given_to_the_user_without_what_lies_around_it():
    path = Path("/data/my results")
    host_state = but(results=replace(CLOSED, path=path, remedy=Remedy.MAKE))
    assert finding(host_state, "results directory").commands == (
        f"{SUDO}install -d -o \"$(id -u)\" '/data/my results'",
    )
    host_state = but(results=replace(CLOSED, path=path, remedy=Remedy.TAKE))
    assert finding(host_state, "results directory").commands == (
        f"{SUDO}chown -R \"$(id -u)\" '/data/my results'",
    )
    host_state = but(results=replace(CLOSED, path=Path("/"), remedy=None))
    assert finding(host_state, "results directory").commands == ()


def test_a_command_is_for_pasting_whatever_the_names_in_it():
    odd = "/data/a b; rm x/$(id)"
    host_state = but(
        places=(replace(FULL, path=Path(odd)),),
        results=replace(CLOSED, path=Path(odd)),
        damaged=(Path(odd) / "records/gae/x y.json",),
        mirrors=(replace(MIRROR, url="http://x/$(id) y", problem="no route", served=None),),
        missing_images=("x",),
    )
    printed = [command for each in examine(host_state) for command in each.commands]
    words = [shlex.split(command)[-1] for command in printed if "data" in command or "curl" in command]
    assert words == [
        "http://x/$(id) y/dists/trixie/Release",
        odd,
        odd,
        f"{odd}/records/gae/x y.json",
    ]


# What is wrong, the check that says so, a word of the reason.
WARNED: dict[str, tuple[HostState, str, str]] = {
    "a mirror out of reach that nobody needs": (
        but(mirrors=(replace(MIRROR, problem="no route", served=None),)),
        "mirror of trixie",
        "nothing has to be fetched",
    ),
    "a mirror that has moved on from what is locked": (
        but(mirrors=(OLD_MIRROR,), missing_images=("x",)),
        "pins of trixie",
        "archive of their day",
    ),
    "vfs": (
        but(daemon=replace(DAEMON, information={**DAEMON.information, "Driver": "vfs"})),
        "storage driver",
        "copies every layer",
    ),
    "a bootstrap without user ids": (
        but(host=UNPRIVILEGED, unprivileged="there is none for me"),
        "base image",
        "there is none for me",
    ),
    "little memory": (
        but(daemon=replace(DAEMON, information={**DAEMON.information, "MemTotal": 2 * GIB})),
        "memory",
        "4.0 GiB",
    ),
    "memory in use": (
        but(machine=replace(MACHINE, memory_available_bytes=GIB)),
        "memory",
        "pushes out other work",
    ),
    "one processor": (
        but(daemon=replace(DAEMON, information={**DAEMON.information, "NCPU": 1})),
        "processors",
        "no processor is left",
    ),
    "no limit of memory": (
        but(daemon=replace(DAEMON, information={**DAEMON.information, "MemoryLimit": False})),
        "limits",
        "may exceed",
    ),
    "swap that is not counted": (
        but(
            daemon=replace(DAEMON, information={**DAEMON.information, "SwapLimit": False}),
            machine=replace(MACHINE, swap_bytes=GIB),
        ),
        "limits",
        "what swaps is slow",
    ),
    "containers on another machine": (
        but(daemon=replace(DAEMON, place=Whereabouts.ELSEWHERE)),
        "machine of the containers",
        "and unranked",
    ),
    "a busy machine": (but(machine=replace(MACHINE, load_1m=6.0)), "load", "other work"),
    "a sleepy processor": (but(machine=replace(MACHINE, governor="powersave")), "governor", "frequency"),
    "implementations that cannot run": (
        but(executor="local", host=None, daemon=None, left_out={"gae/rust": "no program"}),
        "implementations",
        "no program",
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_only_spoils_a_run_is_a_warning_and_stops_nothing(name):
    host_state, check, reason = WARNED[name]
    found = finding(host_state, check)
    assert found.state is State.WARNING
    assert reason in found.why
    assert exit_code(examine(host_state)) == 0


def test_swap_that_is_not_there_needs_no_accounting():
    no_accounting = replace(DAEMON, information={**DAEMON.information, "SwapLimit": False})
    assert finding(but(daemon=no_accounting), "limits").state is State.OK


def test_a_stopped_daemon_and_a_closed_socket_are_never_both_missing():
    for daemon in (STOPPED, FORBIDDEN):
        states = [finding(but(daemon=daemon), name).state for name in ("docker daemon", "docker permission")]
        assert sorted(state.value for state in states) == ["missing", "skipped"]


def test_two_kinds_of_missing_things_end_in_the_code_for_a_host_that_is_not_ready():
    assert exit_code(examine(but(daemon=STOPPED, places=(FULL,)))) == HostNotReady.exit_code


def test_pins_are_not_asked_of_a_mirror_where_the_images_are_there():
    others = {"trixie": {**SERVED, "rust": frozenset({"1.85.0"})}}
    assert finding(but(mirrors=(OLD_MIRROR,), locked=others), "pins").found == (
        "verified in the images that are there"
    )


def test_pins_are_those_of_the_lock_where_the_mirror_does_not_answer():
    unread = replace(MIRROR, served=None)
    found = finding(but(mirrors=(unread,), missing_images=("x",)), "pins")
    assert (found.state, found.found) == (State.OK, "rust 1.96.0, python 3.13.5, pytorch 2.6.0, as locked")


def test_a_base_by_digest_is_a_way_to_a_base():
    pinned = replace(TOOLCHAIN, base="debian@sha256:" + "0" * 64)
    wanted = replace(WELL.wanted, toolchains=(pinned,))
    for host in (replace(READY, has_base=False), replace(READY, has_base=False, has_mmdebstrap=False)):
        found = finding(but(host=host, wanted=wanted), "base image")
        assert (found.state, found.found) == (State.OK, "will be pulled by its digest")


def test_a_base_that_can_be_bootstrapped_is_no_trouble():
    assert finding(but(host=replace(READY, has_base=False)), "base image").state is State.OK
    assert finding(but(host=UNPRIVILEGED), "base image").state is State.OK


def test_another_kernels_emulation_is_not_judged_from_here():
    for place in (Whereabouts.DESKTOP, Whereabouts.ELSEWHERE):
        away = replace(DAEMON, place=place)
        assert finding(but(daemon=away, trial={"arm64": False}), "emulation").state is State.SKIPPED


def test_nothing_foreign_needs_no_emulation():
    native = replace(WELL.wanted, foreign=frozenset())
    assert not [each for each in examine(but(wanted=native)) if "emulation" in each.check]


@pytest.mark.parametrize("inside", [True, False])
def test_where_no_container_is_started_docker_is_not_asked_for(inside):
    local = but(executor="local", inside_image=inside, host=None, daemon=None, mirrors=(), trial={})
    checks = [each.check for each in examine(local)]
    assert checks[0] == "docker"
    assert not {"docker daemon", "docker buildx", "base image", "mirror of trixie"} & set(checks)
    assert {"results directory", "memory", "load"} <= set(checks)
    assert ("image" in finding(local, "docker").why) is inside


_INFORMATION = st.dictionaries(
    st.sampled_from(
        ["MemTotal", "NCPU", "CPUSet", "MemoryLimit", "SwapLimit", "PidsLimit", "Driver", "ServerVersion"]
    ),
    st.one_of(st.booleans(), st.integers(0, 2**40), st.none()),
)
_DAEMONS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.sampled_from([NO_COMMAND, STOPPED, FORBIDDEN, DAEMON]),
    st.builds(Daemon, problem=st.none(), client=st.just("28"), host=st.text(), information=_INFORMATION),
)
_HOSTS = st.builds(
    replace,
    st.just(READY),
    has_apt=st.booleans(),
    is_root=st.booleans(),
    has_docker=st.booleans(),
    has_buildx=st.booleans(),
    has_base=st.booleans(),
    has_mmdebstrap=st.booleans(),
    has_keyring=st.booleans(),
    emulated=st.sampled_from([ARM, frozenset()]),
)
_SITUATIONS = st.builds(
    replace,
    st.just(WELL),
    executor=st.sampled_from(["docker", "local"]),
    inside_image=st.booleans(),
    wanted=st.builds(
        Wanted,
        toolchains=st.just((TOOLCHAIN,)),
        images=st.just(()),
        foreign=st.sampled_from([ARM, frozenset()]),
        memory_bytes=st.integers(1, 2**40),
        cpus=st.integers(1, 512),
    ),
    host=st.one_of(st.none(), _HOSTS),
    daemon=_DAEMONS,
    missing_images=st.sampled_from([None, (), ("x",)]),
    trial=st.dictionaries(st.just("arm64"), st.sampled_from([True, False, None])),
    unprivileged=st.sampled_from([None, "no range"]),
    locked=st.sampled_from([{}, {"trixie": SERVED}, {"trixie": {}}, {"trixie": UNLOCKED}]),
    mirrors=st.sampled_from([(), (MIRROR,), (OLD_MIRROR,), (replace(MIRROR, problem="x", served=None),)]),
    places=st.sampled_from([(), (FULL,)]),
    results=st.builds(
        replace, st.sampled_from([WELL.results, CLOSED]), remedy=st.sampled_from([None, *Remedy])
    ),
    damaged=st.sampled_from([(), (Path("/r/x.json"),)]),
    left_out=st.sampled_from([{}, {"gae/rust": "no program"}]),
)


@given(_SITUATIONS)
def test_whatever_the_situation_nothing_crashes_and_nothing_is_wrong_without_a_reason_and_a_remedy(
    host_state,
):
    findings = examine(host_state)
    for each in findings:
        assert each.state is State.OK or each.why, each
        if each.state is State.MISSING:
            assert each.commands or each.advice, each
            assert each.error.exit_code not in (0, 1)
        # Nothing that doctor prints, a user should not run unread: no step removes a thing but a damaged record.
        assert not any(word in command for command in each.commands for word in ("prune", "rmi", "rm -r")), (
            each
        )
    assert (exit_code(findings) == 0) is all(each.state is not State.MISSING for each in findings)
    assert len({each.check for each in findings}) == len(findings)
    json.dumps([each.as_json() for each in findings])
    as_text(findings, 80)


def test_on_a_terminal_no_line_but_a_command_is_wider_than_it():
    text = as_text(examine(MISSING["a full disk"][0]), 80)
    assert all(len(line) <= 80 or "to do:" in line for line in text.splitlines())
    assert "missing  disk space on /var" in text
    assert text.splitlines()[-1].endswith("1 missing")


def test_elsewhere_than_on_a_terminal_each_thing_is_one_line():
    lines = as_text(examine(but(daemon=STOPPED)), None).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("missing"))
    assert lines[at] == "missing  docker daemon: no Docker daemon answers"
    assert lines[at + 1] == "         why: Cannot connect"
    assert lines[at + 2].startswith("         to do: ")


def test_foreign_files_beside_records_are_named_and_stop_nothing():
    found = finding(but(foreign_files=(Path("/r/records/gae/._X.json"),)), "files beside the records")
    assert found.state is State.WARNING
    assert "/r/records/gae/._X.json" in found.why


def test_limits_that_ask_for_more_processors_than_there_are_are_said():
    found = finding(but(wanted=replace(WELL.wanted, cpus=4096)), "processors")
    assert found.state is State.WARNING
    assert "ask for 4096: cells under them are left out" in found.why


def test_what_taskset_allows_a_runner_holds_for_a_daemon_on_this_kernel_and_no_other():
    held, two = replace(MACHINE, cpus=1), replace(WELL.wanted, cpus=2)
    assert finding(but(wanted=two, machine=held), "processors").state is State.WARNING
    elsewhere = replace(DAEMON, place=Whereabouts.ELSEWHERE)
    assert finding(but(wanted=two, machine=held, daemon=elsewhere), "processors").state is State.OK
