"""The record: a measurement plus where it came from. The stored unit, never edited."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# 2 added the work and launch.cases: what it takes to run the cell again without the matrix.
SCHEMA_VERSION = 2
SCHEMA = Path(__file__).parents[1] / "schemas" / "record.schema.json"


@dataclass(frozen=True, kw_only=True)
class Record:
    """A view over one stored record. ``data`` is exactly what the file holds (see record.schema.json)."""

    data: Mapping[str, Any]

    @property
    def identifier(self) -> str:
        """The name that the record is stored under: time, then the start of its content key."""
        return str(self.data["id"])

    @property
    def key(self) -> str:
        """The content key: what was executed, with what, on what."""
        return str(self.data["key"])

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return str(self.data["cell"]["benchmark"])

    @property
    def case(self) -> str:
        """The case's name."""
        return str(self.data["cell"]["case"])

    @property
    def implementation(self) -> str:
        """The implementation's name."""
        return str(self.data["cell"]["implementation"])

    @property
    def platform(self) -> str:
        """The platform's name."""
        return str(self.data["cell"]["platform"])

    @property
    def seed(self) -> int:
        """The seed; for operations the process replicate."""
        return int(self.data["cell"]["seed"])

    @property
    def failed(self) -> bool:
        """Whether the cell failed, for whatever reason."""
        return self.data["failure"] is not None

    @property
    def ranked(self) -> bool:
        """Whether its times may be compared with others: native, its gate passed, and of the same work."""
        return not self.failed and self.data["execution"]["kind"] == "native" and not self.differs

    @property
    def differs(self) -> tuple[str, ...]:
        """What its implementation does another way than the reference, in words."""
        return tuple(self.data.get("work", {}).get("differs", ()))

    def values(self, metric: str) -> tuple[float, ...]:
        """All values of a metric, one per repetition, in the order taken; empty where it is absent."""
        measurement = self.data["measurement"]
        value = measurement["metrics"].get(metric) if measurement else None
        if value is None:
            return ()
        return tuple(value) if isinstance(value, list) else (float(value),)

    @property
    def episodes(self) -> tuple[Mapping[str, Any], ...]:
        """Every episode as ``{"step", "length", "return"}``; empty for operations."""
        return tuple(self.data["episodes"] or ())


def canonical_json(value: Any) -> bytes:
    """``value`` in the one way of writing that hashes are taken over: sorted keys, no spaces, no NaN, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode()


def content_hash(value: Any) -> str:
    """SHA-256 over the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def seal(data: Mapping[str, Any]) -> dict[str, Any]:
    """``data`` with the hash of its own content added, by which an altered record is found."""
    return {**data, "content_sha256": content_hash(dict(data))}


def is_intact(data: Mapping[str, Any]) -> bool:
    """Whether the record still holds what was sealed."""
    rest = {key: value for key, value in data.items() if key != "content_sha256"}
    return data.get("content_sha256") == content_hash(rest)
