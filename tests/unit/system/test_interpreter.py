"""Another Python than that of the virtual environment: three lines and a code, before anything else."""

import ast
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.system.errors import Interrupted, PythonNotReady
from runner.system.interpreter import lacking

ROOT = Path(__file__).parents[3]
# What a Python that is too old reads before it is told so.
FIRST_READ = (
    *("__init__", "__main__", "system/__init__"),
    *("system/interpreter", "system/errors", "system/printable"),
)


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [(), ("list",), ("--help",), ("doctor",)])
def test_a_python_without_packages_names_what_it_lacks_and_what_to_do(command):
    # -S: the modules of Python itself and no others.
    result = python("-S", "-m", "runner", *command)
    assert (result.returncode, result.stdout) == (PythonNotReady.exit_code, "")
    first, why, fix = result.stderr.splitlines()
    assert first.startswith("forge-bench: the Python that runs forge-bench lacks the module ")
    assert why.startswith(f"  why: {sys.executable} is not")
    assert "make setup" in fix


def test_a_python_that_is_too_old_says_so():
    words = "import sys, runpy; sys.version_info = (3, 9, 2); runpy.run_module('runner', run_name='__main__')"
    result = python("-c", words)
    assert (result.returncode, result.stdout) == (PythonNotReady.exit_code, "")
    assert result.stderr.startswith("forge-bench: Python 3.9 is too old for forge-bench\n  why: ")
    assert len(result.stderr.splitlines()) == 3


def test_what_is_read_before_that_is_written_for_an_old_python():
    for name in FIRST_READ:
        source = (ROOT / "runner" / f"{name}.py").read_text(encoding="utf-8")
        ast.parse(source, feature_version=(3, 9))
    words = (
        "import sys; sys.version_info = (3, 9, 2); import runner.system.interpreter as found; found.too_old();"
        "print(*sorted(name for name in sys.modules if name.startswith('runner.')))"
    )
    read = python("-S", "-c", words).stdout.split()
    assert read == sorted(["runner.system", *(f"runner.{name}".replace("/", ".") for name in FIRST_READ[3:])])


def test_a_module_of_our_own_that_is_missing_is_a_defect_and_shows_its_traceback():
    assert lacking(ModuleNotFoundError("no", name="runner.nowhere")) is None
    assert lacking(ModuleNotFoundError("no")) is None
    found = lacking(ModuleNotFoundError("no", name="yaml.nodes"))
    assert found is not None
    assert "module yaml" in found.what


INTERRUPTED_WHILE_READING = """
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
awaited = sys.argv.pop()
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == awaited:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
runpy.run_module("runner", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module",
    ["system.interpreter", "system.standard_streams", "system.signals", "cli.main", "cli.commands.listing"],
)
def test_an_interrupt_while_modules_are_read_is_no_traceback(module):
    result = python("-c", INTERRUPTED_WHILE_READING, "list", f"runner.{module}")
    # A shell calls either 130.
    assert result.returncode in (-signal.SIGINT, Interrupted.exit_code), result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
