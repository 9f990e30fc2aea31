"""A disk that is full and a file that is closed to us, as the operating system words them."""

import errno
import os
import shutil

import pytest

from runner.cli import main as cli
from runner.cli.commands.base import Command
from runner.cli.main import main
from runner.system.errors import HostLimited, NoSpace, StoreError
from runner.system.space import is_full, no_space, refused


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_used_up_quota_are_one_error_that_names_the_place(number, tmp_path):
    error = refused(OSError(number, os.strerror(number), str(tmp_path / "not" / "there" / "x.json")))
    assert type(error) is NoSpace
    assert "x.json" in error.what
    assert os.strerror(number) in error.why
    assert "MiB are free there" in error.why


def test_a_copy_of_many_files_hides_its_reason_in_a_list_and_it_is_found():
    error = refused(shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]))
    assert type(error) is NoSpace


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_what_the_system_refuses_is_an_error_of_the_host(number):
    error = refused(OSError(number, os.strerror(number), "/results/records"))
    assert type(error) is StoreError
    assert error.why == os.strerror(number)
    assert "/results/records" in error.what


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN])
def test_what_a_process_has_used_up_is_no_matter_of_rights(number):
    error = refused(OSError(number, os.strerror(number), "/results/records"))
    assert type(error) is HostLimited
    assert "/results/records" in error.what
    assert "ulimit" in error.fix


def test_where_no_temporary_file_can_be_written_the_variable_is_named_that_leads_elsewhere():
    error = refused(FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"))
    assert type(error) is StoreError
    assert "TMPDIR" in error.fix


@pytest.mark.parametrize(
    "error", [FileNotFoundError(errno.ENOENT, "x"), OSError("plain"), IsADirectoryError(21, "x")]
)
def test_a_defect_of_ours_is_none_of_the_hosts(error):
    assert refused(error) is None


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ("write /x: no space left on device", True),
        ("tar: x: Cannot write: No space left on device", True),
        ("[Errno 122] Disk quota exceeded", True),
        ("no spaces left in this line of the device", False),
    ],
)
def test_a_full_disk_is_known_by_its_words(said, full):
    assert is_full(said) is full


def test_whatever_command_meets_a_full_disk_ends_in_three_lines(monkeypatch, capsys):
    def fill(_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/results/tables/x.md")

    monkeypatch.setattr(cli, "COMMANDS", {"list": Command(name="list", summary="", takes=(), run=fill)})
    assert main(["list"]) == NoSpace.exit_code
    said = capsys.readouterr().err
    assert said.startswith("forge-bench: writing /results/tables/x.md failed: no space left\n  why: ")
    assert "\n  to do: " in said
    assert "clean" in said


def test_a_defect_is_not_hidden_behind_the_host(monkeypatch):
    def fail(_: object) -> int:
        raise FileNotFoundError(errno.ENOENT, "No such file", "/x")

    monkeypatch.setattr(cli, "COMMANDS", {"list": Command(name="list", summary="", takes=(), run=fail)})
    with pytest.raises(FileNotFoundError):
        main(["list"])


def test_the_error_says_what_was_being_done():
    assert no_space("building x", "write: no space left on device").what == "building x: no space left"
