"""The ledger of a run: the plan first, each launch after it ended, and the secret at the end.

A run that is interrupted or killed writes no end. Its plan then stays open for good, and its secret is lost.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from runner.planning.planned import Decision, Launch, Plan
from runner.records.image import ImageFacts
from runner.records.ledger.file import append, read_ledger
from runner.records.ledger.lines import EndLine, ImagesLine, LaunchLine, PlanLine, PlannedLaunch
from runner.records.record import Record
from runner.running.occasion import Occasion
from runner.system.errors import ForgeBenchError
from runner.system.printable import one_line
from runner.system.privacy import without_host
from runner.system.space import typed_refusals

_LONGEST = 400


# Writes down how a launch ended: with why there are no more records, or None where each cell has one.
Keep = Callable[[Launch, "LaunchBook", str | None], None]


@dataclass
class LaunchBook:
    """One launch: its identifier once it has one, and the records that it gave so far."""

    launch: Launch
    keep: Keep
    name: str | None = None
    records: list[Record] = field(default_factory=list)
    _written: bool = field(default=False, init=False)

    def write(self, *, void: str | None = None) -> None:
        """The launch ended, and its records are stored. ``void`` is why there are no more of them."""
        if not self._written:
            self.keep(self.launch, self, void)
            self._written = True


@dataclass(frozen=True, kw_only=True)
class Book:
    """Where a run writes down how each launch ended."""

    keep: Keep

    @contextlib.contextmanager
    def launch(self, launch: Launch) -> Iterator[LaunchBook]:
        """Around one launch. A launch that is given up is written too, with the reason."""
        book = LaunchBook(launch, self.keep)
        try:
            yield book
        except BaseException as error:
            # The caller hears of this error, even where nothing can be written any more.
            with contextlib.suppress(ForgeBenchError):
                book.write(void=reason_of(error))
            raise


@dataclass(frozen=True, kw_only=True)
class BookOfPlan(Book):
    """Where a run also writes down which images it prepared after its first launches."""

    prepared: Callable[[Sequence[ImageFacts]], None]


@dataclass(frozen=True, kw_only=True)
class LedgerOfPlan:
    """A store's ledger, for one plan."""

    path: Path
    plan: str

    def launched(
        self,
        keys: tuple[str, ...],
        *,
        name: str | None = None,
        records: Sequence[Record] = (),
        void: str | None = None,
    ) -> None:
        """Append the line of a launch of these cells."""
        append(
            self.path,
            lambda previous, time: LaunchLine(
                previous=previous,
                time=time,
                plan=self.plan,
                launch=name,
                keys=keys,
                records=tuple(record.content_sha256 for record in records),
                failures={
                    record.key: record.failure.kind for record in records if record.failure is not None
                },
                void=None if void is None else one_line(without_host(void), _LONGEST),
            ),
        )

    def prepared(self, images: Sequence[ImageFacts]) -> None:
        """Append the line of images that were prepared since the plan began."""
        append(
            self.path,
            lambda previous, time: ImagesLine(
                previous=previous, time=time, plan=self.plan, images=tuple(dict.fromkeys(images))
            ),
        )

    @contextlib.contextmanager
    def ending(self, secret: bytes) -> Iterator[None]:
        """Write behind the block that the plan ended. An interrupted plan has no end."""
        try:
            with typed_refusals():
                yield
        except ForgeBenchError as error:
            with contextlib.suppress(ForgeBenchError):
                self._end(error, secret)
            raise
        self._end(None, secret)

    def _end(self, error: ForgeBenchError | None, secret: bytes) -> None:
        append(
            self.path,
            lambda previous, time: EndLine(
                previous=previous,
                time=time,
                plan=self.plan,
                outcome="done" if error is None else "stopped",
                why=None if error is None else reason_of(error),
                opening=secret.hex(),
            ),
        )


@contextlib.contextmanager
def book_of(
    plan: Plan,
    *,
    ledger: Path,
    executor: str,
    images: Iterable[ImageFacts],
    secret: bytes,
    occasion: Occasion,
    say: Callable[[str], None],
) -> Iterator[BookOfPlan]:
    """Write that a plan begins, and behind the block that it ended.

    Raises:
        DamagedLedger: the ledger is not intact.
        NoSpace, StoreError: it cannot be written.
    """
    begun = begin(
        plan, ledger=ledger, executor=executor, images=images, secret=secret, occasion=occasion, say=say
    )

    def keep(launch: Launch, book: LaunchBook, void: str | None) -> None:
        begun.launched(_keys(launch), name=book.name, records=book.records, void=void)

    with begun.ending(secret):
        yield BookOfPlan(keep=keep, prepared=begun.prepared)


def begin(
    plan: Plan,
    *,
    ledger: Path,
    executor: str,
    images: Iterable[ImageFacts],
    secret: bytes,
    occasion: Occasion,
    say: Callable[[str], None],
) -> LedgerOfPlan:
    """Write that a plan begins.

    Raises:
        DamagedLedger: the ledger is not intact.
        NoSpace, StoreError: it cannot be written.
    """
    read_ledger(ledger)
    now = datetime.now(UTC)
    book = LedgerOfPlan(path=ledger, plan=f"{now:%Y%m%dT%H%M%SZ}-{uuid4().hex[:8]}")
    append(
        ledger,
        lambda previous, time: PlanLine(
            previous=previous,
            time=time,
            plan=book.plan,
            version=occasion.version,
            commit=occasion.commit,
            dirty=occasion.dirty,
            matrix_sha256=occasion.matrix_sha256,
            secret_sha256=hashlib.sha256(secret).hexdigest(),
            profile=plan.profile,
            executor=executor,
            options=dict(occasion.options),
            images=tuple(dict.fromkeys(images)),
            launches=tuple(PlannedLaunch(name=str(each), keys=_keys(each)) for each in plan.launches),
            reused=sum(each.decision is Decision.REUSE for each in plan.cells),
        ),
        say=say,
    )
    return book


def _keys(launch: Launch) -> tuple[str, ...]:
    return tuple(each.key for each in launch.cells)


def reason_of(error: BaseException) -> str:
    """Why a launch or a plan was given up, as its line says it."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return one_line(without_host(f"{type(error).__name__}: {getattr(error, 'what', error)}"), _LONGEST)
