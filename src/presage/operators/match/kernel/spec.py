"""The specification of a MATCH_RECOGNIZE: plain values that are shipped to executors.

Labels are the pattern's variables by number. A position is one occurrence of a variable in the pattern (bounded repeats
are expanded), so the automaton has no empty transitions: `follow` lists, in order of preference, the positions for the
row after one that was taken at a position, or that the match may end (ACCEPT).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from presage.model.calendar import moved_by_months

if TYPE_CHECKING:
    # Checking a query builds these tables and must not import the libraries that only running it needs.
    from presage.arrays.programs.code import Code

TIME, SEQ = "_t", "_seq"
STATEMENT = "#statement"  # a further key, where statements of one plan template run as one
TIMER = -1  # SEQ of a row that a timer completed
ENDED = 1 << 62  # SEQ of a row that the end of input completed: after all rows of events of its time
ACCEPT = -1
# The aggregates of DEFINE, in the order of their numbers: the search extends and shortens their values with a path.
SEARCHED = ("count", "sum", "avg", "min", "max", "stddev", "first", "last", "any_value", "max_by", "min_by")


@dataclass(frozen=True)
class Edge:
    """A transition to a position or to ACCEPT. `at_start`: only before the partition's first row (^); `at_end`: only
    after its last row ($)."""

    target: int
    at_start: bool = False
    at_end: bool = False


@dataclass(frozen=True)
class Automaton:
    """`labels[p]` and `excluded[p]` ({- -}) of each position; `first`: the edges of the start."""

    variables: tuple[str, ...]
    labels: tuple[int, ...]
    excluded: tuple[bool, ...]
    first: tuple[Edge, ...]
    follow: tuple[tuple[Edge, ...], ...]


@dataclass(frozen=True)
class Place:
    """A row, relative to a row of a match: FIRST or LAST of the rows with one of `labels` (None: any row of the match),
    `offset` rows after the first or before the last of them, then `moved` rows on in the partition (PREV: negative).

    RUNNING: only rows up to the current one; `final`: all rows of the match. In DEFINE the current row has its
    tentative label, and `final` does not occur. `current`: the row itself; then only `moved` applies.
    """

    labels: tuple[int, ...] | None = None
    first: bool = False
    offset: int = 0
    moved: int = 0
    final: bool = False
    current: bool = False


@dataclass(frozen=True)
class Fold:
    """An aggregate over the rows with one of `labels` (None: all rows of the match), RUNNING or FINAL.

    `columns` has the argument by label (a classifier in it makes it differ), or one name for all of them; empty for
    count(*). `by` is the second argument of max_by and min_by, in the same form. `program`, if not -1, computes a
    DOUBLE or LONG argument (see `bank`) for each row from `places`, where it refers to several variables.
    """

    function: str  # a registered aggregate, array_agg, any_value, max_by or min_by
    labels: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    final: bool = False
    distinct: bool = False
    program: int = -1
    places: tuple[Place, ...] = ()
    bank: int = 0
    shown: str = ""
    # Arguments after the others, equal for all rows. `shown` has them, and checkpoints keep a hash of the other fields.
    constants: tuple[object, ...] = field(default=(), repr=False)

    @property
    def column(self) -> str:
        return ", ".join(self.columns)


@dataclass(frozen=True)
class Condition:
    """DEFINE of a label; all parts that are present must be true (null is not true).

    `flag`: a boolean column, the part over the row alone. `nearby`: a program over rows around the current one:
    `places` are all `current`. `bound`: a program over the match so far. `asked`: the number of a condition that only
    the host can evaluate (see Oracle). GIVEN refers to the aggregates `folds`, then to the number of the label of each
    place in `classified` (-1: null), then to the match number, if the program uses it.
    """

    flag: str | None = None
    nearby: int = -1
    bound: int = -1
    asked: int = -1
    places: tuple[Place, ...] = ()
    folds: tuple[Fold, ...] = ()
    classified: tuple[Place, ...] = ()
    match_number: bool = False
    asked_columns: tuple[tuple[int, str], ...] = ()  # (place, column) of each argument of an asked condition
    text: str = ""  # the clause in the user's words, for errors


@dataclass(frozen=True)
class Measure:
    """One output column: a column at a place, the label there (`column` None), an aggregate, or the match number."""

    output: str
    place: Place | None = None
    column: str | None = None
    fold: Fold | None = None
    match_number: bool = False


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP: past_last, to_next, to_first, to_last (with `labels` and their name), to_current."""

    kind: str = "past_last"
    labels: tuple[int, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class MatchTables:
    """A MATCH_RECOGNIZE, with its programs by number.

    `keys` are partition columns, carried into the rows. `carry` are further columns of the row itself that ALL ROWS
    PER MATCH shows. `sort` are columns of ORDER BY with their direction (ascending), nulls first when ascending; empty:
    event time and arrival. `by_time`: `sort` begins with the event time. `rows`: one, all, all_omit (OMIT EMPTY
    MATCHES), all_unmatched. `within`, `gap`: microseconds, added to their calendar months. `held`: INTERVAL without
    OR TERMINATED. `whole`: each time (`_t`) of the input is a partition of its own that ends at once (a batch window).
    `event_time`: the time for `within` and `gap`; of a batch window the column with the events' own time, of an ORDER
    BY that does not begin with the event time its first column. `budget`: the limit of tests for one start row where
    conditions depend on the path.
    """

    automaton: Automaton
    conditions: tuple[Condition, ...]  # by label
    measures: tuple[Measure, ...]
    keys: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    sort: tuple[tuple[str, bool], ...] = ()
    by_time: bool = True
    rows: str = "one"
    skip: Skip = Skip()
    within: int | None = None
    within_months: int = 0
    gap: int | None = None
    gap_months: int = 0
    held: bool = False
    timeouts: bool = False
    timed_out: str = "_timed_out"  # BOOLEAN output column, only if `timeouts`
    whole: bool = False
    event_time: str = TIME
    budget: int = 10_000_000
    clause: str = "MATCH_RECOGNIZE"  # for errors
    # The time of an output row: its moment; if the end of input completed it, the time of the match's last row.
    shown_time: str | None = None
    # Order columns of the output after those of the input: the arrival of the match's last row if the end of input
    # completed it (else 0), that of its first row, and a number.
    placed: tuple[str, str, str] = ("_last", "_first", "_ord")

    def within_ends(self, first: int) -> int | None:
        """When WITHIN ends for a match that begins at `first`."""
        return None if self.within is None else moved_by_months(first, self.within_months) + self.within

    def gap_ends(self, last: int) -> int | None:
        """When GAP ends for a match whose last row is at `last`."""
        return None if self.gap is None else moved_by_months(last, self.gap_months) + self.gap


def no_code() -> Code:
    """No programs. A local import: checking a statement loads no data library."""
    from presage.arrays.programs.code import Code

    return Code()


@dataclass(frozen=True)
class MatchSpec(MatchTables):
    """A MATCH_RECOGNIZE with its programs: all that a kernel needs."""

    code: Code = field(default_factory=no_code, compare=False)
