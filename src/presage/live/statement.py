"""The record of a deployed statement, as the journal keeps it.

Figures keep the names that `Deployment.status`, the metrics and the journal have for them, whichever operator counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from presage.live.input_range import InputPosition
from presage.live.state_files import Chain, chain_to_json, chains_from_json
from presage.model.catalog import Moment

RUNNING, STOPPED, FINISHED, FAILED = "running", "stopped", "finished", "failed"
READY, SUSPENDED, DUE, REOPENED = "ready", "suspended", "due", "reopened"  # counters of open events
RESTARTS, IGNORED = "restarts", "ignored"  # counters of inference
# Fields with another key in the journal.
_KEYS = {"own_position": "place", "output_watermark": "made_to", "open_events": "recalls", "counters": "inference"}
# Fields that the planner reads.
_PLANNED = ("status", "own_position", "to_skip", "shared", "open_events", "output_watermark")


@dataclass(frozen=True)
class Statement:
    """A deployed statement. `own_position` is set where it is not in step with the others.

    `to_skip`: rows that were published before its state was lost; they are recomputed, and not published again.
    """

    number: str
    name: str
    text: str  # with times for `now`
    since: Moment | None
    written: str = ""  # as the user wrote it
    own_position: InputPosition | None = None
    status: str = RUNNING
    rows_in: int = 0
    rows_out: int = 0
    unknown_entities: int = 0
    to_skip: int = 0
    states: dict[str, Chain] = field(default_factory=dict)  # by shard and place in the plan
    shared: dict[str, str] = field(default_factory=dict)  # by shard: the shared state that its own is a part of
    partial: dict[str, int] = field(default_factory=dict)  # open partial matches, by shard and place
    open_events: dict[str, int] = field(default_factory=dict)  # counters of open events, by shard, place and name
    counters: dict[str, int] = field(default_factory=dict)  # of operators, by shard, place and name
    output_watermark: int | None = None  # where rows lag behind their time: all up to here are emitted
    fingerprint: str = ""
    shards: int = 1
    error: str = ""
    started: int = 0  # wall time, microseconds
    changed: int = 0
    streams: list[str] = field(default_factory=list)  # that it reads; empty where an older version deployed it
    retention: int | None = None  # microseconds for which its rows are kept; None: for ever
    removed: int = 0  # how many of its first rows retention has removed

    @property
    def deployed(self) -> bool:
        """Whether it is running, or has failed and may be resumed."""
        return self.status in (RUNNING, FAILED)

    @cached_property
    def changes_only_counts(self) -> bool:
        """Whether a batch changes only its counters: it is in step, and has no state of its own."""
        return self.own_position is None and not (self.to_skip or self.open_events or self.states)

    def planned_like(self, other: Statement) -> bool:
        """Whether the other, the same statement after a batch, is planned alike: it differs at most in counters and in
        the location of its state."""
        alike = bool(self.states) == bool(other.states)
        return alike and all(getattr(self, name) == getattr(other, name) for name in _PLANNED)

    @property
    def state_size(self) -> int:
        return sum(ref.length for chain in self.states.values() for ref in chain)

    @property
    def partial_matches(self) -> int:
        return sum(self.partial.values())

    @property
    def particle_restarts(self) -> int:
        return sum(_counts(self.counters, RESTARTS))

    @property
    def readings_ignored(self) -> int:
        return sum(_counts(self.counters, IGNORED))

    @property
    def recalls_ready(self) -> int:
        return sum(_counts(self.open_events, READY))

    @property
    def recalls_suspended(self) -> int:
        return sum(_counts(self.open_events, SUSPENDED))

    @property
    def events_due(self) -> int | None:
        """Wall time after which a suspended event is given up."""
        return min(_counts(self.open_events, DUE), default=None)

    @property
    def events_reopened(self) -> int | None:
        """The sequence number of the first open event at exactly the time of `output_watermark`."""
        return min(_counts(self.open_events, REOPENED), default=None)

    def to_json(self) -> dict[str, Any]:
        return {_KEYS.get(f.name, f.name): _plain(getattr(self, f.name)) for f in fields(self)}

    def change(self, **values: Any) -> tuple[Statement, dict[str, Any]]:
        """The statement with new values, and these values for the journal."""
        # `dataclasses.replace` copies each field: too slow for a batch that changes every statement.
        changed = object.__new__(Statement)
        object.__setattr__(changed, "__dict__", self.__dict__ | values)
        changed.__dict__.pop("changes_only_counts", None)  # a cached property
        return changed, {_KEYS.get(name, name): _plain(value) for name, value in values.items()}

    def count(self, what: str, more: int) -> None:
        """Add to `rows_in` or `rows_out`. The only mutation, because a batch does it to thousands of statements. A
        concurrent reader sees the value before or after."""
        self.__dict__[what] += more

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Statement:
        keys = {_KEYS.get(f.name, f.name): f.name for f in fields(cls)}
        values = {keys[key]: value for key, value in content.items() if key in keys}
        values["since"] = Moment.from_json(content.get("since"))
        values["own_position"] = None if content.get("place") is None else InputPosition.from_json(content["place"])
        values["states"] = chains_from_json(content.get("states", {}))
        return cls(**values)


def _counts(counters: dict[str, int], what: str) -> list[int]:
    return [count for key, count in counters.items() if key.endswith(f"/{what}")]


def _plain(value: Any) -> Any:
    if isinstance(value, Moment | InputPosition):
        return value.to_json()
    if isinstance(value, dict):  # the states, or names and numbers that go with them
        return {key: x if isinstance(x, int | str) else chain_to_json(x) for key, x in value.items()}
    return value
