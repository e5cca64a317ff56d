"""Strategies: well-typed queries as text over one small catalog, and small worlds of events for it.

The catalog has inheritance, a relation, and derived streams of every making: by a filter, by a window, by two
producers, by a join, by a timer, by sessions, under a time of their own, at an output rate, past the last
event of the log, and over another derived stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from presage.plan.nodes import SEQ, TIME
from presage.workspace import Workspace
from reference.plans import Row, World

START = 1_709_283_600_000_000  # 2024-03-01T09:00:00Z
SECOND = 1_000_000
DECLARATIONS = """
CREATE SCHEMA Sensor (k STRING, n INT, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Temp (x DOUBLE, tags ARRAY<STRING>) INHERITS Sensor WITH (max_delay = '1 hour');
CREATE STREAM Door (open BOOLEAN, spot STRUCT<room STRING, floor INT>) INHERITS Sensor WITH (max_delay = '1 hour');
CREATE STREAM Tick (k STRING, v LONG, at TIMESTAMP) EVENT TIME at WITH (max_delay = '1 hour');
CREATE RELATION Room (k STRING, floor INT) VALUES ('a', 1), ('b', 2), ('b', 3), (NULL, 4);
INSERT INTO Warm SELECT k, n, x FROM Temp WHERE x > 0.0;
INSERT INTO Busy SELECT k, count(*) AS v, max(n) AS n FROM Sensor#time(3 sec) GROUP BY k;
INSERT INTO Busy SELECT k, v, 1 AS n FROM Tick;
INSERT INTO Paired SELECT a.k AS k, b.v AS v, a.n AS n FROM Temp#length(2) AS a JOIN Tick#time(4 sec) AS b ON a.k = b.k;
INSERT INTO Counts SELECT k, count(*) AS v FROM Busy#time_batch(2 sec) GROUP BY k;
INSERT INTO Moved SELECT k, n, x, at + 1 sec AS at FROM Temp WITHIN [, 2024-03-01T09:00:06);
INSERT INTO Rated SELECT k, sum(v) AS v FROM Tick GROUP BY k OUTPUT LAST EVERY 2 sec;
INSERT INTO Kept SELECT k, n, at FROM Temp WHERE n > 0;
INSERT INTO Ahead SELECT k, v, CASE WHEN v = 2 THEN at - 3 sec ELSE at + 4 sec END AS at FROM Tick;
INSERT INTO Ended SELECT k, count(*) AS v FROM Ahead#time_batch(2 sec) WITHIN [, 2024-03-01T09:00:20) GROUP BY k;
INSERT INTO Again SELECT k, v, at FROM Ended WHERE v > 1;
INSERT INTO Visits SELECT k, count(*) AS v, max(n) AS n, window_start AS since FROM Sensor#session(2 sec, k) GROUP BY k;
"""
RELATIONS = {"Room": [{"k": "a", "floor": 1}, {"k": "b", "floor": 2}, {"k": "b", "floor": 3}, {"k": None, "floor": 4}]}
STREAMS: dict[str, dict[str, str]] = {
    "Sensor": {"k": "S", "n": "I", "at": "T"},
    "Temp": {"k": "S", "n": "I", "at": "T", "x": "D", "tags": "A"},
    "Door": {"k": "S", "n": "I", "at": "T", "open": "B", "spot": "R"},
    "Tick": {"k": "S", "v": "L", "at": "T"},
    "Warm": {"k": "S", "n": "I", "x": "D", "at": "T"},
    "Busy": {"k": "S", "v": "L", "n": "I", "at": "T"},
    "Paired": {"k": "S", "v": "L", "n": "I", "at": "T"},
    "Counts": {"k": "S", "v": "L", "at": "T"},
    "Moved": {"k": "S", "n": "I", "x": "D", "at": "T"},
    "Rated": {"k": "S", "v": "L", "at": "T"},
    "Kept": {"k": "S", "n": "I", "at": "T"},
    "Ahead": {"k": "S", "v": "L", "at": "T"},
    "Ended": {"k": "S", "v": "L", "at": "T"},
    "Again": {"k": "S", "v": "L", "at": "T"},
    "Visits": {"k": "S", "v": "L", "n": "I", "since": "T", "at": "T"},
}
BASE = ("Temp", "Door", "Tick")
RELATION = {"k": "S", "floor": "I"}
SCALARS = "SILDBT"
WINDOWS = [
    "",
    "#keepall",
    "#time(1 sec)",
    "#time(3 sec)",
    "#length(1)",
    "#length(3)",
    "#lastevent",
    "#unique(k)",
    "#firstunique(k)",
    "#length_batch(1)",
    "#length_batch(3)",
    "#time_batch(1 sec)",
    "#time_batch(3 sec)",
    "#groupwin(k)",
    "#groupwin(k)#time(2 sec)",
    "#groupwin(k)#length(2)",
    "#groupwin(k)#lastevent",
    "#groupwin(k)#keepall",
    "#groupwin(k)#length_batch(2)",
    "#groupwin(k)#time_batch(2 sec)",
    "#groupwin(k)#unique(at)",
    "#groupwin(k)#firstunique(at)",
    "#win:time(2 sec)",
]
# Their last events may be later than the last one of the log, and decide where time stops.
AHEAD = ("Moved", "Ahead", "Ended", "Again", "Rated", "Visits")
CLOSING = ["#time_batch(1 sec)", "#time_batch(3 sec)", "#groupwin(k)#time_batch(2 sec)"]
# Not in joins.
BOUNDED = [
    "#tumble(2 sec)",
    "#tumble(3 sec, 1 sec)",
    "#hop(3 sec, 1 sec)",
    "#hop(2 sec, 3 sec)",
    "#session(2 sec)",
    "#session(1 sec, k)",
]


def workspace() -> Workspace:
    """The catalog, declared."""
    made = Workspace([], ".", now=lambda: START + 5 * SECOND)
    made.check(DECLARATIONS)
    return made


# -- worlds -----------------------------------------------------------------------------------------------

KEYS = ["a", "b", None, "ü"]
VALUES: dict[str, dict[str, list[Any]]] = {
    "Temp": {
        "k": KEYS,
        "n": [1, 2, 0, None, 2**31 - 1],
        "x": [0.5, 1.5, -2.0, None, float("nan"), -0.0, 0.0, float("inf")],
        "tags": [[], ["p"], ["q", None], None],
    },
    "Door": {
        "k": KEYS,
        "n": [1, 2, 3, None],
        "open": [True, False, None],
        "spot": [None, {"room": "r", "floor": 1}, {"room": None, "floor": 2}],
    },
    "Tick": {"k": KEYS, "v": [1, 2, 5, None, 2**40]},
}


@st.composite
def worlds(draw: st.DrawFn, most: int = 7) -> World:
    """Events in the order of their arrival, at times of half seconds with many ties; none or one now and then.

    The events come from a seed: drawn one by one they would take longer than all that is done with them.
    """
    count = draw(st.sampled_from([0, 1, most, *[3 * most] * 7]))
    dice = Random(draw(st.integers(0, 2**16)))
    streams: dict[str, list[Row]] = {name: [] for name in BASE}
    keys = dice.choice([KEYS, KEYS, KEYS[:1], KEYS[2:3]])
    for seq in range(1, count + 1):
        stream = dice.choice(BASE)
        if len(streams[stream]) < most:
            time = START + dice.randint(0, 16) * SECOND // 2
            event = {name: dice.choice(keys if name == "k" else values) for name, values in VALUES[stream].items()}
            streams[stream].append({TIME: time, SEQ: seq, **event, "at": time})
    return World(streams, RELATIONS)


# -- expressions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """Writes expressions of a wanted type over the items of FROM, as (alias, attribute -> type)."""

    draw: st.DrawFn
    items: tuple[tuple[str, dict[str, str]], ...]
    aggregates: bool = False

    def pick(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def columns(self, kind: str) -> list[str]:
        return [f"{alias}.{name}" for alias, attributes in self.items for name, k in attributes.items() if k == kind]

    def term(self, kind: str, depth: int = 2) -> str:
        columns = self.columns(kind)
        simple = depth <= 0 or self.draw(st.integers(0, 2)) == 0
        if simple:
            if columns and not self.aggregates and self.draw(st.integers(0, 3)):
                return self.pick(*columns)
            return self.aggregate(kind) if self.aggregates else self.literal(kind)
        if self.draw(st.integers(0, 7)) == 0:
            return (
                f"CASE WHEN {self.condition(depth - 1)} THEN {self.term(kind, depth - 1)} ELSE {self.term(kind, 0)} END"
            )
        return getattr(self, f"_{kind}")(depth - 1)

    def literal(self, kind: str) -> str:
        return self.pick(
            *{
                "S": ["'a'", "'b'", "'ü'", "'a'", "'b'", "CAST(NULL AS STRING)"],
                "I": ["0", "1", "2", "3", "1", "2147483647", "CAST(NULL AS INT)"],
                "L": ["CAST(1 AS LONG)", "4000000000"],
                "D": ["0.5", "1.5", "0.0", "1e300"],
                "B": ["TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"],
                "T": ["CAST('2024-03-01T09:00:02Z' AS TIMESTAMP)", "CAST('2024-03-01T09:00:04Z' AS TIMESTAMP)"],
            }[kind]
        )

    def aggregate(self, kind: str) -> str:
        inner = replace(self, aggregates=False)
        options = {
            "S": ["min", "max", "first", "last"],
            "I": ["min", "max", "first", "last"],
            "L": ["count", "count_if", "min", "first"],
            "D": ["avg", "sum", "min", "max", "median", "percentile", "first", "last"],
            "B": ["first", "last", "min"],
            "T": ["min", "max", "last"],
        }[kind]
        function = self.pick(*options)
        if function == "count":
            return self.pick(
                "count(*)", f"count({inner.term(self.pick(*'SID'), 1)})", f"count(DISTINCT {inner.term('I', 1)})"
            )
        if function == "count_if":
            return f"count_if({inner.condition(0)})"
        if function == "percentile":
            return f"percentile({inner.term(self.pick('I', 'L', 'D'), 1)}, {self.pick('0', '0.3', '0.9', '1')})"
        if function in ("avg", "median", "sum"):
            argument = inner.term("D" if function == "sum" else self.pick("I", "L", "D"), 1)
            return f"{function}({argument})"
        return f"{function}({inner.term(kind, 1)})"

    def _S(self, depth: int) -> str:
        options = [
            f"upper({self.term('S', depth)})",
            f"({self.term('S', depth)} || {self.term('S', depth)})",
            f"coalesce({self.term('S', depth)}, {self.literal('S')})",
        ]
        if not self.aggregates:
            options += [f"{c}[{self.pick('0', '1')}]" for c in self.columns("A")]
            options += [f"{c}.lastOf()" for c in self.columns("A")] + [f"{c}.room" for c in self.columns("R")]
        return self.pick(*options)

    def _I(self, depth: int) -> str:
        options = [
            f"({self.term('I', depth)} {self.pick('+', '-', '*', '%')} {self.term('I', depth)})",
            f"length({self.term('S', depth)})",
            f"(- {self.term('I', depth)})",
        ]
        if not self.aggregates:
            options += [f"{c}.floor" for c in self.columns("R")]
        return self.pick(*options)

    def _L(self, depth: int) -> str:
        return f"({self.term('L', depth)} {self.pick('+', '-')} {self.term('I', depth)})"

    def _D(self, depth: int) -> str:
        return self.pick(
            f"({self.term('I', depth)} / {self.term('I', depth)})",
            f"({self.term('D', depth)} {self.pick('+', '-', '*')} {self.term(self.pick('I', 'D'), depth)})",
            f"({self.term('T', depth)} - {self.term('T', depth)})",
        )

    def _T(self, depth: int) -> str:
        return f"({self.term('T', depth)} {self.pick('+', '-')} {self.pick('1 sec', '1500 msec')})"

    def _B(self, depth: int) -> str:
        return f"({self.condition(depth)})"

    def condition(self, depth: int = 1) -> str:
        kind = self.pick(
            "compare", "compare", "compare", "null", "in", "between", "like", "logic", "member", "constant"
        )
        a = self.pick(*"SIDTL")
        if kind == "compare" or depth < 0:
            other = a if a in "ST" else self.pick(*"ID")
            return f"{self.term(a, depth)} {self.pick('=', '<>', '<', '<=', '>', '>=')} {self.term(other, depth - 1)}"
        if kind == "null":
            return f"{self.term(a, depth)} IS {self.pick('', 'NOT ')}NULL"
        if kind == "in":
            return f"{self.term(a, depth)} {self.pick('', 'NOT ')}IN ({self.literal(a)}, {self.term(a, 0)})"
        if kind == "between":
            return f"{self.term('I', depth)} {self.pick('', 'NOT ')}BETWEEN 1 AND {self.term('I', 0)}"
        if kind == "like":
            return f"{self.term('S', depth)} LIKE '{self.pick('%', 'a%', '_', 'b')}'"
        if kind == "member":
            return f"Room({self.term('S', depth - 1)}, {self.pick('_', self.term('I', 0))})"
        if kind == "constant":
            return self.pick("TRUE", "1 = 1", "1 > 2", "2 * 3 = 6", "NOT FALSE", "NULL IS NULL", "NULL OR TRUE")
        operands = [f"({self.condition(depth - 1)})" for _ in range(2)]
        return f"{self.pick('', 'NOT ')}{operands[0]} {self.pick('AND', 'OR')} {operands[1]}"


# -- queries ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """A query's text and the columns that it yields, if all are plain."""

    text: str
    columns: dict[str, str]


@st.composite
def queries(draw: st.DrawFn) -> str:
    """One query, or an INSERT INTO and a query over the derived stream."""
    if draw(st.integers(0, 5)):
        return _select(draw, STREAMS).text
    inner = _select(draw, STREAMS, named=True)
    outer = _select(draw, {**STREAMS, "Made": inner.columns}, first="Made")
    return f"INSERT INTO Made {inner.text};\n{outer.text}"


def _select(draw: st.DrawFn, streams: dict[str, dict[str, str]], named: bool = False, first: str = "") -> Written:
    items, sources = _sources(draw, streams, first)
    prefix = "c" if named else "d"
    plain, words = Words(draw, items), Words(draw, items, aggregates=True)
    grouped = draw(st.booleans())
    groups = [plain.term(plain.pick(*"SIT"), 1) for _ in range(draw(st.integers(1, 2)))] if grouped else []
    aggregated = draw(st.integers(0, 2)) > 0
    columns: dict[str, str] = {}
    selected = []
    if not named and not draw(st.integers(0, 7)):
        selected.append("*" if draw(st.booleans()) else f"{items[0][0]}.*")
    for i in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from("SIDLBT"))
        writer = words if aggregated and draw(st.booleans()) else plain
        selected.append(f"{writer.term(kind)} AS {prefix}{i}")
        columns[f"{prefix}{i}"] = kind
    if not named and aggregated and not draw(st.integers(0, 4)):
        pair = f"{plain.term('D', 0)}, {plain.term('I', 0)}"
        several = [f"stddev({plain.term('D', 0)}) AS sd", f"window({plain.term('S', 0)}) AS w", f"corr({pair}) AS co"]
        selected.append(draw(st.sampled_from(several)))
    bounds = any(each.partition("(")[0] in sources for each in BOUNDED)
    if bounds and draw(st.booleans()):
        selected.append(f"{draw(st.sampled_from(['window_start', 'window_end']))} AS {prefix}w")
        columns[f"{prefix}w"] = "T"
    if named and not draw(st.integers(0, 3)):
        selected.append(f"{plain.term('T', 1)} AS at")
    if named:
        columns["at"] = "T"
    clauses = [f"SELECT {'DISTINCT ' * (not draw(st.integers(0, 5)))}{', '.join(selected)}", f"FROM {sources}"]
    within = "" if draw(st.integers(0, 3)) else _within(draw)
    if within:
        clauses.append(f"WITHIN {within}")
    if not draw(st.integers(0, 3)):
        clauses.append(f"WHERE {plain.condition()}")
    if groups:
        clauses.append(f"GROUP BY {', '.join(groups)}")
    if not draw(st.integers(0, 5)):
        having = words.condition() if aggregated else plain.condition()
        if bounds and draw(st.booleans()):
            having = f"window_end > {plain.literal('T')} OR ({having})"
        clauses.append(f"HAVING {having}")
    if not draw(st.integers(0, 4)):
        clauses.append(f"OUTPUT {draw(st.sampled_from(['ALL', 'LAST', 'FIRST']))} EVERY {draw(st.integers(1, 3))} sec")
    elif not draw(st.integers(0, 1 if within and within[-2] not in ", " else 5)):
        clauses.append(f"OUTPUT {draw(st.sampled_from(['LAST'] if bounds else ['LAST', 'SNAPSHOT']))}")
    return Written("\n".join(clauses), columns)


