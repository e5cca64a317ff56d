"""Windows of EPL that the language does not have, each with what to write instead. They are refused by name: the
nearest known name would have another meaning."""

from __future__ import annotations

from presage.errors import error
from presage.functions.epl_functions import YET
from presage.model.text import Span

_BATCH = "#time_batch(…) closes by time alone, and #length_batch(…) by the number of events"
_STATISTICS = "the aggregates of a window say more: count, avg, stddev"
WINDOWS = {
    **dict.fromkeys(["time_to_live", "timetolive", "sort", "rank", "expr", "expr_batch", "linest", "correl"], ""),
    "ext_timed": "all time is event time: where the expression is that, #time(…) is the same",
    "ext_timed_batch": "all time is event time: where the expression is that, #time_batch(…) is nearly the same, but "
    "it starts at the first event",
    "time_length_batch": _BATCH,
    "time_accum": "MATCH_RECOGNIZE with GAP ends a match at a pause",
    "time_order": "events are put in order within max_delay before a statement sees them: #time(…) holds them",
    "firstlength": "#length(…) holds the last events, not the first",
    "firsttime": "#time(…) holds the last events, not the first",
    "firstevent": "#lastevent holds the last event, not the first",
    "hop": "#time(…) slides with each event, and #tumble(…) does not overlap",
    "session": "MATCH_RECOGNIZE with GAP ends a match at a pause",
    "uni": _STATISTICS,
    "size": "write count(*) over the window",
    "weighted_avg": "write sum(x * w) / sum(w) over the window",
}


def refuse_window(name: str, span: Span) -> None:
    if name.lower() in WINDOWS:
        raise error("UNSUPPORTED", span, what=f"#{name}", where=YET, fix=WINDOWS[name.lower()])
