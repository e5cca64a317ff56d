"""A standing statement as the journal keeps it: plain values in and out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from presage.live.spans import Place
from presage.live.states import Chain, chain_to_json, chains_from_json
from presage.model.catalog import Moment

RUNNING, STOPPED, FINISHED, FAILED = "running", "stopped", "finished", "failed"
READY, SUSPENDED, DUE, REOPENED = "ready", "suspended", "due", "reopened"  # what is known of open recalls
RESTARTS, IGNORED = "restarts", "ignored"  # what is counted of inference


@dataclass(frozen=True)
class Statement:
    """What is known of a statement. `place` is its own where it is not in step with the others.

    `to_skip`: rows that were published before its state was lost; it makes them again, and they are not published.
    """

    number: str
    name: str
    text: str  # with times for `now`
    since: Moment | None
    written: str = ""  # as the user wrote it
    place: Place | None = None
    status: str = RUNNING
    rows_in: int = 0
    rows_out: int = 0
    unknown_entities: int = 0
    to_skip: int = 0
    states: dict[str, Chain] = field(default_factory=dict)  # by shard and place in the plan
    shared: dict[str, str] = field(default_factory=dict)  # by shard: the family whose states its own are a part of
    partial: dict[str, int] = field(default_factory=dict)  # open partial matches, by shard and place as well
    recalls: dict[str, int] = field(default_factory=dict)  # its open recalls, by shard, place and what is counted
    inference: dict[str, int] = field(default_factory=dict)  # what its filters count, by shard, place and what it is
    made_to: int | None = None  # where rows come later than their time: up to when all have been made
    fingerprint: str = ""
    shards: int = 1
    error: str = ""
    started: int = 0  # wall time, microseconds
    changed: int = 0
    streams: list[str] = field(default_factory=list)  # that it reads; unknown where an older version deployed it
    retention: int | None = None  # microseconds for which its rows are kept; None: for ever
    removed: int = 0  # of its rows, the first ones, by retention

    @property
    def stands(self) -> bool:
        """Whether it goes on, or may go on once what stopped it is mended."""
        return self.status in (RUNNING, FAILED)

    @cached_property
    def only_counts(self) -> bool:
        """Whether a batch changes no more of it than what is counted, where all goes as usual: it is in step, and has
        nothing of its own."""
        return self.place is None and not (self.to_skip or self.recalls or self.states)

    def stands_like(self, other: Statement) -> bool:
        """Whether the other, the same statement after a batch, is planned as this one is: it differs in counts and in
        where its states lie, at most."""
        mine = self.status, self.place, self.to_skip, self.shared, self.recalls, self.made_to, bool(self.states)
        its = other.status, other.place, other.to_skip, other.shared, other.recalls, other.made_to, bool(other.states)
        return mine == its

    @property
    def state_size(self) -> int:
        return sum(ref.length for chain in self.states.values() for ref in chain)

    @property
    def partial_matches(self) -> int:
        return sum(self.partial.values())

    @property
    def particle_restarts(self) -> int:
        return sum(_counts(self.inference, RESTARTS))

    @property
    def readings_ignored(self) -> int:
        return sum(_counts(self.inference, IGNORED))

    @property
    def recalls_ready(self) -> int:
        return sum(_counts(self.recalls, READY))

    @property
    def recalls_suspended(self) -> int:
        return sum(_counts(self.recalls, SUSPENDED))

    @property
    def recalls_due(self) -> int | None:
        """By the wall clock: after this time one that waits for somebody is given up."""
        return min(_counts(self.recalls, DUE), default=None)

    @property
    def recalls_reopened(self) -> int | None:
        """The sequence number of the first open event that came late within the time of `made_to`."""
        return min(_counts(self.recalls, REOPENED), default=None)

    def to_json(self) -> dict[str, Any]:
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def change(self, **values: Any) -> tuple[Statement, dict[str, Any]]:
        """The statement with new values, and these values for the journal."""
        # A batch may change every statement: this is `replace` without a look at each field.
        changed = object.__new__(Statement)
        object.__setattr__(changed, "__dict__", self.__dict__ | values)
        changed.__dict__.pop("only_counts", None)  # it may be otherwise now
        return changed, {name: _plain(value) for name, value in values.items()}

    def count(self, what: str, more: int) -> None:
        """Add to `rows_in` or `rows_out`. The only thing that changes in place: a batch does it to thousands, and who
        reads a figure beside it gets that of before or of after."""
        self.__dict__[what] += more

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Statement:
        known = {f.name for f in fields(cls)}
        values = {name: value for name, value in content.items() if name in known}
        values["since"] = Moment.from_json(content.get("since"))
        values["place"] = None if content.get("place") is None else Place(**content["place"])
        values["states"] = chains_from_json(content.get("states", {}))
        return cls(**values)


def _counts(found: dict[str, int], what: str) -> list[int]:
    return [count for key, count in found.items() if key.endswith(f"/{what}")]


def _plain(value: Any) -> Any:
    if isinstance(value, Moment):
        return value.to_json()
    if isinstance(value, Place):
        return asdict(value)
    if isinstance(value, dict):  # the states, or names and numbers that go with them
        return {key: x if isinstance(x, int | str) else chain_to_json(x) for key, x in value.items()}
    return value
