"""The windows of the language, one class each, and the table in which an extension registers its own.

A class defines how a window is written, what it holds in words, and how long an event stays; no other module names it.
The kernels implement six retentions and call the class for the rest. Arrays are typed as Any, so that checking a query
loads no data library.
"""

from __future__ import annotations

from typing import Any

from presage.functions.extension import calling_module, own_name
from presage.model.time import format_duration

# The argument of a window.
NOTHING, DURATION, EVENTS, KEYS = "no argument", "a duration", "a number of events", "an expression"
# What may follow a duration: one more duration that may be left out, one that may not, keys.
OFFSET, SLIDE = "an offset", "a slide"
# Retentions, how long an event stays: for ever; for ever, if it is the first of its key; until time has passed; until
# enough later events of its key have arrived; until its batch and the next one have closed, by a timer or by an event;
# until the spans that it is in have ended; until its session has ended.
FOREVER, FIRST, TIME, COUNT, TIME_BATCH, COUNT_BATCH, SPANS, SESSION = range(8)
# The column with the start of a session, in microseconds.
START = "_start"


class WindowType:
    """The base of all windows: one object of a subclass is registered for each."""

    name: str
    says: str  # the line of documentation
    spellings: tuple[str, ...] = ()  # older names of EPL
    takes = NOTHING
    example = "sym"  # of the argument
    then = ""  # what may follow the argument
    retention = FOREVER
    # Its rows are emitted at its end and have window_start and window_end; the end of input closes the open one.
    has_bounds = False
    events = 1  # COUNT without a number: the event leaves when so many later events of its key have arrived

    @property
    def is_batch(self) -> bool:
        """Rows are emitted when a batch, a span or a session closes."""
        return self.closes_by_timer or self.retention == COUNT_BATCH

    @property
    def closes_by_timer(self) -> bool:
        return self.retention in (TIME_BATCH, SPANS, SESSION)

    @property
    def is_sized(self) -> bool:
        return self.takes in (DURATION, EVENTS)

    @property
    def time_only(self) -> bool:
        """An event's stay does not depend on other events: filters and partition keys pass through."""
        return self.retention in (FOREVER, TIME)

    @property
    def span_of_time(self) -> bool:
        """It holds the events of the last so many microseconds."""
        return self.retention == TIME and self.takes == DURATION and not self.bends_time

    @property
    def bends_time(self) -> bool:
        """It slides by time, but not by a fixed duration: stored events cannot be selected by it."""
        return self.retention == TIME and type(self).place is not WindowType.place

    def key(self, group: tuple[Any, ...], by: tuple[Any, ...]) -> tuple[Any, ...]:
        """The keys that divide it into independent windows. A window that depends only on time needs none."""
        return () if self.time_only else (*group, *by)

    def arguments(self, size: int, by: str) -> str:
        """The arguments as text; `by` are the keys."""
        return {DURATION: format_duration(size), EVENTS: str(size), KEYS: by}.get(self.takes, "")

    def holds(self, size: int, by: str) -> str:
        """What it holds, in words, for EXPLAIN."""
        return "every event"

    # -- called by the kernels, with arrays of times in microseconds ----------------------------------

    def place(self, time: Any) -> Any:
        """TIME: an event leaves when the place of the watermark is its size (or 1) further on."""
        return time

    def leaves(self, time: Any, size: Any) -> Any:
        """TIME: when an event of each time leaves."""
        return time + size

    def closes(self, time: Any, origin: Any, size: Any) -> Any:
        """TIME_BATCH: when the batch of each time closes; `origin` is the time of the first event of its key, or the
        offset if it has bounds."""
        return origin + ((time - origin) // size + 1) * size


class NoWindow(WindowType):
    name = "none"
    says = ""


class KeepAll(WindowType):
    name = "keepall"
    says = "everything so far"


class Time(WindowType):
    name = "time"
    says = "the events of the last *d*: after *t* − *d*, up to *t*"
    takes, example = DURATION, "5 min"
    retention = TIME

    def holds(self, size: int, by: str) -> str:
        return f"the events of the last {format_duration(size)}"


class TimeBatch(WindowType):
    name = "time_batch"
    says = "the events of one interval of length *d*; the first interval starts at the first event"
    spellings: tuple[str, ...] = ("timebatch",)
    takes, example = DURATION, "5 min"
    retention = TIME_BATCH

    def holds(self, size: int, by: str) -> str:
        return f"the events of the open batch of {format_duration(size)}"


class Tumble(TimeBatch):
    name = "tumble"
    says = "the events of one interval of length *d*, aligned to the epoch, or to an offset after it"
    spellings = ()
    then = OFFSET
    has_bounds = True

    def holds(self, size: int, by: str) -> str:
        return f"the events of the open span of {format_duration(size)}"


class Hop(WindowType):
    name = "hop"
    says = "the events of spans *d* that overlap: `#hop(d, slide)` starts one every *slide*, from the epoch on"
    takes, example, then = DURATION, "5 min, 1 min", SLIDE
    retention = SPANS
    has_bounds = True

    def holds(self, size: int, by: str) -> str:
        return f"the events of the last {format_duration(size)}"


class Session(WindowType):
    name = "session"
    says = "the events up to a pause of *d*; `#session(d, key, …)` has sessions for each key"
    takes, example, then = DURATION, "10 min", KEYS
    retention = SESSION
    has_bounds = True

    def key(self, group: tuple[Any, ...], by: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*by, *group)

    def holds(self, size: int, by: str) -> str:
        each = f" of each value of [{by}]" if by else ""
        return f"the events of the open session{each}"


class Length(WindowType):
    name = "length"
    says = "the last *n* events"
    takes, example = EVENTS, "10"
    retention = COUNT

    def holds(self, size: int, by: str) -> str:
        return f"the last {size} events"


class LengthBatch(WindowType):
    name = "length_batch"
    says = "*n* events, then the next *n*"
    spellings = ("lengthbatch",)
    takes, example = EVENTS, "10"
    retention = COUNT_BATCH

    def holds(self, size: int, by: str) -> str:
        return f"at most {size} events of the open batch"


class Unique(WindowType):
    name = "unique"
    says = "the last event of each value"
    takes = KEYS
    retention = COUNT

    def holds(self, size: int, by: str) -> str:
        return f"one event for each value of [{by}]"


class FirstUnique(Unique):
    name = "firstunique"
    says = "the first event of each value"
    spellings = ("first_unique",)
    retention = FIRST


class LastEvent(WindowType):
    name = "lastevent"
    says = "the last event"
    spellings = ("last_event",)
    retention = COUNT

    def holds(self, size: int, by: str) -> str:
        return "one event"


_TABLE: dict[str, WindowType] = {}
SPELLINGS: dict[str, str] = {}


def register_window(window: WindowType) -> WindowType:
    """Add a window, which statements can use from then on."""
    window.name = own_name(window.name, calling_module(), (each.name for each in _TABLE.values()))
    _TABLE[window.name] = window
    SPELLINGS.update((spelling, window.name) for spelling in window.spellings)
    return window


for _window in (
    Time,
    TimeBatch,
    Tumble,
    Hop,
    Session,
    Length,
    LengthBatch,
    Unique,
    FirstUnique,
    KeepAll,
    LastEvent,
    NoWindow,
):
    register_window(_window())


def window_type(name: str) -> WindowType:
    return _TABLE[name]


def window_types() -> tuple[WindowType, ...]:
    """All windows that a statement can name, in the order of their registration."""
    return tuple(each for each in _TABLE.values() if each.says)
