"""Terms written in Python come in, the tables of a pattern go out: how tests of patterns write them.

Events have a source (0, 1, 2) and, for each source, a number `v`, a text `k` and a double `x`: columns v0, k0, x0, v1 …
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.programs import code as op
from presage.arrays.programs.code import Code
from presage.operators.epl.kernel.spec import (
    SEQ,
    SOURCE,
    TIME,
    Argument,
    Listed,
    Node,
    PatternSpec,
    Period,
    Shown,
)

SOURCES = 3
COLUMNS = tuple(
    (f"{name}{s}", bank) for s in range(SOURCES) for name, bank in (("v", op.INT), ("k", op.TEXT), ("x", op.FLOAT))
)
WHOLE = [name for name, bank in COLUMNS if bank != op.FLOAT]
DOUBLES = [name for name, bank in COLUMNS if bank == op.FLOAT]
TYPES = {op.INT: pa.int64(), op.TEXT: pa.string(), op.FLOAT: pa.float64()}
FLAGS = ("flag0", "flag1")


@dataclass
class Term:
    kind: str
    children: list[Term] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Of:
    """A column of an event: of a tag (None: the event at hand), of a repeated tag at an index."""

    tag: str | None
    column: str
    index: int | None = None


@dataclass(frozen=True)
class Compared:
    """left OP right; `op` is an operation of code.py for integers or doubles."""

    op: int
    left: Any
    right: Any


def event(source: int, tag: str | None = None, where: Any = None, flag: str | None = None, **more: Any) -> Term:
    return Term("filter", [], {"source": source, "tag": tag, "where": where, "flag": flag, **more})


def followed(*terms: Term, limits: tuple[int, ...] = ()) -> Term:
    return Term("followed", list(terms), {"limits": limits})


def both(*terms: Term) -> Term:
    return Term("and", list(terms))


def either(*terms: Term) -> Term:
    return Term("or", list(terms))


def no(term: Term) -> Term:
    return Term("not", [term])


def every(term: Term) -> Term:
    return Term("every", [term])


def distinct(keys: list[Any], term: Term, period: Any = None) -> Term:
    return Term("distinct", [term], {"keys": keys, "period": period})


def until(repeated: Term, ending: Term | None = None, low: Any = -1, high: Any = -1) -> Term:
    return Term("until", [repeated] + ([ending] if ending else []), {"low": low, "high": high})


def within(term: Term, period: Any, most: int = -1) -> Term:
    return Term("within", [term], {"period": period, "most": most})


def whilst(term: Term, condition: Any) -> Term:
    return Term("while", [term], {"where": condition})


def interval(period: Any) -> Term:
    return Term("interval", [], {"period": period})


@dataclass(frozen=True)
class Months:
    count: int


class Builder:
    """Numbers terms, tags and programs."""

    def __init__(self) -> None:
        self.nodes: list[Node | None] = []
        self.tags: dict[str, Listed] = {}
        self.words: list[int] = []
        self.starts = [0]
        self.ints: list[int] = []
        self.texts: list[str] = []
        self.floats: list[float] = []

    # -- programs -----------------------------------------------------------------------------------

    def program(self, expression: Any, arguments: list[Argument]) -> int:
        self._write(expression, arguments)
        self.starts.append(len(self.words))
        return len(self.starts) - 2

    def _write(self, expression: Any, arguments: list[Argument]) -> None:
        if isinstance(expression, Of):
            tag = None if expression.tag is None else self.number(expression.tag)
            argument = Argument(tag, expression.index)
            if argument not in arguments:
                arguments.append(argument)
            double = expression.column in DOUBLES
            bank = DOUBLES if double else WHOLE
            place = arguments.index(argument)
            self.words += [op.LOAD_F if double else op.LOAD_I, place, bank.index(expression.column)]
        elif isinstance(expression, Compared):
            self._write(expression.left, arguments)
            self._write(expression.right, arguments)
            self.words.append(expression.op)
            if expression.op == op.ADD_I:
                self.words.append(64)
        elif isinstance(expression, str):
            self.texts.append(expression)
            self.words += [op.CONST_TEXT, len(self.texts) - 1]
        elif isinstance(expression, float):
            self.floats.append(expression)
            self.words += [op.CONST_F, len(self.floats) - 1]
        else:
            self.ints.append(int(expression))
            self.words += [op.CONST_I, len(self.ints) - 1]

    # -- terms --------------------------------------------------------------------------------------

    def number(self, tag: str) -> int:
        return list(self.tags).index(tag)

    def declare(self, term: Term, repeated: bool = False) -> None:
        if term.kind == "filter" and term.more["tag"] is not None:
            self.tags[term.more["tag"]] = Listed(term.more["tag"], term.more["source"], repeated)
        for k, child in enumerate(term.children):
            self.declare(child, repeated or (term.kind == "until" and k == 0))

    def add(self, term: Term) -> int:
        number = len(self.nodes)
        self.nodes.append(None)
        more, arguments, made = dict(term.more), [], {}
        if (where := more.pop("where", None)) is not None:
            made["program"] = self.program(where, arguments)
        for bound in ("low", "high"):
            value = more.pop(bound, -1)
            if isinstance(value, int):
                made[bound] = value
            else:
                made[f"{bound}_program"] = self.program(value, arguments)
        if "keys" in more:
            banks = dict(COLUMNS)
            made["keys"] = tuple(
                (self.program(key, arguments), banks[key.column] if isinstance(key, Of) else op.INT)
                for key in more.pop("keys")
            )
        if (period := more.pop("period", None)) is not None:
            made["period"] = self.period(period)
        if term.kind == "filter":
            tag = more.pop("tag")
            made["tag"] = -1 if tag is None else self.number(tag)
        children = tuple(self.add(child) for child in term.children)
        self.nodes[number] = Node(term.kind, children, arguments=tuple(arguments), text=term.kind, **made, **more)
        return number

    def period(self, period: Any) -> Period:
        if isinstance(period, int):
            return Period(micros=period)
        if isinstance(period, Months):
            return Period(months=period.count)
        arguments: list[Argument] = []
        program = self.program(period, arguments)
        bank = op.FLOAT if isinstance(period, Of) and period.column in DOUBLES else op.INT
        return Period(program=program, bank=bank, arguments=tuple(arguments))


def spec_of(term: Term, shown: list[Shown] | None = None, **more: Any) -> PatternSpec:
    """All tags are shown by their `v` and their `k`, unless `shown` says otherwise."""
    builder = Builder()
    builder.declare(term)
    builder.add(term)
    tags = tuple(builder.tags.values())
    if shown is None:
        shown = [Shown(f"{t.name}_{c}", n, f"{c}{t.source}") for n, t in enumerate(tags) for c in ("v", "k")]
    code = Code(
        np.array(builder.words, np.int64),
        np.array(builder.starts, np.int64),
        np.array(builder.ints, np.int64),
        np.array(builder.floats, np.float64),
        tuple(builder.texts),
        COLUMNS,
        8,
    )
    columns = tuple(tuple(f"{c}{s}" for c in "vkx") for s in range(SOURCES))
    return PatternSpec(tuple(builder.nodes), tags, tuple(shown), columns, code=code, **more)


def row(time: int, source: int, v: Any = None, k: Any = None, x: Any = None, **more: Any) -> dict[str, Any]:
    """An event; SEQ is set by `table_of`."""
    base: dict[str, Any] = {TIME: time, SOURCE: source} | {name: None for name, _ in COLUMNS}
    return base | {f"v{source}": v, f"k{source}": k, f"x{source}": x} | dict.fromkeys(FLAGS, True) | more


def numbered(rows: list[dict[str, Any]], order: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """With SEQ by position; a row that is marked `same` is a view of the event before it."""
    found: list[dict[str, Any]] = []
    seq = -1
    for line in rows:
        same = line.pop("same", False) if "same" in line else False
        seq += 0 if same and found and found[-1][TIME] == line[TIME] else 1
        found.append(line | {SEQ: seq} | dict.fromkeys(order, 0))
    return found


def table_of(
    rows: list[dict[str, Any]], order: tuple[str, ...] = (), keys: dict[str, pa.DataType] | None = None
) -> pa.Table:
    fields = [(TIME, pa.int64()), (SEQ, pa.int64()), *((name, pa.int64()) for name in order), (SOURCE, pa.int8())]
    fields += [(name, TYPES[bank]) for name, bank in COLUMNS] + [(name, pa.bool_()) for name in FLAGS]
    fields += list((keys or {}).items())
    return pa.Table.from_pylist(rows, pa.schema(fields))
