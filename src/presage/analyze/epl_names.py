"""Windows and functions of EPL that the language does not have yet, each with what to write instead.

They are refused by their names: the nearest name that there is would have another meaning. A fix keeps the meaning, or
says what is different.
"""

from __future__ import annotations

from presage.errors import PresageError, error
from presage.model.text import Span

YET = "in this version yet"
_BATCH = "#time_batch(…) closes by time alone, and #length_batch(…) by the number of events"
_STATISTICS = "the aggregates of a window say more: count, avg, stddev"
_SETS = "write one statement for each set"
_BEFORE = "MATCH_RECOGNIZE has PREV; over #length(2), first(x) is the value before"

WINDOWS = {
    "ext_timed": "all time is event time: where the expression is that, #time(…) is the same",
    "ext_timed_batch": "all time is event time: where the expression is that, #time_batch(…) is nearly the same, but "
    "it starts at the first event",
    "time_length_batch": _BATCH,
    "time_accum": "MATCH_RECOGNIZE with GAP ends a match at a pause",
    "time_order": "events are put in order within max_delay before a statement sees them: #time(…) holds them",
    "time_to_live": "",
    "timetolive": "",
    "firstlength": "#length(…) holds the last events, not the first",
    "firsttime": "#time(…) holds the last events, not the first",
    "firstevent": "#lastevent holds the last event, not the first",
    "sort": "",
    "rank": "",
    "expr": "",
    "expr_batch": "",
    "tumble": "#time_batch(…) starts at the first event, and is not aligned",
    "hop": "#time(…) slides with each event",
    "session": "MATCH_RECOGNIZE with GAP ends a match at a pause",
    "uni": _STATISTICS,
    "size": "write count(*) over the window",
    "linest": "",
    "correl": "",
    "weighted_avg": "write sum(x * w) / sum(w) over the window",
}
FUNCTIONS = {
    "rollup": _SETS,
    "cube": _SETS,
    "prior": _BEFORE,
    "prevtail": _BEFORE,
    "prevcount": "write count(*) over the window",
    "prevwindow": "window(x) has the values of the window, the oldest first",
    "avedev": "",
    "fmin": "write CASE in it: min(CASE WHEN c THEN x END)",
    "fmax": "write CASE in it: max(CASE WHEN c THEN x END)",
    "fminever": "",
    "fmaxever": "",
    "minever": "write min(x) over #keepall",
    "maxever": "write max(x) over #keepall",
    "firstever": "write first(x) over #keepall",
    "lastever": "write last(x) over #keepall",
    "countever": "write count(x) over #keepall",
    "nth": "",
    "rate": "",
    "leaving": "",
    "sorted": "",
    "maxby": "",
    "minby": "",
    "maxbyever": "",
    "minbyever": "",
    "countminsketch": "",
    "istream": "each row is one that comes in",
    "any": "write comparisons joined by OR",
    "all": "write comparisons joined by AND",
    "current_evaluation_context": "",
    "instanceof": "attributes have the types that the stream declares",
}
# Of lists, of times and of texts.
_METHODS = """
aggregate allof anyof arrayof average countof distinctof except groupby intersect leastfrequent max maxby min minby
mostfrequent orderby orderbydesc reverse selectfrom sequenceequal sumof take takelast takewhile tomap union where
plus minus set withdate withmax withmin withtime roundceiling roundfloor roundhalf format get getdayofmonth getdayofweek
getdayofyear getera gethourofday getmillisofsecond getminuteofhour getmonthofyear getsecondofminute getweekyear getyear
todate tocalendar tomillisec before after coincides during finishes finishedby includes meets metby overlaps
overlappedby starts startedby between touppercase tolowercase
"""
METHODS = frozenset(_METHODS.split())


def refuse_method(name: str, span: Span, is_function: bool) -> None:
    if is_function or name.lower() in METHODS:
        fix = f"a function takes the value as its argument: {name}(…)"
        if not is_function:
            fix = "a function takes the value as its argument; docs/language/functions.md lists all of them"
        raise error("UNSUPPORTED", span, what=f"the method {name}()", where=YET, fix=fix)


def refuse_window(name: str, span: Span) -> None:
    if name.lower() in WINDOWS:
        raise error("UNSUPPORTED", span, what=f"#{name}", where=YET, fix=WINDOWS[name.lower()])


def refused_function(name: str, span: Span | None) -> PresageError | None:
    lower = name.lower()
    if lower not in FUNCTIONS:
        return None
    return error("UNSUPPORTED", span, what=f"{name}(…)", where=YET, fix=FUNCTIONS[lower])
