"""Tables that drive the window kernels: plain values that `windows.compile` builds and workers receive.

Every kernel reads an Arrow table whose rows are events in processing order, with the columns
  TIME  int64, microseconds of event time          SEQ  int64, arrival
  zero or more further int64 order columns (`order`), for rows of derived streams that share one SEQ
and emits a table with the same columns. A row that a timer emits has SEQ = TIMER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from presage.operators.windows.window_types import WindowType, window_type

if TYPE_CHECKING:
    from presage.arrays.columns import Universe
    from presage.arrays.jit import Ints

TIME = "_t"
SEQ = "_seq"
PASS = "_pass"  # bool: the event satisfies WHERE; without the column every event does
SOURCE = "_src"  # int8: which item of FROM a row of a join's input belongs to
CHANGE = "_change"  # int8: +1 a tuple enters, -1 it leaves
ORDINAL = "_ord"  # int64: order among the rows that one step emits
ENDED = 1 << 62  # SEQ of a row that the end of input emits: after all events of the same time
# The number of the statement: a further key where statements of one template share an execution.
STATEMENT = "#statement"
SIZE = "_size"  # int64: the size of an event's window, where statements of different sizes share an execution
TIMER = -1  # sorts before every event of the same time: timers due at x fire before events with time x


@dataclass(frozen=True)
class Window:
    """One window of EPL. `size` is in microseconds or events.

    `sizes` names a column with the size for each event, in place of `size`. It is equal for the events of one key, and
    for those that are aggregated together.
    """

    kind: str  # its name among `window_types`
    size: int = 0
    by: tuple[str, ...] = ()  # columns of unique(...), firstunique(...) and session(..., ...)
    group: tuple[str, ...] = ()  # columns of groupwin(...): one such window for each value
    sizes: str = ""
    offset: int = 0  # of #tumble
    slide: int = 0  # of #hop

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

    @property
    def size_columns(self) -> tuple[str, ...]:
        return (self.sizes,) if self.sizes else ()

    def sizes_of(self, events: Universe) -> int | Ints:
        """One size, or that of each event where statements of different sizes share an execution."""
        if self.sizes:
            sizes: Ints = events.column(self.sizes).to_numpy(zero_copy_only=False).astype("int64", copy=False)
            return sizes
        return self.size if self.type.is_sized else self.type.events


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: function, argument column (None: count(*)), output column; `shown` is the argument for errors."""

    function: str  # its name among `presage.functions.aggregates`
    column: str | None
    output: str
    distinct: bool = False
    shown: str = ""
    constants: tuple[object, ...] = ()
