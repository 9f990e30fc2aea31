"""A publication is what its publication.json says: files, ledger, plans, nonces, signature."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import UnsetType

from runner.publishing.definitions import definitions_of
from runner.publishing.plans import Begun, keys_of, plans_of, records_of, touching
from runner.publishing.publish import hashes_in
from runner.publishing.signature import SIGNATURE, Trust, trust_in
from runner.records.ledger.file import read_ledger
from runner.records.publication import FACTS, Publication
from runner.records.record import Record
from runner.records.store import LEDGER
from runner.referee.nonce import draw
from runner.system.errors import DamagedRecord

# What publication.json holds of a publication that was made from a ledger.
_OF_PLANS = ("plans", "files", "flags", "older_records_outside", "definitions")
BEFORE = "was published before the referee: no ledger says what else was run, and nobody signed it"


@dataclass(frozen=True, kw_only=True)
class Nonces:
    """How many records have a nonce, and how many of these follow from a secret that a plan of the ledger gave."""

    all: int
    proved: int


def standing_of(publication: Publication, allowed: Path) -> tuple[str, ...]:
    """What can be said of a publication, after it was held to all that it says of itself.

    Args:
        publication: the publication.
        allowed: the file of the allowed signers.

    Raises:
        DamagedRecord: a file was altered, left out or added, or the signature is of other content.
        DamagedLedger: its ledger is not intact.
    """
    name = publication.facts["name"]
    missing = [key for key in _OF_PLANS if key not in publication.facts]
    if len(missing) == len(_OF_PLANS) and _is_of_before(publication):
        return (f"{name} {BEFORE}",)
    if missing:
        raise _damaged(publication, f"{FACTS} lacks {', '.join(missing)}")
    _require_files(publication)
    records = publication.records()
    plans = plans_of(read_ledger(publication.root / LEDGER).lines)
    _require_plans(publication, plans, records)
    if publication.facts["definitions"] != definitions_of(records):
        raise _damaged(publication, "the definitions that it states are not those of its records")
    nonces = nonces_of(records, plans)
    lines = [
        f"{name}: all files, records ({len(records)}) and plans ({len(publication.facts['plans'])}) are as published",
        _signed(publication, allowed),
    ]
    if nonces.all:
        lines.append(f"{nonces.proved} of {nonces.all} nonces follow from the secret of a plan in its ledger")
    open_plans = [plan["plan"] for plan in publication.facts["plans"] if plan["ended"] is None]
    if open_plans:
        lines.append(f"not closed: {', '.join(open_plans)}")
    lines += [f"taken on a loaded machine: {flag}" for flag in publication.facts["flags"]]
    return tuple(lines)


def _is_of_before(publication: Publication) -> bool:
    """Whether it is older than the referee: without a ledger, a signature and a record that a referee led."""
    later = any((publication.root / name).exists() for name in (LEDGER, SIGNATURE))
    return not later and not any(record.referee for record in publication.records())


def _require_files(publication: Publication) -> None:
    stated, found = publication.facts["files"], hashes_in(publication.root)
    wrong = sorted(name for name in stated.keys() | found.keys() if stated.get(name) != found.get(name))
    if wrong:
        raise _damaged(publication, f"altered, left out or added: {', '.join(wrong[:5])}")


def _require_plans(publication: Publication, plans: Sequence[Begun], records: Sequence[Record]) -> None:
    """See that each plan of the ledger for these cells is listed, and that no record of its launches is left out."""
    own = [plan for plan in plans if plan.line.commit == publication.facts["commit"]]
    keys = keys_of(own)
    listed = touching(plans, keys)
    if [plan.facts() for plan in listed] != publication.facts["plans"]:
        raise _damaged(publication, "the plans that it lists are not those of its ledger")
    if records_of(listed, keys).keys() != {record.content_sha256 for record in records}:
        raise _damaged(publication, "its records are not those that the launches of its ledger gave")


def nonces_of(records: Iterable[Record], plans: Iterable[Begun]) -> Nonces:
    """How far the nonces of the records follow from the secrets of the plans that ended."""
    secrets = [bytes.fromhex(plan.end.opening) for plan in plans if plan.end is not None]
    refereed = [record for record in records if record.referee]
    return Nonces(all=len(refereed), proved=sum(_follows(record, secrets) for record in refereed))


def _follows(record: Record, secrets: Iterable[bytes]) -> bool:
    """Whether the record's nonce follows from one of the secrets. A competitor has that of its reference's plan."""
    work, referee = record.work, record.referee
    if isinstance(work, UnsetType) or isinstance(referee, UnsetType):
        return False
    return any(
        draw(secret, benchmark=record.benchmark, case=record.case, seed=work.reference.seed).nonce
        == referee.nonce
        for secret in secrets
    )


def _signed(publication: Publication, allowed: Path) -> str:
    trust, what = trust_in(publication.root, allowed)
    match trust:
        case Trust.UNSIGNED:
            return "it is unsigned"
        case Trust.SIGNED:
            return f"it is signed by {what}"
        case Trust.NOT_ALLOWED:
            return f"its signer is no allowed signer of {allowed.name}: {what}"
        case Trust.UNCHECKED:
            return f"its signature was not checked: {what}"
        case Trust.ALTERED:
            raise _damaged(publication, f"the signature {SIGNATURE} does not fit: {what}")


def _damaged(publication: Publication, why: str) -> DamagedRecord:
    return DamagedRecord(
        what=f"damaged publication {publication.root}",
        why=why,
        fix="fetch the publication again from its source; no part of it may be edited",
    )
