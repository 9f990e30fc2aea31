"""What a publication is made of: every launch of every plan that was begun on a store for its cells."""

from collections.abc import Mapping
from dataclasses import dataclass

from runner.publishing.plans import Begun, keys_of, plans_of, records_of, touching
from runner.records.ledger.file import ledger_of
from runner.records.record import Record
from runner.records.store import Store, newest_by_key
from runner.system.errors import NotPublishable


@dataclass(frozen=True, kw_only=True)
class Material:
    """Plans and records for one publication.

    Attributes:
        own: the plans of the commit that is published; they decide which cells it has.
        plans: all plans that were to run one of these cells, of other commits too.
        records: the records of all launches of these plans that had one of these cells, oldest first.
        made_by: the plan of each record, by the record's content hash.
        lost: those of them that the store lacks.
        outside: the newest records of cells that no whole launch of the ledger gave.
        older_outside: how many older records none gave. They are no part of the publication.
    """

    own: tuple[Begun, ...]
    plans: tuple[Begun, ...]
    records: tuple[Record, ...]
    made_by: Mapping[str, Begun]
    lost: Mapping[str, Begun]
    outside: tuple[Record, ...]
    older_outside: int

    @property
    def keys(self) -> frozenset[str]:
        """The content keys of the cells."""
        return keys_of(self.own)

    @property
    def newest(self) -> tuple[Record, ...]:
        """The record of each cell that counts. A launch of another commit may have had other cells as well."""
        keys = self.keys
        return tuple(record for key, record in newest_by_key(self.records).items() if key in keys)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that its pages are of."""
        return tuple(sorted({plan.line.profile for plan in self.own}))

    def plan_of(self, record: Record) -> Begun:
        """The plan that a record is of."""
        return self.made_by[record.content_sha256]


def material_of(store: Store, ledger: bytes, *, commit: str) -> Material:
    """What the store holds for a publication of this commit.

    Args:
        store: with the records.
        ledger: its text. It is read once, because another run may write to it meanwhile.
        commit: of the plans that are published.

    Raises:
        NotPublishable: no plan of this commit was begun on the store.
        DamagedLedger, StoreError: the store is not intact.
    """
    every = plans_of(ledger_of(store.ledger_path, ledger).lines)
    own = tuple(plan for plan in every if plan.line.commit == commit)
    if not own:
        raise NotPublishable(
            what=f"no plan of commit {commit[:12]} was begun in {store.root}",
            why=f"its ledger holds {len(every)} plans, none of them of this commit",
            fix="check out the commit that was run, or run here first: a publication is made at its own commit",
        )
    keys = keys_of(own)
    plans = touching(every, keys)
    named = records_of(plans, keys)
    stored = store.records()
    held = {record.content_sha256 for record in stored}
    newest = newest_by_key(stored)
    outside = [record for record in stored if record.key in keys and record.content_sha256 not in named]
    of_newest = [record for record in outside if newest[record.key] is record]
    return Material(
        own=own,
        plans=plans,
        records=tuple(record for record in stored if record.content_sha256 in named),
        made_by=named,
        lost={seal: plan for seal, plan in named.items() if seal not in held},
        outside=tuple(of_newest),
        older_outside=len(outside) - len(of_newest),
    )
