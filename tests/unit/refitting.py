"""Make an altered record agree with itself again, as a launch that was so would have been recorded."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.records.key import key_of
from runner.records.record import record_of, seal
from runner.records.verdicts import times_verdict

_DIGEST = "sha256:" + "1" * 64


def refitted(data: dict[str, Any]) -> dict[str, Any]:
    """The record, sealed, whose key, names, dates, limits, image and words on times follow from its other fields."""
    data = copy.deepcopy({key: value for key, value in data.items() if key != "content_sha256"})
    launch, work = data["launch"], data.get("work")
    _fit_image(data, work)
    if work:
        launch["limits"].update({name: work["limits"][name] for name in ("memory_bytes", "pids", "threads")})
        record = record_of(seal(data))
        data["key"] = key_of(record, record.work) if record.work else data["key"]
    cell = data["cell"]
    start = f"{cell['benchmark']}-{cell['implementation']}-{cell['platform']}-s{cell['seed']}-"
    launch["id"] = launch["id"] if launch["id"].startswith(start) else f"{start}{data['key'][:8]}"
    started = datetime.fromisoformat(launch["started_at"]).astimezone(UTC)
    data["id"] = f"{started:%Y%m%dT%H%M%S%fZ}-{data['key'][:16]}"
    ended = started + timedelta(seconds=launch["wall_seconds"])
    if not ended <= datetime.fromisoformat(data["created_at"]) <= ended + timedelta(hours=1):
        data["created_at"] = (ended + timedelta(seconds=0.5)).isoformat()
    for check in data["gate"]:
        if check["check"] == "times":
            headline = work["headline"] if work else next(iter(data["measurement"]["metrics"]))
            found = times_verdict(
                headline,
                data["measurement"]["metrics"],
                data["parameters"],
                wall_seconds=launch["wall_seconds"],
            )
            check.update(passed=found.passed, detail=found.detail)
    return seal(json.loads(json.dumps(data)))


def _fit_image(data: dict[str, Any], work: dict[str, Any] | None) -> None:
    docker, image = data["launch"]["executor"] == "docker", data["image"]
    image["config_digest"] = (image["config_digest"] or _DIGEST) if docker else None
    if work and docker:
        image["target"] = work["target"]
    if work and work["target"] == "core":
        work["core"] = dict(image)
    elif work:
        work["core"].update(config_digest=image["config_digest"], architecture=image["architecture"])
