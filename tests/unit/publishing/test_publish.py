"""A publication is made of whole plans, or every reason against it is said and nothing is written."""

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import yaml
from example_records import MATRIX, example_matrix, make_record
from verify.made import DOUBLER, small_matrix, steered

from runner.cli.commands import base
from runner.cli.main import main
from runner.executors import outside
from runner.executors.local import LocalExecutor
from runner.matrix import load_matrix
from runner.publishing import publish, refusals
from runner.publishing.check import nonces_of, standing_of
from runner.publishing.pages import pages_of
from runner.publishing.plans import plans_of
from runner.records.ledger.file import read_ledger
from runner.records.ledger.lines import LaunchLine
from runner.records.publication import FACTS, Publication
from runner.records.record import content_hash
from runner.records.store import Store
from runner.system.errors import DamagedLedger, DamagedRecord, NoSpace, NotPublishable, UsageError
from tools import pack_publication

NAME = "2026-12-01-double"
SEEDS = ("--seeds", "1,2,3,4,5")
IDLE = {
    "load_1m": 0.0,
    "memory_available_bytes": 2**33,
    "swap_used_bytes": 0,
    "cpu_pressure_avg10": 0.0,
    "throttle_count": 0,
    "cpu_mhz": None,
}
WRONG = DOUBLER.replace("each * 2", "each * 3")
TABLE = "# Published\n\n| folder | machine, commit | what |\n|---|---|---|\n\nEnd.\n"
GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


