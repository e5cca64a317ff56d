"""Functions and methods of EPL that the language does not have, each with what to write instead.

They are refused by name: the nearest known name would have another meaning. A fix keeps the meaning, or says what is
different.
"""

from __future__ import annotations

from presage.errors import PresageError, error
from presage.model.text import Span

YET = "in this version yet"
_SETS = "write one statement for each set"
_BEFORE = "MATCH_RECOGNIZE has PREV; over #length(2), first(x) is the value before"
_WITHOUT_FIX = """
avedev fminever fmaxever nth rate leaving sorted maxby minby maxbyever minbyever countminsketch
current_evaluation_context
"""

FUNCTIONS = {
    **dict.fromkeys(_WITHOUT_FIX.split(), ""),
    "rollup": _SETS,
    "cube": _SETS,
    "prior": _BEFORE,
    "prevtail": _BEFORE,
    "prevcount": "write count(*) over the window",
    "prevwindow": "window(x) has the values of the window, the oldest first",
    "fmin": "write CASE in it: min(CASE WHEN c THEN x END)",
    "fmax": "write CASE in it: max(CASE WHEN c THEN x END)",
    "minever": "write min(x) over #keepall",
    "maxever": "write max(x) over #keepall",
    "firstever": "write first(x) over #keepall",
    "lastever": "write last(x) over #keepall",
    "countever": "write count(x) over #keepall",
    "istream": "each row is one that comes in",
    "any": "write comparisons joined by OR",
    "all": "write comparisons joined by AND",
    "instanceof": "attributes have the types that the stream declares",
}
# Methods of lists, of times and of texts.
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


def refused_function(name: str, span: Span | None) -> PresageError | None:
    lower = name.lower()
    if lower not in FUNCTIONS:
        return None
    return error("UNSUPPORTED", span, what=f"{name}(…)", where=YET, fix=FUNCTIONS[lower])
