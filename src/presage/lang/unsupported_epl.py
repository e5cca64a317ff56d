"""The table of EPL syntax that the language does not support: its name, its pattern, and what to write instead.

A fix keeps the meaning, or states the difference.
"""

from __future__ import annotations

from typing import NamedTuple

YET = "in this version yet"
NO_HOST_CODE = "and will not be: a statement runs no code of a host"


class Form(NamedTuple):
    """A form of syntax. `pattern` is matched where a token starts.

    `after`: one of these words or marks, if any, must precede it ("" is the beginning of the statement). `near`: the
    form begins at most so many tokens before the failure, if not 0. `at_home`: the words in whose parentheses the form
    is supported.
    """

    what: str
    pattern: str
    after: tuple[str, ...] = ()
    where: str = YET
    fix: str = ""
    near: int = 0
    at_home: tuple[str, ...] = ()


def form(
    what: str, pattern: str, after: str = "", where: str = YET, fix: str = "", near: int = 0, at_home: str = ""
) -> Form:
    return Form(what, pattern, tuple(after.split()), where, fix, near, tuple(at_home.split()))


def _first(what: str, pattern: str, fix: str = "", where: str = YET) -> Form:
    """A form that begins a statement."""
    return Form(what, pattern, ("",), where, fix)


_DERIVED = "INSERT INTO a stream of its own and read that"
_NAMED = "keep rows in a stream (INSERT INTO), or values in a relation (CREATE RELATION)"
_ROWS = "rows are what comes in; what leaves a window changes the next row"
_RATE = "write OUTPUT ALL, LAST or FIRST and EVERY with a duration: OUTPUT LAST EVERY 1 min"
# Any name, and any term in parentheses; possessive quantifiers keep the time linear.
_NAME = r"[\w.`]++"
_TERM = r"(?:[^(),;]|\((?:[^();]|\([^();]*+\))*+\))*+"

