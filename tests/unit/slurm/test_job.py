"""What a job asks of Slurm, word by word."""

import shlex
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from runner.matrix import Limits, Slurm
from runner.slurm.job import Job, arguments, script, seconds_of, share_of

JOB = Job(
    name="forge-bench-1",
    command=("python", "-m", "runner"),
    where=Slurm(),
    cpus=3,
    memory_bytes=2**30 + 1,
    seconds=61.0,
    directory=Path("/checkout"),
    output=Path("/results/%x_%a.log"),
)


def test_a_job_may_be_requeued_and_asks_for_whole_mebibytes_and_minutes_that_are_enough():
    assert {"--parsable", "--requeue", "--cpus-per-task=3", "--mem=1025M", "--time=2"} <= {*arguments(JOB)}


def test_only_what_the_matrix_says_of_nodes_is_asked_of_slurm():
    words = " ".join(arguments(JOB))
    assert not any(option in words for option in ("--partition", "--constraint", "--array", "--dependency"))
    where = Slurm(partition="bench", constraint="zen4&avx512")
    assert {"--partition=bench", "--constraint=zen4&avx512"} <= {*arguments(replace(JOB, where=where))}


def test_an_array_counts_its_tasks_from_zero_and_waits_for_the_end_of_others_however_they_end():
    found = arguments(replace(JOB, count=4, after=("7", "9")))
    assert {"--array=0-3", "--dependency=afterany:7:9"} <= {*found}


def test_a_launch_gets_a_cpu_and_memory_beside_its_own_for_the_runner():
    limits = Limits(name="default", cpus=2, memory_bytes=2**30, pids=64, threads=2)
    cpus, memory_bytes = share_of(limits)
    assert cpus == limits.cpus + 1
    assert memory_bytes > limits.memory_bytes
    assert seconds_of(600.0) > 2 * 600.0


@given(st.lists(st.text(st.characters(exclude_characters="\0\r", codec="utf-8")), min_size=1))
@examples(50)
def test_the_script_is_one_command_whose_words_a_shell_reads_as_they_are(words):
    first, _, rest = script(tuple(words)).partition("\n")
    assert first == "#!/bin/sh"
    assert shlex.split(rest) == ["exec", *words]
