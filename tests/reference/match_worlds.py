"""Small worlds for MATCH_RECOGNIZE: events, conditions in the kernel's form and in the twin's, queries in both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from presage.arrays.programs import code as c
from presage.arrays.programs.code import INT, Code
from presage.operators.match.automaton import build_automaton
from presage.operators.match.kernel.spec import SEQ, TIME, Condition, Fold, MatchSpec, Measure, Place, Skip
from presage.operators.match.regex import Regex
from reference.match_recognize import Condition as Slow
from reference.match_recognize import Query, View

VARIABLES = ("A", "B", "C")
A, B, C = 0, 1, 2
ORDER = "_o1"
SCHEMA = pa.schema(
    [
        (TIME, pa.int64()),
        (SEQ, pa.int64()),
        (ORDER, pa.int64()),
        ("id", pa.int64()),
        ("k", pa.string()),
        ("f", pa.bool_()),
        ("g", pa.bool_()),
        ("x", pa.int64()),
    ]
)


class Assembler:
    """Programs over the one column x."""

    def __init__(self) -> None:
        self.programs: list[list[int]] = []
        self.ints: list[int] = []

    def program(self, *words: int) -> int:
        self.programs.append(list(words))
        return len(self.programs) - 1

    def constant(self, value: int) -> tuple[int, int]:
        self.ints.append(value)
        return c.CONST_I, len(self.ints) - 1

    def code(self) -> Code:
        flat = [word for words in self.programs for word in words]
        starts = np.cumsum([0, *map(len, self.programs)])
        return Code(
            np.array(flat, np.int64),
            starts.astype(np.int64),
            np.array(self.ints, np.int64),
            columns=(("x", INT),),
            depth=8,
        )


def x(place: int) -> tuple[int, int, int]:
    return c.LOAD_I, place, 0


@dataclass(frozen=True)
class Pair:
    """One condition twice: the kernel's, made by an assembler, and the twin's."""

    name: str
    build: Callable[[Assembler], Condition]
    said: Slow
    ahead: int = 0


def less(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else a < b


def value(row: dict[str, Any] | None) -> Any:
    return None if row is None else row["x"]


def last(view: View, *labels: str, back: int = 0) -> Any:
    rows = view.rows_of(*labels)
    return rows[-1 - back]["x"] if len(rows) > back else None


def total(view: View, *labels: str) -> Any:
    values = [row["x"] for row in view.rows_of(*labels) if row["x"] is not None]
    return sum(values) if values else None


HERE = Place(current=True)
PREV = Place(current=True, moved=-1)
NEXT = Place(current=True, moved=1)

PURE = [
    Pair("always", lambda a: Condition(), Slow()),
    Pair("f", lambda a: Condition(flag="f"), Slow(flag="f")),
    Pair("g", lambda a: Condition(flag="g"), Slow(flag="g")),
    Pair(
        "down",
        lambda a: Condition(nearby=a.program(*x(0), *x(1), c.LT_I), places=(HERE, PREV)),
        Slow(nearby=lambda at: less(value(at(0)), value(at(-1)))),
    ),
]
AHEAD = [
    Pair(
        "before a rise",
        lambda a: Condition(flag="f", nearby=a.program(*x(0), *x(1), c.LT_I), places=(HERE, NEXT)),
        Slow(flag="f", nearby=lambda at: less(value(at(0)), value(at(1))), ahead=1),
        1,
    ),
]
PATH = [
    Pair(
        "above the first A",
        lambda a: Condition(bound=a.program(*x(1), *x(0), c.LT_I), places=(HERE, Place(labels=(A,), first=True))),
        Slow(bound=lambda v: less(*[r["x"] for r in (v.rows_of("A") or [{"x": None}])[:1]], last(v))),
    ),
    Pair(
        "above the A or B before",
        lambda a: Condition(flag="g", bound=a.program(*x(1), *x(0), c.LT_I), places=(HERE, Place((A, B), offset=1))),
        Slow(flag="g", bound=lambda v: less(last(v, "A", "B", back=1), last(v))),
    ),
    Pair(
        "sum of A below 3",
        lambda a: Condition(bound=a.program(c.GIVEN_I, 0, *a.constant(3), c.LT_I), folds=(Fold("sum", (A,), ("x",)),)),
        Slow(bound=lambda v: less(total(v, "A"), 3)),
    ),
    Pair(
        "at most three rows",
        lambda a: Condition(bound=a.program(c.GIVEN_I, 0, *a.constant(4), c.LT_I), folds=(Fold("count"),)),
        Slow(bound=lambda v: len(v.path) < 4),
    ),
    Pair(
        "not after B",
        lambda a: Condition(
            bound=a.program(c.GIVEN_I, 0, *a.constant(B), c.EQ_I, c.NOT), classified=(Place(offset=1),)
        ),
        Slow(bound=lambda v: None if len(v.path) < 2 else v.path[-2][1] != "B"),
    ),
    Pair(
        "below the row after the first",
        lambda a: Condition(bound=a.program(*x(0), *x(1), c.LT_I), places=(HERE, Place(first=True, moved=2))),
        Slow(bound=lambda v: less(last(v), value(v.row(v.path[0][0] + 2)))),
        2,
    ),
    Pair(
        "odd matches",
        lambda a: Condition(bound=a.program(c.GIVEN_I, 0, *a.constant(2), c.MOD_I, 64), match_number=True),
        Slow(bound=lambda v: v.number % 2 != 0),
    ),
]
ASKED = [
    Pair(
        "as odd as the first row",
        lambda a: Condition(
            asked=7, places=(HERE, Place(first=True)), asked_columns=((0, "x"), (1, "x")), text="odd(x, FIRST(x))"
        ),
        Slow(bound=lambda v: same_parity(last(v), v.rows_of()[0]["x"])),
    ),
]


def same_parity(a: int | None, b: int | None) -> bool | None:
    return None if a is None or b is None else (a - b) % 2 == 0


class Parity:
    """The oracle of what is asked above."""

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray:
        assert number == 7
        return np.array([same_parity(*pair) is True for pair in zip(*(a.to_pylist() for a in arguments), strict=True)])


MEASURES = (
    Measure("n", match_number=True),
    Measure("label", place=Place()),
    Measure("head", place=Place(first=True), column="x"),
    Measure("tail", place=Place(final=True), column="id"),
    Measure("rows", fold=Fold("count")),
)
SAID_MEASURES: dict[str, Callable[[View], Any]] = {
    "n": lambda v: v.number,
    "label": lambda v: v.path[v.at - 1][1] if v.at else None,
    "head": lambda v: v.rows_of()[0]["x"] if v.at else None,
    "tail": lambda v: v.search.rows[v.path[-1][0]]["id"] if v.path else None,
    "rows": lambda v: v.at,
}
# What comes after the match's last row, which has to be waited for.
FOLLOWING = Measure("following", place=Place(final=True, moved=1), column="x")


def following(view: View) -> Any:
    return value(view.row(view.path[-1][0] + 1)) if view.path else None


def queries(pattern: Regex, pairs: dict[str, Pair], waits: bool = False, **settings: Any) -> tuple[MatchSpec, Query]:
    """The same query for the kernel and for the twin."""
    assembler = Assembler()
    conditions = tuple(pairs[name].build(assembler) if name in pairs else Condition() for name in VARIABLES)
    measures, said = MEASURES, dict(SAID_MEASURES)
    if waits:
        measures, said["following"] = (*measures, FOLLOWING), following
    skip, skip_to = settings.pop("skip", "past_last"), settings.pop("skip_to", ())
    labels = tuple(VARIABLES.index(name) for name in skip_to)
    spec = MatchSpec(
        build_automaton(pattern, VARIABLES),
        conditions,
        measures,
        keys=("k",),
        carry=("id",),
        order=(ORDER,),
        skip=Skip(skip, labels, "V"),
        code=assembler.code(),
        **settings,
    )
    query = Query(
        pattern,
        {name: pair.said for name, pair in pairs.items()},
        ("k",),
        (ORDER,),
        settings.get("rows", "one"),
        skip,
        skip_to,
        settings.get("within"),
        settings.get("within_months", 0),
        settings.get("gap"),
        settings.get("gap_months", 0),
        settings.get("held", False),
        settings.get("timeouts", False),
        int(waits),
        max([0, *(pair.ahead for pair in pairs.values())]),
        said,
    )
    return spec, query
