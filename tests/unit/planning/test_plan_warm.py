"""A call that finds everything done is quick: it reads no library that only work needs, and no file twice."""

import json
import subprocess
import sys

from conftest import DOUBLER, program, small_matrix
from pseudo_terminal import ROOT

# What takes longest to import, and which part needs it.
HEAVY = {"numpy": "the gate and the intervals", "jinja2": "the pages", "jsonschema": "words for faults"}

CALL = """
import json, sys
from runner.cli.main import main

read = []
def counted(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and "/records/" in arguments[0]:
        read.append(arguments[0])
sys.addaudithook(counted)
code = main(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(sys.modules), "read": read}), file=sys.stderr)
"""


def call(*arguments: str) -> dict:
    result = subprocess.run(
        [sys.executable, "-c", CALL, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(result.stderr.splitlines()[-1])


def test_a_second_call_reads_each_record_once_and_no_library_of_the_first(write_matrix, tmp_path):
    where = [
        *("--matrix", str(write_matrix(small_matrix(other=program(DOUBLER))))),
        *("--results", str(tmp_path / "results"), "--executor", "local"),
    ]
    first = call(*where)
    assert first["code"] == 0
    assert set(HEAVY) - {"jsonschema"} <= set(first["modules"]), "the test looks at the right names"
    second = call(*where)
    assert second["code"] == 0
    assert set(HEAVY) & set(second["modules"]) == set()
    # Listing a folder is an open too.
    records = [path for path in second["read"] if path.endswith(".json")]
    assert len(records) == len(set(records)) == 8


def test_the_plan_and_the_help_read_none_of_them_either(write_matrix, tmp_path):
    matrix = ["--matrix", str(write_matrix(small_matrix()))]
    where = [*matrix, "--results", str(tmp_path), "--executor", "local"]
    for arguments in (["plan", *where], ["plan", "--json", *where], ["list", *matrix], ["plan", "--help"]):
        assert set(HEAVY) & set(call(*arguments)["modules"]) == set(), arguments