def _sources(
    draw: st.DrawFn, streams: dict[str, dict[str, str]], first: str
) -> tuple[tuple[tuple[str, dict[str, str]], ...], str]:
    count = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    items: list[tuple[str, dict[str, str]]] = []
    text = ""
    for i in range(count):
        if i and not draw(st.integers(0, 3)):
            name, attributes, own = "Room", RELATION, "Room"
        else:
            name = first if first and not i else draw(st.sampled_from(sorted(streams)))
            attributes = streams[name]
            ahead = name in AHEAD and draw(st.booleans())
            own = name + _filter(draw, attributes, 0 if ahead else 4)
            own += draw(st.sampled_from(CLOSING)) if ahead else _window(draw, attributes, count == 1)
        alias = "rst"[i]
        items.append((alias, attributes))
        if i == 0:
            text = f"{own} AS {alias}"
        elif draw(st.booleans()):
            text += f" JOIN {own} AS {alias} ON {_tie(draw, items)}"
        else:
            text += f", {own} AS {alias}"
    return tuple(items), text


def _filter(draw: st.DrawFn, attributes: dict[str, str], rarity: int) -> str:
    if draw(st.integers(0, rarity)):
        return ""
    bare = {name: kind for name, kind in attributes.items() if kind in SCALARS}
    name = draw(st.sampled_from(sorted(bare)))
    test = {"S": "<> 'b'", "I": "> 0", "L": "< 4", "D": ">= 0.5", "B": "IS NOT NULL", "T": "> '2024-03-01T09:00:01'"}
    return f"({name} {test[bare[name]]})"


