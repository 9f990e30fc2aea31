"""Trainings of the image that lie about what they did: the referee plays them again and finds each."""

from dataclasses import dataclass

import pytest
import yaml
from conftest import HOST, ROOT, Result, forge_bench

from runner.records.record import Record
from runner.records.store import Store

# Each changes one thing of the reference, and then is the reference.
_RUN = """
import runpy
runpy.run_module("baselines.references.dqn", run_name="__main__")
"""
_MERGES_EPISODES = """
from baselines.benchmarks import training
write = training.Episode
honest = training._Run.write_outputs
def lie(run, folder):
    # Episodes of 500 steps that follow one another without a gap.
    steps = run._trained.episodes[-1].step + 1
    merged = [write(step - 1, 500, 500.0) for step in range(500, steps + 1, 500)]
    run._trained.episodes[:] = merged
    honest(run, folder)
training._Run.write_outputs = lie
"""
_REWRITES_ITS_LOG = """
from baselines.benchmarks import training
from baselines.benchmarks.action_log import ActionLog
honest = training._Run.write_outputs
def lie(run, folder):
    run._trained.logs[0]._actions[0] ^= 1
    honest(run, folder)
training._Run.write_outputs = lie
"""
_HAS_AN_EASY_SEED = """
from dataclasses import replace
from baselines.benchmarks import training
honest = training.main
def main(algorithm, first_line):
    train = algorithm.variant.train
    easy = replace(algorithm.variant, train=lambda parameters, seed: train(parameters, 12345))
    honest(replace(algorithm, variant=easy), first_line)
training.main = main
"""
_TRAINS_BEFORE_GO = """
from dataclasses import replace
from baselines.benchmarks import training
honest = training._Run.is_ready
def lie(run):
    train, known = run._variant.train, run._seed
    training.seed_generators(known, run._variant.library)
    prepared = train(run._parameters, known)
    def remembered(parameters, seed):
        if seed != known:
            return train(parameters, seed)
        now = training.time.perf_counter()
        return replace(prepared, started=now, ended=training.time.perf_counter())
    run._variant = replace(run._variant, train=remembered)
    honest(run)
training._Run.is_ready = lie
"""
LIARS = {
    "merges-episodes": (_MERGES_EPISODES, "wrong-output", "replay: the log gives"),
    "rewrites-its-log": (_REWRITES_ITS_LOG, "wrong-output", "digest: repetition"),
    "has-an-easy-seed": (_HAS_AN_EASY_SEED, "wrong-output", "replay: environment 0 has the seeds 12345"),
    "trains-before-go": (_TRAINS_BEFORE_GO, "prepared-work", "audit:"),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one run of all of them."""

    call: Result
    records: dict[str, Record]


@pytest.fixture(scope="module")
def outcome(images: None, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    del images
    data = yaml.safe_load((ROOT / "matrix.yaml").read_text(encoding="utf-8"))
    dqn = data["benchmarks"]["dqn"]
    del dqn["updates"]
    data["benchmarks"] = {"dqn": dqn}
    for profile in data["profiles"].values():
        profile.pop("benchmarks", None)
    dqn["implementations"] = {
        "pytorch": dqn["implementations"]["pytorch"],
        **{
            name: {"command": ["python3", "-c", lie + _RUN], "determinism": "machine"}
            for name, (lie, _, _) in LIARS.items()
        },
    }
    for sizes in dqn["profiles"].values():
        sizes.pop("emulated_without", None)
        sizes["without"] = ["Acrobot-v1", "MountainCar-v0"]
    folder = tmp_path_factory.mktemp("liars")
    (folder / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    words = ("--matrix", str(folder / "matrix.yaml"), "--results", str(folder / "results"))
    call = forge_bench(*words, "--profile", "smoke", "--arch", HOST, "--limits", "default", "--only", "dqn")
    records = {record.implementation: record for record in Store(folder / "results").records()}
    assert set(records) == {"pytorch", *LIARS}, call.stderr[-4000:]
    return Outcome(call=call, records=records)


def test_the_honest_training_is_audited_replayed_and_its_weights_are_played(outcome: Outcome) -> None:
    record = outcome.records["pytorch"]
    assert record.failure is None, record.failure
    assert [each.check for each in record.gate[-6:]] == [
        *("window", "episodes", "replay", "audit replay", "gymnasium", "audit")
    ]
    assert record.referee
    assert record.referee.audit
    assert record.referee.final_weights
    assert record.referee.final_weights.episodes == 100


@pytest.mark.parametrize("name", LIARS)
def test_a_lie_gets_its_verdict(outcome: Outcome, name: str) -> None:
    _, kind, detail = LIARS[name]
    failure = outcome.records[name].failure
    assert failure is not None, outcome.call.stderr[-2000:]
    assert failure.kind == kind, failure
    assert failure.detail.startswith(detail), failure
