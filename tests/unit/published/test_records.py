"""Published records are as they were sealed, of the machines that are named, and end with the same weights."""

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import yaml

from published.publications import FOLDERS, LAST_BEFORE_PACKING, PUBLISHED_README
from runner.records.publication import FACTS, Publication
from runner.records.record import Record, canonical_json, is_intact, sealed
from runner.records.record_file import record_text
from runner.records.store import newest_by_key
from runner.verify.read import read_records
from tests.fuzz.corpus import PUBLISHED, ROOT, publications, published_texts

KNOWN_FAULTS = yaml.safe_load((ROOT / "tools/known_faults.yaml").read_text(encoding="utf-8"))
# Every seal up to the last day before publications were packed, sorted, a line each.
SEALS = "9bdf1c0bd813834a856291ee9635b79adff572e5ec3f2c28ad79eef898739470"
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class Model:
    """What a record says of its machine, as far as the table of machines names it."""

    processor: str
    caches: str
    avx512: str

    @staticmethod
    def of(machine: Mapping[str, Any]) -> "Model":
        caches = ", ".join(machine["caches"][level] for level in ("L1d", "L1i", "L2"))
        return Model(machine["cpu_model"], caches, "yes" if "avx512f" in machine["simd"] else "no")


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What the tests ask of a publication's records, so that each is read once."""

    schemas: Counter[int]
    seals: frozenset[str]
    newest: frozenset[str]
    models: frozenset[Model]
    weights: Mapping[tuple[str, str, int], str | None]
    changes: Sequence[str]


def changed_by_reading(record: Record, text: bytes, data: dict[str, Any]) -> list[str]:
    """What a record does not keep of the line that it was read from; ``data`` are that line's values."""
    kept = {
        "its bytes": canonical_json(record.plain()) + b"\n" == text,
        "its seal": is_intact(data) and sealed(record) == record,
        "its values in a file of its own": json.loads(record_text(record)) == data,
    }
    return [f"{record.identifier}: {what}" for what, holds in kept.items() if not holds]


@cache
def holdings(publication: str) -> Holdings:
    """Reading checks the seal and the form of each record."""
    records = read_records(PUBLISHED / publication)
    by_name = {record.identifier: record for record in records}
    lines, changes = [], []
    for text in published_texts(publication):
        data = json.loads(text)
        lines.append(data["id"])
        changes += changed_by_reading(by_name[data["id"]], text, data)
    assert sorted(lines) == sorted(by_name), f"other records than the lines of {publication}"
    return Holdings(
        schemas=Counter(record.schema for record in records),
        seals=frozenset(record.content_sha256 for record in records),
        newest=frozenset(record.identifier for record in newest_by_key(records).values()),
        models=frozenset(Model.of(record.machine.plain()) for record in records),
        weights={
            (record.benchmark, record.implementation, record.seed): record.outputs.get(WEIGHTS)
            for record in records
            if record.profile == "full"
        },
        changes=changes,
    )


def weights(publication: str, benchmark: str, implementation: str) -> dict[int, str | None]:
    """The hash of each seed's weights."""
    found = {
        seed: digest
        for (*names, seed), digest in holdings(publication).weights.items()
        if names == [benchmark, implementation]
    }
    assert None not in found.values()
    return found


@pytest.mark.parametrize("publication", publications())
def test_every_published_record_has_the_seal_and_the_bytes_that_it_had(publication: str) -> None:
    assert holdings(publication).newest
    assert not holdings(publication).changes, f"reading results/published/{publication} does not keep these"


def test_the_first_publications_hold_every_record_as_it_was_sealed() -> None:
    folders = [name for name in FOLDERS if name <= LAST_BEFORE_PACKING]
    assert sum((holdings(name).schemas for name in folders), Counter()) == {1: 248, 2: 3914}
    seals = sorted(seal for name in folders for seal in holdings(name).seals)
    assert len(seals) == 4162
    assert hashlib.sha256("\n".join(seals).encode()).hexdigest() == SEALS


