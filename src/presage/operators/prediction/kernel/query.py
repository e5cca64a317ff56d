"""The tables of a query over predicted streams: columns, terms, windows. Sent to workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.operators.prediction.kernel.spec import AtLeast, Errors, JoinSpec, ValueTerm

TIME, SEQ, SOURCE, ORDINAL = "_t", "_seq", "_src", "_ord"
INSERT, DELETE = "insert", "delete"
TIMER = -1  # SEQ of rows that no event caused


@dataclass(frozen=True)
class Stream:
    """The columns of a predicted stream: one value, rate and threshold for each predicted attribute. `period`: how long
    a function holds at most, in microseconds; `limit`: how many tuples are kept at most, by which `policy`."""

    key: tuple[str, ...]
    value: tuple[str, ...]
    rate: tuple[str, ...]
    threshold: tuple[str, ...]
    period: int | None = None
    limit: int | None = None
    policy: str = "min-c"


@dataclass(frozen=True)
class Side:
    """One item of FROM. `stream`: its number. `identity`: columns that identify its objects, in addition to the key.
    `eligible`: a boolean column, the filter of updates. `terms`: conditions on its values alone. `shown`: attributes
    whose value at the beginning of a row is output."""

    stream: int
    identity: tuple[str, ...] = ()
    eligible: str | None = None
    terms: tuple[ValueTerm, ...] = ()
    shown: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A window join between two sides, by their numbers; the first is the lower."""

    left: int
    right: int
    spec: JoinSpec


@dataclass(frozen=True)
class PredictionTables:
    """`columns`: the output besides time and order: for each side key, identity and shown values, then the interval,
    the probability if there is one, with `boundary` the polygons of both times, and with `tentative` whether the row is
    inserted or deleted. `until`: the end of the query. `validate`: rows are cut at multiples of so many microseconds.
    `tentative`: rows are emitted as soon as they are foreseen. `seed`: for random evictions."""

    streams: tuple[Stream, ...]
    sides: tuple[Side, ...]
    pairs: tuple[Pair, ...] = ()
    errors: Errors = field(default_factory=Errors)
    at_least: AtLeast | None = None
    probability: bool = False
    until: int | None = None
    validate: int | None = None
    tentative: bool = False
    boundary: bool = False
    columns: tuple[str, ...] = ()
    seed: int = 0

    @property
    def mirrored(self) -> bool:
        """Whether (a, b) is a row exactly when (b, a) is, with the same columns: only one of them is computed."""
        return len(self.pairs) == 1 and self.pairs[0].spec.symmetric and self.sides[0] == self.sides[1]

    @property
    def chances_of_rows(self) -> bool:
        """Whether probabilities are computed for all items together when a row is complete: the chances of pairs depend
        on each other."""
        return self.probability and len(self.pairs) > 1

    @property
    def window(self) -> int:
        """How far back a value can still match."""
        return max([pair.spec.window for pair in self.pairs], default=0)
