"""The specification of an EPL pattern: plain values that are shipped to executors.

Terms are numbered; `nodes[0]` is the root and children have greater numbers than their parents. A tag names an event
(or, below a repeat, a list of events); tags are numbered as well.

Rows of the input are events, or views of events: two sources that both contain an event give two adjacent rows with
equal TIME, SEQ and order, which are one event. `SOURCE` is the number of the row's source; columns of other sources are
null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from presage.arrays.programs.code import Code

__all__ = ["Argument", "Listed", "Node", "PatternSpec", "PatternTables", "Period", "Shown"]

TIME, SEQ = "_t", "_seq"
SOURCE = "_src"  # int8
TIMER = -1
# A further key, the number of the statement, where statements of one plan template run as one.
STATEMENT = "#statement"


@dataclass(frozen=True)
class Argument:
    """The event that a place of LOAD refers to: that of a tag; of a repeated tag the one at `index`, from the end if
    negative (-1: the last). `tag` None: the event at hand (filters only). Null if there is no such event."""

    tag: int | None
    index: int | None = None


@dataclass(frozen=True)
class Period:
    """A span of time: calendar months, then microseconds, then `program` (seconds as DOUBLE or LONG, by `bank`)."""

    months: int = 0
    micros: int = 0
    program: int = -1
    bank: int = 0
    arguments: tuple[Argument, ...] = ()


@dataclass(frozen=True)
class Node:
    """One term of the pattern.

    kind        fields that are used
    filter      source, flag (boolean column: the right type, and the conditions over this event alone; None: every
                row of the source), program (over this event and tags; arguments), asked (the number of a condition that
                only the host can evaluate, with asked_columns), tag, consume (level, 0: none)
    followed    children in order; limits[i] bounds the open instances of child i + 1 (-1: none)
    and or      children
    not         one child
    every       one child
    distinct    one child; keys: (program, bank) over the child's tags; period (None: keys do not expire)
    until       children: repeated, then the ending one if any; low and high: constants or programs (-1: absent);
                lists: the tags below the repeated child
    within      one child; period; most (withinmax; -1: none)
    while       one child; program (over the child's match)
    interval    period
    """

    kind: str
    children: tuple[int, ...] = ()
    source: int = -1
    flag: str | None = None
    program: int = -1
    asked: int = -1
    asked_columns: tuple[tuple[int, str], ...] = ()  # (argument, column) of each argument of an asked condition
    arguments: tuple[Argument, ...] = ()
    tag: int = -1
    consume: int = 0
    limits: tuple[int, ...] = ()
    keys: tuple[tuple[int, int], ...] = ()
    period: Period | None = None
    most: int = -1
    low: int = -1
    high: int = -1
    low_program: int = -1
    high_program: int = -1
    lists: tuple[int, ...] = ()
    text: str = ""  # in the user's words, for errors and pictures


@dataclass(frozen=True)
class Listed:
    """A tag: its name, the source whose columns its events have, and whether it holds a list."""

    name: str
    source: int
    repeated: bool = False


@dataclass(frozen=True)
class Shown:
    """One output column: a column of a tag's event; of a repeated tag the event at `index` (-1: the last), or a list
    of all of them (`index` None)."""

    output: str
    tag: int
    column: str
    index: int | None = None


@dataclass(frozen=True)
class PatternTables:
    """A pattern, with its programs by number.

    `columns`: by source, the columns that conditions and output need. `keys`: columns that partition the pattern into
    one independent pattern per key, which starts with the first event of its key. `begin`: the time at which the
    pattern starts; None: with the first event. `discard`, `suppress`: @DiscardPartialsOnMatch,
    @SuppressOverlappingMatches. `most`: the limit of open partial matches; `most_bytes`: of the memory that they and
    the rows of a step take. `shared`: STATEMENT is the last of the keys, and a column of the output.
    """

    nodes: tuple[Node, ...]
    tags: tuple[Listed, ...]
    shown: tuple[Shown, ...]
    columns: tuple[tuple[str, ...], ...] = ()  # by source
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    begin: int | None = None
    discard: bool = False
    suppress: bool = False
    most: int = 1_000_000
    most_bytes: int = 2**31
    shared: bool = False
    ordinal: str = "_ord"  # order column of the output after those of the input: rows of one moment in order
    text: str = "PATTERN"


def no_code() -> Code:
    """No programs. A local import: checking a statement loads no data library."""
    from presage.arrays.programs.code import Code

    return Code()


@dataclass(frozen=True)
class PatternSpec(PatternTables):
    """A pattern with its programs: all that a kernel needs."""

    code: Code = field(default_factory=no_code, compare=False)