@pytest.mark.parametrize("folder", publications())
def test_a_publication_is_packed_and_names_its_cells_and_known_faults(folder: str) -> None:
    assert (PUBLISHED / folder / FACTS).is_file()
    assert not (PUBLISHED / folder / "records").is_dir()
    with (PUBLISHED / folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(holdings(folder).newest)
    assert {row["record"] for row in rows} == holdings(folder).newest
    facts = Publication.at(PUBLISHED / folder).facts
    assert facts["known_faults"] == [" ".join(text.split()) for text in KNOWN_FAULTS.get(folder, ())]


def test_a_known_fault_is_of_a_publication() -> None:
    assert set(KNOWN_FAULTS) <= set(FOLDERS)


def test_the_launches_that_were_left_out_of_a_publication_are_a_known_fault() -> None:
    assert any("TorchRL" in text for text in KNOWN_FAULTS["2026-11-23-ppo-libraries"])


# Of each training runs on two machines with AVX-512, and one on a machine without.
ON_THREE_MACHINES = [
    ("dqn", "2026-11-22-dqn-full", "2026-11-22-dqn-amd", "2026-11-22-avx2-full"),
    ("ppo", "2026-11-22-ppo-full", "2026-11-22-ppo-returns", "2026-11-22-avx2-full"),
    ("sac", "2026-11-22-sac-full", "2026-11-22-sac-returns", "2026-11-23-sac-avx2"),
]


@pytest.mark.parametrize(("benchmark", "one", "another", "without_avx512"), ON_THREE_MACHINES)
def test_trainings_in_rust_end_with_the_same_weights_on_other_machines(
    benchmark: str, one: str, another: str, without_avx512: str
) -> None:
    first, second, third = (weights(each, benchmark, "rust") for each in (one, another, without_avx512))
    assert sorted(first) == [1, 2, 3, 4, 5]
    assert first == third
    assert first == {seed: second[seed] for seed in first}


@pytest.mark.parametrize(("benchmark", "one", "another", "without_avx512"), ON_THREE_MACHINES)
def test_trainings_in_pytorch_end_with_the_same_weights_only_where_both_machines_have_avx512(
    benchmark: str, one: str, another: str, without_avx512: str
) -> None:
    first, second, third = (weights(each, benchmark, "pytorch") for each in (one, another, without_avx512))
    assert sorted(first) == [1, 2, 3, 4, 5]
    assert first == {seed: second[seed] for seed in first}
    assert [seed for seed in first if first[seed] == third[seed]] == []


def test_two_threads_end_with_the_weights_of_one() -> None:
    assert weights("2026-11-24-sac-threads", "sac-threads", "rust") == weights(
        "2026-11-24-dqn-sac", "sac", "rust"
    )


@pytest.mark.parametrize(
    ("benchmark", "before"), [("dqn", "2026-11-22-dqn-full"), ("sac", "2026-11-22-sac-full")]
)
def test_faster_kernels_end_with_the_weights_of_the_slower_ones(benchmark: str, before: str) -> None:
    faster = weights("2026-11-24-dqn-sac", benchmark, "rust")
    assert sorted(faster) == [1, 2, 3, 4, 5]
    assert faster == weights(before, benchmark, "rust")


@pytest.mark.parametrize("benchmark", ["dqn", "ppo"])
@pytest.mark.parametrize("implementation", ["rust", "pytorch", "pytorch-tuned"])
def test_trainings_that_are_held_to_avx2_end_as_on_a_machine_that_has_no_more(
    benchmark: str, implementation: str
) -> None:
    held = weights("2026-11-23-avx2-capped", benchmark, implementation)
    assert sorted(held) == [1, 2, 3, 4, 5]
    assert held == weights("2026-11-22-avx2-full", benchmark, implementation)


@pytest.mark.parametrize(("benchmark", "edge"), [("dqn", "edge"), ("ppo", "edge-ppo")])
def test_trainings_in_the_edge_image_end_as_in_the_other(benchmark: str, edge: str) -> None:
    assert weights("2026-11-23-edge", edge, "rust") == weights(
        f"2026-11-23-{benchmark}-libraries", benchmark, "rust"
    )


MACHINES = {
    row[0]: Model(*row[1:4]) for rows in PUBLISHED_README.tables() if rows[0][0] == "name" for row in rows[2:]
}


def test_every_publication_has_a_row() -> None:
    assert set(FOLDERS) == set(publications())


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_records_of_a_publication_are_of_the_machine_that_its_row_names(folder: str) -> None:
    assert holdings(folder).models == {MACHINES[name] for name in FOLDERS[folder]}
