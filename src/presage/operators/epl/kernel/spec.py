"""Tables of an EPL pattern: plain values made by `patterns.compile_pattern`, shipped to the workers.

Terms are numbered; `nodes[0]` is the root and children have greater numbers than their parents. A tag is a place for
an event (or, below a repeat, for a list of events); tags are numbered as well.

Rows of the input are events, or views of events: two sources that both contain an event give two rows with equal TIME,
SEQ and order, one after the other, and these are one event. `SOURCE` says whose columns a row has. Columns of a source
are null in the rows of other sources.
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
# A key that many statements of one form add: the number of the statement. Their patterns then run as one.
STATEMENT = "#statement"


@dataclass(frozen=True)
class Argument:
    """What a program's LOAD place refers to: the event of a tag; of a repeated tag the one at `index`, from the end if
    negative (-1: the last). `tag` None: the event at hand (filters only). Null where there is no such event."""

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

    kind        what counts
    filter      source, flag (boolean column: right type and all that the filter says of this event alone; None: every
                row of the source), program (over this event and tags; arguments), asked (as in match_spec.Condition,
                with asked_columns), tag, consume (level, 0: none)
    followed    children in order; limits[i] bounds the open instances of child i + 1 (-1: none)
    and or      children
    not         one child
    every       one child
    distinct    one child; keys: (program, bank) over the child's tags; period (None: keys are kept for ever)
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
    asked_columns: tuple[tuple[int, str], ...] = ()  # (argument, column) of what is asked
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
    """What a pattern says, with its programs by number.

    `columns` of each source are those that must be kept of an event (conditions and output need them). `keys`: columns
    by which the pattern falls apart into one pattern per key, each as if the others' events did not exist; the pattern
    starts for a key when its first event comes. `begin`: the time at which the pattern starts; None: with the first
    event. `discard`, `suppress`: @DiscardPartialsOnMatch, @SuppressOverlappingMatches. `most`: partial matches that
    may be open at a time, `most_bytes`: what they and the rows of a step may take; else an error with the limit's
    name. `shared`: STATEMENT is the last of the keys, and a column of the output.
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
    """No program at all. Imported here: checking a statement loads no data library."""
    from presage.arrays.programs.code import Code

    return Code()


@dataclass(frozen=True)
class PatternSpec(PatternTables):
    """Everything a kernel must know of one pattern: its tables and its programs."""

    code: Code = field(default_factory=no_code, compare=False)
