"""A query over predicted streams as the kernel needs it: columns by name, terms, windows. Sent to workers."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.operators.prediction.kernel.spec import AtLeast, Errors, JoinSpec, ValueTerm

TIME, SEQ, SOURCE, ORDINAL = "_t", "_seq", "_src", "_ord"
INSERT, DELETE = "insert", "delete"
TIMER = -1  # SEQ of rows that are made by time alone


@dataclass(frozen=True)
class Stream:
    """The columns of a predicted stream's rows; one value, rate and threshold for each predicted attribute. `period`:
    the longest time that a function holds, in microseconds; `limit`: the most tuples that are kept, by which `policy`.
    """

    key: tuple[str, ...]
    value: tuple[str, ...]
    rate: tuple[str, ...]
    threshold: tuple[str, ...]
    period: int | None = None
    limit: int | None = None
    policy: str = "min-c"


@dataclass(frozen=True)
class Side:
    """One item of FROM. `stream`: its number. `told`: columns by whose values its objects are told apart, beside the
    key. `eligible`: a column of truth values, of the rows that count. `terms`: what its values alone must satisfy.
    `shown`: attributes whose value at the beginning of a row is shown."""

    stream: int
    told: tuple[str, ...] = ()
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
    """`columns`: names of the output beside time and order: of each side the key, what is told apart and what is shown,
    then from when to when, and the probability if it is asked for. `boundary`: after that, the
    polygons of both times. `until`: the query's end. `validate`: rows are cut
    at multiples of so many microseconds. `tentative`: rows are released as soon as they are foreseen, with a last
    column that says whether they are new or taken back. `seed`: of what is drawn."""

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
        """Whether (a, b) is a row exactly when (b, a) is, with the same said of both: one of them is enough."""
        return len(self.pairs) == 1 and self.pairs[0].spec.symmetric and self.sides[0] == self.sides[1]

    @property
    def chances_of_rows(self) -> bool:
        """Whether chances are found when a row is over, of all items together: those of pairs are no product."""
        return self.probability and len(self.pairs) > 1

    @property
    def window(self) -> int:
        """How far back a value can still matter."""
        return max([pair.spec.window for pair in self.pairs], default=0)