@dataclasses.dataclass
class Project:
    """A checkout with a matrix of its own, whose runs are on an idle machine unless told otherwise."""

    root: Path
    read: Callable[[], tuple[str, str]]

    @property
    def store(self) -> Store:
        return Store(self.root / "results" / "local")

    @property
    def folder(self) -> Path:
        return self.root / "results" / "published" / NAME

    def git(self, *arguments: str) -> str:
        done = subprocess.run([*GIT, "-C", self.root, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a state")

    def write(self, **bodies: str) -> None:
        """The matrix and whatever else, committed."""
        (self.root / "matrix.yaml").write_text(yaml.safe_dump(small_matrix(**bodies), sort_keys=False))
        self.commit()

    def call(self, *arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *self.read()

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return self.call("run", "--executor", "local", *(arguments or SEEDS))

    def publish(self, *arguments: str) -> tuple[int, str, str]:
        return self.call("publish", NAME, *arguments)


@pytest.fixture
def make_project(monkeypatch, capsys) -> Callable[[Path], Project]:
    def make(root: Path) -> Project:
        monkeypatch.setattr(base, "ROOT", root)
        monkeypatch.setattr(LocalExecutor, "state", lambda *_: dict(IDLE))
        # Other tests run beside this one, and take its CPUs.
        monkeypatch.setattr(outside, "_preemptions", lambda _: 0)
        monkeypatch.setattr(outside, "_stolen_seconds", lambda _: 0.0)

        def read() -> tuple[str, str]:
            captured = capsys.readouterr()
            return captured.out, captured.err

        return Project(root=root, read=read)

    return make


def checkout(root: Path) -> None:
    (root / "results" / "published").mkdir(parents=True)
    (root / "results" / "published" / "README.md").write_text(TABLE)
    (root / ".gitignore").write_text("/results/local/\n")
    (root / "docker").mkdir()
    (root / "docker" / "Dockerfile").write_text("FROM scratch\n")
    subprocess.run([*GIT, "init", "-q", root], check=True)


@pytest.fixture
def project(tmp_path, make_project) -> Project:
    checkout(tmp_path / "checkout")
    return make_project(tmp_path / "checkout")


@pytest.fixture(scope="module")
def _ran(tmp_path_factory) -> Path:
    """A checkout whose matrix was run, made once: five seeds of a reference and of one that fails its gate."""
    root = tmp_path_factory.mktemp("ran") / "checkout"
    checkout(root)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(base, "ROOT", root)
        patched.setattr(LocalExecutor, "state", lambda *_: dict(IDLE))
        project = Project(root=root, read=lambda: ("", ""))
        # A later run measures the same times, whatever else the machine does then.
        (root.parent / "steer.json").write_text(json.dumps({"seconds": 1e-6, "factor": 2.0}))
        project.write(other=steered(root.parent), wrong=WRONG)
        project.run()
    return root


@pytest.fixture
def ran(_ran, tmp_path, make_project) -> Project:
    shutil.copytree(_ran, tmp_path / "checkout")
    return make_project(tmp_path / "checkout")


def refused(project: Project, *arguments: str) -> str:
    """Why it is not published. Nothing is left then."""
    before = sorted(path.name for path in project.folder.parent.iterdir())
    code, _, err = project.publish(*arguments)
    assert code == NotPublishable.exit_code, err
    assert sorted(path.name for path in project.folder.parent.iterdir()) == before
    return err


def allowed(project: Project) -> Path:
    return project.folder.parent / "allowed_signers"


def standing(project: Project) -> str:
    return "\n".join(standing_of(Publication.at(project.folder), allowed(project)))


def test_a_whole_plan_becomes_a_publication_with_every_failure_in_it(ran):
    code, out, err = ran.publish("--machine", "Here", "--what", "doubling")
    assert code == 0, err
    publication = Publication.at(ran.folder)
    records = publication.records()
    assert {record.content_sha256 for record in records} == {
        record.content_sha256 for record in ran.store.records()
    }
    [plan] = publication.facts["plans"]
    assert (plan["planned"], plan["launches"], plan["outcome"]) == (15, 15, "done")
    assert plan["failed_cells"] == publication.facts["counts"]["failed"] == 10
    assert {"ledger.jsonl", "matrix.yaml", "README.md", "summary.csv", "tables/quick/double.md"} <= set(
        publication.facts["files"]
    )
    assert "wrong-output" in (ran.folder / "tables/quick/double.md").read_text()
    assert out.startswith(f"| [{NAME}]({NAME}/tables/quick/overview.md) | Here, ")
    assert out.strip() in (ran.folder.parent / "README.md").read_text().splitlines()
    assert "it is unsigned" in err


def test_a_publication_can_be_verified_and_its_pages_rendered_again(ran):
    ran.publish()
    code, _, err = ran.call("verify", NAME, "--executor", "local", "--only", "double/other")
    assert code == 0, err
    assert "all files, records (30) and plans (1) are as published" in err
    publication = Publication.at(ran.folder)
    for name, page in pages_of(ran.folder, publication.facts, publication.records()).items():
        assert (ran.folder / name).read_bytes() == page


def test_an_earlier_failure_of_a_cell_stays_in_the_publication(project):
    project.write(other=WRONG.replace("3", "3 if arguments.seed == 1 else 2"))
    project.run()
    project.run("--fresh", *SEEDS)
    project.publish()
    facts = Publication.at(project.folder).facts
    assert [plan["launches"] for plan in facts["plans"]] == [10, 10]
    assert facts["counts"]["records"] == 2 * facts["counts"]["cells"] == 40


@pytest.mark.parametrize("change", ["changed", "new"])
def test_a_changed_checkout_is_refused(ran, change):
    path = ran.root / ("docker/Dockerfile" if change == "changed" else "notes.txt")
    path.write_text("changed\n")
    assert f"changed or new: {path.relative_to(ran.root)}" in refused(ran)


def test_a_plan_that_was_begun_in_a_changed_checkout_is_refused(project):
    project.write()
    (project.root / "notes.txt").write_text("mine")
    project.run()
    (project.root / "notes.txt").unlink()
    assert "differed from its commit" in refused(project)


def test_records_of_another_commit_are_refused(ran):
    ran.commit()
    assert "no plan of commit" in refused(ran)


def test_an_image_of_another_commit_is_refused(ran, monkeypatch):
    (ran.root / "docker" / "Dockerfile").write_text("FROM other\n")
    ran.git("update-index", "--assume-unchanged", "docker/Dockerfile")
    assert "was not made from this commit" in refused(ran)


def test_fewer_than_five_processes_are_refused(project):
    project.write(other=DOUBLER)
    project.run("--seeds", "1,2,3,4")
    err = refused(project)
    assert "Fewer than 5 processes were run of" in err
    for row in ("double plain n=4", "double plain n=8", "double other n=4", "double other n=8"):
        assert row in err


def test_five_processes_of_one_toolchain_do_not_count_for_another():
    records = [make_record(seed=seed) for seed in range(1, 6)]
    assert list(refusals._few(records)) == []
    cell = msgspec.structs.replace(records[0].cell, toolchain="forky")
    (said,) = refusals._few([*records, msgspec.structs.replace(records[0], cell=cell)])
    assert "Fewer than 5 processes were run of" in said


def test_a_native_reference_of_emulated_sizes_needs_neither_five_processes_nor_an_audit(tmp_path):
    matrix = example_matrix(tmp_path, MATRIX)
    sizes = matrix.benchmarks["gae"].sizes["quick"]
    for emulated in (False, True):
        parameters = {
            **matrix.benchmarks["gae"].cases["T=128"].parameters,
            **sizes.of(emulated=emulated),
        }
        record = make_record(case="T=128", parameters=parameters, profile="quick")
        assert refusals._judges_alone(record, matrix) is emulated


def test_a_plan_that_was_stopped_is_refused_although_an_earlier_one_measured_its_cells(ran, monkeypatch):
    def full(self, record):
        raise NoSpace(what="no room", why="the disk is full", fix="make room")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", full)
        assert ran.run("--fresh", *SEEDS)[0] == NoSpace.exit_code
    assert "left cells without a record" in refused(ran)


def test_cells_that_no_plan_of_the_commit_had_are_on_no_page(ran):
    ran.commit()
    assert ran.run("--fresh", "--only", "double/*/n=4", *SEEDS)[0] in (0, 3)
    code, _, err = ran.publish()
    assert code == 0, err
    records = Publication.at(ran.folder).records()
    assert {record.case for record in records} == {"n=4", "n=8"}, "launches are published whole"
    summary = (ran.folder / "summary.csv").read_text()
    assert "n=4" in summary
    assert "n=8" not in summary
    page = (ran.folder / "tables/quick/double.md").read_text()
    assert not [line for line in page.splitlines() if "n=8" in line and "µs" in line]
    standing(ran)


def test_a_run_that_writes_to_the_ledger_meanwhile_does_not_spoil_a_publication(ran, monkeypatch):
    def slow(*arguments, **named):
        ran.run("--fresh", *SEEDS)
        return require(*arguments, **named)

    require = publish.require_publishable
    with monkeypatch.context() as patched:
        patched.setattr(publish, "require_publishable", slow)
        code, _, err = ran.publish()
    assert code == 0, err
    assert len(Publication.at(ran.folder).facts["plans"]) == 1
    standing(ran)


def test_a_record_that_somebody_removed_is_missed(ran):
    failed = next(record for record in ran.store.records() if record.failed)
    (ran.store.records_directory / "double" / f"{failed.identifier}.json").unlink()
    err = refused(ran)
    assert failed.content_sha256[:12] in err
    assert "is not in the store any more" in err


def test_records_that_no_plan_made_are_refused(ran, tmp_path):
    lines = ran.store.ledger_path.read_bytes().splitlines(keepends=True)
    # The end of a chain can be cut off unseen. The records are left over then.
    ran.store.ledger_path.write_bytes(b"".join(lines[:-3]))
    assert "No whole launch of the ledger made the records" in refused(ran)


def test_an_altered_ledger_is_refused(ran):
    path = ran.store.ledger_path
    lines = path.read_bytes().splitlines(keepends=True)
    failing = next(index for index, line in enumerate(lines) if b"wrong-output" in line)
    del lines[failing]
    path.write_bytes(b"".join(lines))
    code, _, err = ran.publish()
    assert code == DamagedLedger.exit_code
    assert f"line {failing + 1} " in err


def test_a_plan_that_was_interrupted_is_refused_until_its_cells_have_records(project, monkeypatch):
    launch = LocalExecutor.launch

    def interrupted(self, request):
        if request.name.startswith("double-other"):
            raise KeyboardInterrupt
        return launch(self, request)

    project.write(other=DOUBLER)
    with monkeypatch.context() as patched:
        patched.setattr(LocalExecutor, "launch", interrupted)
        project.run()
    assert "left cells without a record" in refused(project)
    project.run()
    code, _, err = project.publish()
    assert code == 0, err
    first, second = Publication.at(project.folder).facts["plans"]
    assert (first["ended"], first["void"], second["outcome"]) == (None, 1, "done")
    assert f"not closed: {first['plan']}" in err
    for page in project.folder.glob("tables/*/*.md"):
        assert f"Plan {first['plan']} was not closed" in page.read_text()


def test_a_launch_that_was_given_up_between_two_records_is_run_again(project, monkeypatch):
    add = Store.add

    def full(self, record):
        if (record.implementation, record.seed, record.case) == ("other", 3, "n=8"):
            raise NoSpace(what="no room", why="the disk is full", fix="make room")
        return add(self, record)

    project.write(other=DOUBLER)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", full)
        assert project.run()[0] == NoSpace.exit_code
    project.run()
    assert "No whole launch of the ledger made the records of double other n=4" in refused(project)
    project.run("--fresh", *SEEDS)
    code, _, err = project.publish()
    assert code == 0, err
    first, *_ = Publication.at(project.folder).facts["plans"]
    assert (first["outcome"], first["void"]) == ("stopped", 1)


def test_removed_records_leave_their_plans_in_the_list(ran):
    assert ran.call("clean", "results", "--records", "--yes", "--executor", "local")[0] == 0
    ran.run()
    code, _, err = ran.publish()
    assert code == 0, err
    first, second = Publication.at(ran.folder).facts["plans"]
    assert (first["removed"], first["failed_cells"], second["removed"]) == (15, 10, 0)


def test_a_loaded_machine_is_refused_or_said_on_every_page_and_in_the_row(project, monkeypatch):
    project.write()
    monkeypatch.setattr(LocalExecutor, "state", lambda *_: IDLE | {"cpu_pressure_avg10": 44.0})
    project.run()
    assert "5 of 5 launches began under CPU pressure" in refused(project)
    code, out, err = project.publish("--with-warnings")
    assert code == 0, err
    for page in (out, *(path.read_text() for path in project.folder.glob("tables/*/*.md"))):
        assert "**Taken on a loaded machine.**" in page
    assert "## Taken on a loaded machine" in (project.folder / "README.md").read_text()
    assert "taken on a loaded machine: " in err


def test_every_reason_is_said_at_once(project, monkeypatch):
    project.write()
    monkeypatch.setattr(LocalExecutor, "state", lambda *_: IDLE | {"cpu_pressure_avg10": 44.0})
    project.run("--seeds", "1")
    err = refused(project)
    assert "2 reasons speak against this publication" in err


@pytest.mark.parametrize("name", [NAME, "../elsewhere", "a b"])
def test_a_name_that_is_taken_or_no_folders_is_refused(ran, name):
    ran.folder.mkdir()
    assert ran.call("publish", name)[0] == UsageError.exit_code


def altered(project: Project, name: str) -> None:
    path = project.folder / name
    path.write_bytes(path.read_bytes().replace(b"e", b"a", 1))


@pytest.mark.parametrize("name", ["tables/quick/double.md", "matrix.yaml", "ledger.jsonl", "README.md"])
def test_an_altered_file_of_a_publication_is_found(ran, name):
    ran.publish()
    altered(ran, name)
    with pytest.raises(DamagedRecord) as found:
        standing(ran)
    assert name in found.value.why


def test_a_file_that_was_added_or_left_out_is_found(ran):
    ran.publish()
    (ran.folder / "tables" / "quick" / "more.md").write_text("more")
    with pytest.raises(DamagedRecord):
        standing(ran)
    (ran.folder / "tables" / "quick" / "more.md").unlink()
    standing(ran)
    (ran.folder / "summary.csv").unlink()
    with pytest.raises(DamagedRecord):
        standing(ran)


def test_a_plan_that_is_left_out_of_the_list_is_found(ran):
    ran.run("--fresh", *SEEDS)
    ran.publish()
    path = ran.folder / FACTS
    facts = json.loads(path.read_text())
    del facts["plans"][0]
    path.write_text(json.dumps(facts))
    with pytest.raises(DamagedRecord) as found:
        standing(ran)
    assert "plans" in found.value.why


def test_a_publication_states_the_definitions_of_its_records(ran):
    assert ran.publish()[0] == 0
    facts = Publication.at(ran.folder).facts
    matrix = load_matrix(ran.root / "matrix.yaml")
    stated = {each["definition"]["implementation"]: each for each in facts["definitions"]}
    assert stated.keys() == {"plain", "other", "wrong"}
    for name, each in stated.items():
        implementation = matrix.benchmarks["double"].implementations[name]
        assert each["definition"]["command"] == list(implementation.command)
        assert each["sha256"] == content_hash(each["definition"])
    assert sum(each["records"] for each in stated.values()) == facts["counts"]["records"]


def test_altered_definitions_of_a_publication_are_found(ran):
    assert ran.publish()[0] == 0
    path = ran.folder / FACTS
    facts = json.loads(path.read_text())
    facts["definitions"][0]["definition"]["headline"] = "wall_seconds"
    path.write_text(json.dumps(facts, indent=1) + "\n")
    with pytest.raises(DamagedRecord, match="definitions"):
        standing(ran)


def test_a_publication_that_loses_its_plans_is_not_taken_for_an_old_one(ran):
    ran.publish()
    path = ran.folder / FACTS
    facts = json.loads(path.read_text())
    del facts["plans"]
    path.write_text(json.dumps(facts))
    with pytest.raises(DamagedRecord):
        standing(ran)


def test_a_publication_that_loses_all_that_tells_of_its_plans_is_not_taken_for_an_old_one(ran, key):
    assert ran.publish("--sign", str(key))[0] == 0
    path = ran.folder / FACTS
    facts = json.loads(path.read_text())
    for name in ("plans", "files", "flags", "older_records_outside", "definitions"):
        del facts[name]
    path.write_text(json.dumps(facts))
    (ran.folder / "ledger.jsonl").unlink()
    with pytest.raises(DamagedRecord):
        standing(ran)


@pytest.fixture
def key(tmp_path) -> Path:
    path = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "a@example.org", "-f", path], check=True
    )
    return path


def allow(project: Project, key: Path) -> None:
    public = key.with_suffix(".pub").read_text().split()
    allowed(project).write_text(f"# who may sign\na@example.org {public[0]} {public[1]}\n")


def test_a_signature_names_its_signer_if_the_signer_is_allowed(ran, key):
    assert ran.publish("--sign", str(key))[0] == 0
    allowed(ran).write_text("# nobody yet\n")
    assert "no allowed signer" in standing(ran)
    allow(ran, key)
    assert "it is signed by a@example.org" in standing(ran)


def test_a_signature_of_other_content_is_refused(ran, key):
    ran.publish("--sign", str(key))
    allow(ran, key)
    path = ran.folder / FACTS
    path.write_text(path.read_text() + "\n")
    with pytest.raises(DamagedRecord) as found:
        standing(ran)
    assert "not what was signed" in found.value.why


def test_a_key_that_is_none_leaves_nothing(ran, tmp_path):
    (tmp_path / "key").write_text("no key")
    assert "was not signed" in refused(ran, "--sign", str(tmp_path / "key"))


def test_a_host_without_ssh_keygen_is_told_what_to_install(ran, key, monkeypatch):
    git = Path(shutil.which("git") or "git").resolve()
    only = ran.root.parent / "bin"
    only.mkdir()
    (only / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(only))
    assert "openssh-client" in refused(ran, "--sign", str(key))


HONEST = [sys.executable, str(Path(__file__).parents[2] / "redteam" / "hostile" / "program.py")]


def refereed_matrix() -> dict:
    """A benchmark with a referee, of one honest implementation."""
    data = small_matrix()
    benchmark = data["benchmarks"]["double"]
    sizes = {"warmup": 5, "repetitions": 50, "seconds_limit": 2.0, "least_repetitions": 5}
    benchmark |= {
        "refereed": True,
        "cases": {"sine": {"length": 20000, "calls": 4}},
        "profiles": {name: {"native": sizes, "emulated": sizes} for name in ("quick", "smoke")},
        "implementations": {"plain": {"command": HONEST, "reference": True, "determinism": "machine"}},
    }
    return data


def test_the_nonces_of_a_closed_plan_follow_from_its_secret_and_no_other(project):
    (project.root / "matrix.yaml").write_text(yaml.safe_dump(refereed_matrix(), sort_keys=False))
    project.commit()
    code, _, err = project.run()
    assert code == 0, err
    code, _, err = project.publish()
    assert code == 0, err
    assert "5 of 5 nonces follow from the secret of a plan in its ledger" in standing(project)
    publication = Publication.at(project.folder)
    plans = plans_of(read_ledger(project.folder / "ledger.jsonl").lines)
    other = [
        dataclasses.replace(plan, end=msgspec.structs.replace(plan.end, opening="0" * 64)) for plan in plans
    ]
    assert nonces_of(publication.records(), plans).proved == 5
    assert nonces_of(publication.records(), other).proved == 0


def test_a_launch_of_another_commit_may_have_had_other_cells(project):
    project.write(other=DOUBLER)
    project.run()
    data = small_matrix(other=DOUBLER)
    data["benchmarks"]["double"]["cases"]["n=8"]["length"] = 9
    (project.root / "matrix.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    project.commit()
    project.run("--fresh", *SEEDS)
    code, _, err = project.publish()
    assert code == 0, err
    assert [plan["launches"] for plan in Publication.at(project.folder).facts["plans"]] == [10, 10]


def test_packing_a_publication_again_changes_nothing_until_a_fault_of_it_is_known(ran, key, monkeypatch):
    ran.publish("--machine", "Here", "--what", "doubling", "--sign", str(key))
    before = {path: path.read_bytes() for path in ran.folder.rglob("*") if path.is_file()}
    assert "unchanged" in pack_publication.pack(ran.folder)
    assert {path: path.read_bytes() for path in ran.folder.rglob("*") if path.is_file()} == before
    faults = ran.root / "known_faults.yaml"
    faults.write_text(f"{NAME}: [The machine was painted while it ran.]\n")
    monkeypatch.setattr(pack_publication, "KNOWN_FAULTS", faults)
    assert "unsigned now" in pack_publication.pack(ran.folder)
    assert "it is unsigned" in standing(ran)
    assert "The machine was painted" in (ran.folder / "README.md").read_text()


def test_the_ledger_of_a_publication_has_the_failures(ran):
    ran.publish()
    lines = read_ledger(ran.folder / "ledger.jsonl").lines
    failed = [line for line in lines if isinstance(line, LaunchLine) and line.failures]
    assert len(failed) == 5