EPL = (
    # -- statements
    _first("an annotation", r"@\s*+\w++", "leave it out; a statement gets its name when it is deployed"),
    _first("ON … (a statement that an event triggers)", rf"ON\s++(?={_NAME}|PATTERN\b)", _DERIVED),
    _first("INTO TABLE", r"INTO\s++TABLE\b", _NAMED),
    _first("CONTEXT", r"CONTEXT(?=\s++\w)", "use KEY (…), GROUP BY or #groupwin(…)"),
    _first("CREATE CONTEXT", r"CREATE\s++CONTEXT\b", "use KEY (…), GROUP BY or #groupwin(…)"),
    _first("CREATE WINDOW (a named window)", r"CREATE\s++WINDOW\b", _NAMED),
    _first("CREATE TABLE", r"CREATE\s++TABLE\b", _NAMED),
    _first("CREATE INDEX", r"CREATE\s++(?:UNIQUE\s++)?INDEX\b", "leave it out"),
    _first(
        "CREATE VARIABLE",
        r"CREATE\s++(?:CONSTANT\s++)?VARIABLE\b",
        "write the value, or keep it in a relation (CREATE RELATION)",
    ),
    _first("CREATE EXPRESSION", r"CREATE\s++EXPRESSION\b", "write the expression where it is used"),
    _first("EXPRESSION", r"EXPRESSION(?=\s++\w)", "write the expression where it is used"),
    _first(
        "CREATE … SCHEMA of a host's representation",
        r"CREATE\s++(?:MAP|OBJECTARRAY|JSON|AVRO|XML|VARIANT)\s++SCHEMA\b",
        "write CREATE SCHEMA name (x INT, …)",
    ),
    _first("CREATE INLINED_CLASS", r"CREATE\s++INLINED_CLASS\b", where=NO_HOST_CODE),
    _first(
        "CREATE DATAFLOW",
        r"CREATE\s++DATAFLOW\b",
        "declare sources and sinks: CREATE STREAM … SOURCE, CREATE SINK",
        "and will not be",
    ),
    _first("IMPORT", r"IMPORT(?=\s++\w)", where=NO_HOST_CODE),
    _first("MODULE", r"(?:MODULE|USES)(?=\s++\w)", "put the statements into a file"),
    _first("UPDATE", rf"UPDATE\s++(?:ISTREAM\b|{_NAME}\s++(?:AS\s++\w++\s++)?SET\b)", _DERIVED),
    _first("DELETE", r"DELETE\s++FROM\b", "events are kept; WITH (retention = …) lets old ones go"),
    _first(
        "INSERT INTO with a list of columns",
        rf"INSERT\s++INTO\s++{_NAME}\s*+\([^();]*+\)(?=\s*+SELECT\b)",
        "name the columns where they are selected: SELECT v AS p, k AS q",
    ),
    form("INSERT RSTREAM INTO", r"RSTREAM(?=\s++INTO\b)", "INSERT", fix=_ROWS),
    form("INSERT IRSTREAM INTO", r"IRSTREAM(?=\s++INTO\b)", "INSERT", fix=_ROWS),
    form("INSERT ISTREAM INTO", r"ISTREAM(?=\s++INTO\b)", "INSERT", fix="leave it out: it is what INSERT INTO does"),
    form(
        "SELECT ISTREAM",
        r"ISTREAM(?=\s++(?!FROM\b|AS\b)[\w*`('])",
        "SELECT",
        fix="leave it out: it is what SELECT does",
    ),
    form("SELECT RSTREAM", r"RSTREAM(?=\s++(?!FROM\b|AS\b)[\w*`('])", "SELECT", fix=_ROWS),
    form("SELECT IRSTREAM", r"IRSTREAM(?=\s++(?!FROM\b|AS\b)[\w*`('])", "SELECT", fix=_ROWS),
    # -- FROM
    form(
        "the old spelling of a window",
        r"\.\s*+(?:win|std|ext|stat|rnk)\s*+:\s*+\w++",
        near=2,
        fix="a window is written with #: #time(1 min), #length(10)",
    ),
    form("RETAIN-UNION", r"RETAIN\s*+-\s*+UNION\b", near=2),
    form("RETAIN-INTERSECTION", r"RETAIN\s*+-\s*+INTERSECTION\b", near=2),
    form(
        "UNIDIRECTIONAL",
        r"UNIDIRECTIONAL\b",
        near=1,
        fix="in a join the events of every stream make rows; those of a relation do not: CREATE RELATION",
    ),
    form(
        "sql:",
        r"SQL\s*+:",
        "FROM , JOIN",
        where="and will not be",
        fix="load the table, or declare it as a relation: CREATE RELATION",
    ),
    form("method:", r"METHOD\s*+:", "FROM , JOIN", where=NO_HOST_CODE),
    form("#sort", r"#\s*+(?:ext\s*+:\s*+)?sort\b"),
    form("#rank", r"#\s*+(?:ext\s*+:\s*+)?rank\b"),
    # -- clauses
    form("GROUPING SETS", r"GROUPING\s++SETS\b", fix="write one statement for each set"),
    form("FOR GROUPED_DELIVERY", r"FOR\s++(?:GROUPED|DISCRETE)_DELIVERY\b", near=3),
    form("OUTPUT EVERY n EVENTS", rf"OUTPUT\s++(?:\w++\s++)?EVERY\s++{_NAME}\s++EVENTS\b", fix=_RATE),
    form(
        "OUTPUT SNAPSHOT EVERY", r"OUTPUT\s++SNAPSHOT\s++EVERY\b", fix=f"OUTPUT SNAPSHOT is once, at the end; {_RATE}"
    ),
    form("OUTPUT AT", r"OUTPUT\s++(?:(?:ALL|FIRST|LAST)\s++)?AT\b", fix=_RATE),
    form("OUTPUT WHEN", r"OUTPUT\s++(?:(?:ALL|FIRST|LAST)\s++)?WHEN\b", fix=_RATE),
    form("OUTPUT AFTER", r"OUTPUT\s++AFTER\b", fix=_RATE),
    form("OUTPUT without EVERY", r"OUTPUT\s++(?:ALL|FIRST)(?=\s*+(?:;|$))", fix=_RATE),
    # -- expressions
    form(
        "a number with a suffix",
        r"[0-9]++(?:\.[0-9]++)?[LlFfDd]\b",
        near=2,
        fix="write the number alone; CAST(5 AS LONG) has another type, 5 days is a duration",
    ),
    form("a number in hexadecimal", r"0[xX][0-9a-fA-F]++\b", near=2, fix="write it in decimal"),
    form(
        "a bitwise operator",
        r"&|\|(?!\|)|\^",
        near=1,
        at_home="MATCH_RECOGNIZE SEQUENCE PATTERN",
        fix="there are functions of bits: shiftleft, shiftright, bit_count",
    ),
    form(
        "a lambda expression",
        rf"(?:{_NAME}|\(\s*+\w++(?:\s*+,\s*+\w++)*+\s*+\))\s*+=>",
        near=6,
        at_home="PATTERN SEQUENCE",
    ),
    form("the parameter filter:", r"FILTER\s*+:", ",", near=2, fix="write CASE in it: sum(CASE WHEN c THEN x END)"),
    form("the parameter group_by:", r"GROUP_BY\s*+:", ",", near=2, fix="write GROUP BY"),
    form("CAST with a comma", rf"CAST\s*+\({_TERM},", fix="write CAST(x AS LONG)"),
    form("an order in parentheses", r"(?:ASC|DESC)(?=\s*+[,)])", near=1, at_home="MATCH_RECOGNIZE RECALL OVER"),
    form("LIKE with ESCAPE", r"ESCAPE(?=\s*+['\"])", near=1, fix="use the functions contains, startswith and endswith"),
    form("REGEXP", r"REGEXP\b", near=1, fix="write regexp_like(s, '^(…)$'): EPL's REGEXP takes the whole text"),
    form(
        "IS with a value",
        r"IS\s++(?:NOT\s++)?(?!NOT\b|NULL\b)[\w'\"(+-]",
        near=3,
        fix="write equal_null(a, b), which is true for two nulls, or a = b",
    ),
    form(
        "a comparison with ANY, SOME or ALL",
        r"(?:ANY|SOME|ALL)(?=\s*+\()",
        "= < > <= >= <> !=",
        fix="write IN (…), or comparisons joined by OR and AND",
    ),
    form("NEW { … }", r"NEW(?=\s*+\{)", near=2, fix="write named_struct('p', v)"),
    form(
        "an array in braces",
        r"\{(?!-)",
        "SELECT , ( = IN",
        near=1,
        at_home="MATCH_RECOGNIZE",
        fix="write array(1, 2, 3)",
    ),
    # -- patterns
    form("timer:at", r"TIMER\s*+:\s*+AT(?=\s*+\()", fix="timer:interval(…) counts from an event"),
    form("timer:schedule", r"TIMER\s*+:\s*+SCHEDULE(?=\s*+\()", fix="timer:interval(…) counts from an event"),
)