def _window(draw: st.DrawFn, attributes: dict[str, str], alone: bool) -> str:
    window = draw(st.sampled_from([*WINDOWS, *BOUNDED] if alone else WINDOWS))
    # A derived stream of the test's own making may have no `k`.
    other = next((name for name, kind in attributes.items() if kind in SCALARS), "at")
    return window if "k" in attributes else window.replace("(k)", f"({other})").replace(", k)", f", {other})")


def _tie(draw: st.DrawFn, items: list[tuple[str, dict[str, str]]]) -> str:
    """A join's condition: mostly an equality with an earlier item, perhaps with more beside it."""
    alias, attributes = items[-1]
    other, others = draw(st.sampled_from(items[:-1]))
    pairs = [(a, b) for a, x in attributes.items() for b, y in others.items() if x == y and x in SCALARS]
    if ("k", "k") in pairs and draw(st.integers(0, 3)):
        pairs = [("k", "k")]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True)) if pairs else []
    parts = [f"{alias}.{a} = {other}.{b}" for a, b in chosen]
    if not parts or not draw(st.integers(0, 5)):
        parts.append(Words(draw, tuple(items)).condition(0))
    return " AND ".join(f"({p})" for p in parts)


def _within(draw: st.DrawFn) -> str:
    low, high = sorted(draw(st.lists(st.integers(0, 10), min_size=2, max_size=2, unique=True)))
    ends = [f"2024-03-01T09:00:{second:02d}" if draw(st.integers(0, 2)) else "" for second in (low, high)]
    opened, closed = draw(st.sampled_from("[(")), draw(st.sampled_from("])"))
    return f"{opened}{ends[0]}, {ends[1]}{closed}"
