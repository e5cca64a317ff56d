"""Tables that drive the window kernels: plain values made by `windows.compile`, shipped to the workers.

Every kernel reads an Arrow table whose rows are events in processing order, with columns
  TIME  int64, microseconds of event time          SEQ  int64, arrival
  zero or more further int64 order columns (`order`), for rows of derived streams that share one SEQ
and writes a table with the same columns for the rows it emits. A row that a timer emits has SEQ = TIMER.
"""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.windows.window_types import WindowType, window_type

TIME = "_t"
SEQ = "_seq"
PASS = "_pass"  # bool: the event satisfies WHERE; without the column every event does
SOURCE = "_src"  # int8: which item of FROM a row of a join's input belongs to
CHANGE = "_change"  # int8: +1 a tuple enters, -1 it leaves
ORDINAL = "_ord"  # int64: order among the rows that one step emits
ENDED = 1 << 62  # SEQ of a row that the end of its statement's input has made: after all events of the same time
# A key that many statements of one form add: the number of the statement. Their windows then run as one.
STATEMENT = "#statement"
SIZE = "_size"  # int64: the size of the window that an event is in, where statements of different sizes run as one
TIMER = -1  # sorts before every event of the same time: timers due at x fire before events with time x


@dataclass(frozen=True)
class Window:
    """One window of EPL. `size` is microseconds for time kinds, events for length kinds.

    `sizes`: a column with the size for each event, in place of `size`; equal for the events of one key, and for those
    that are aggregated together.
    """

    kind: str  # its name among `window_types`
    size: int = 0
    by: tuple[str, ...] = ()  # columns of unique(...) and firstunique(...)
    group: tuple[str, ...] = ()  # columns of groupwin(...): one such window for each value
    sizes: str = ""

    @property
    def is_batch(self) -> bool:
        return self.type.is_batch

    @property
    def type(self) -> WindowType:
        return window_type(self.kind)

    @property
    def key(self) -> tuple[str, ...]:
        """Columns whose values have a window each."""
        return self.type.key(self.group, self.by)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: function, argument column (None: count(*)), output column; `shown` is the argument for errors."""

    function: str  # its name among `presage.functions.aggregates`
    column: str | None
    output: str
    distinct: bool = False
    shown: str = ""
