"""Which returns a publication decided, for pages whose own seeds are too few.

``decided.json`` says it. ``python -m tools.decided_returns`` makes that file from the records of the publications, so a
page still holds nothing that no record says.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from runner.matrix import Benchmark

FILE = Path(__file__).parent / "decided.json"


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict on an implementation's returns beside the reference's.

    Attributes:
        benchmark: the training.
        case: its case.
        implementation: what was held against the reference.
        reference: the reference's name.
        parameters: the case's with the sizes of the profile.
        margin: the largest difference of two means that does not matter.
        seeds: of the side that has fewer.
        verdict: as the page of the publication says it.
        profile: the profile of that page.
        publication: the folder's name.
    """

    benchmark: str
    case: str
    implementation: str
    reference: str
    parameters: Mapping[str, bool | int | float | str]
    margin: float
    seeds: int
    verdict: str
    profile: str
    publication: str

    @property
    def page(self) -> str:
        """The place of its page below the folder of all publications."""
        return f"{self.publication}/tables/{self.profile}/{self.benchmark}.md#the-same-returns"


def decided(benchmark: Benchmark) -> Iterator[Decided]:
    """The verdicts on a benchmark as it is defined now: by the same sizes, reference and rule."""
    for each in _all():
        implementation = benchmark.implementations.get(each.implementation)
        if each.benchmark == benchmark.name and implementation is not None and _is_of(each, benchmark):
            yield each


def _is_of(found: Decided, benchmark: Benchmark) -> bool:
    case, sizes = benchmark.cases.get(found.case), benchmark.sizes.get(found.profile)
    rule = benchmark.returns.equivalence.get(found.case) if benchmark.returns else None
    return (
        case is not None
        and sizes is not None
        and rule is not None
        and found.reference == benchmark.reference.name
        and found.parameters == {**case.parameters, **sizes.native}
        and found.margin == rule.margin
        and found.seeds >= rule.seeds
    )


@cache
def _all() -> tuple[Decided, ...]:
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Decided, ...])
