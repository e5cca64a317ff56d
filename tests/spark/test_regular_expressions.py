"""Patterns that Presage accepts match what java.util.regex matches: random ones, against Spark's own functions."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from presage.columnar.evaluate import Evaluator
from presage.execution.spark.expressions import compile_expression
from presage.model import types as t
from presage.plan import expr as e
from presage.plan.regex import count_groups, find_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED, PATTERNS, TEXTS = 20_251, 600, 8
ATOMS = [
    "a",
    "b",
    "c",
    "A",
    "1",
    "_",
    "é",
    "\u212a",
    " ",
    ",",
    ".",
    r"\.",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"\h",
    r"\v",
    r"\H",
    r"\V",
    r"\t",
    r"\x61",
    r"\x{e9}",
    r"\u0062",
    r"\0141",
    r"\cJ",
    r"\e",
    r"\Qa.b\E",
    r"\Q[\E",
    r"\]",
    r"\p{Alpha}",
    r"\p{Punct}",
    r"\P{Lower}",
    r"\p{Space}",
    r"\p{L}",
    r"\p{Lu}",
    r"\P{N}",
    r"\pL",
    r"\p{IsLl}",
    "[abc]",
    "[^a]",
    "[a-c1]",
    r"[\w&&[^b]]",
    "[a-c&&[^b]]",
    "[a-z&&b-y]",
    "[^a-c&&[b-d]]",
    "[a[bc]1]",
    "[[^a]b]",
    r"[\d-x]",
    "[a-]",
    "[-a]",
    "[a^]",
    r"[\]\[]",
    r"[\x61-c]",
    "[.]",
    "[a&b]",
    r"[^\n]",
    "[Z-a]",
    r"[\Q-]\E]",
    r"\A",
    r"\z",
    "^",
    "(?i)",
    "(?s)",
    "(?-i)",
    "(?is)",
    "(?m)",
    "()",
    "]",
    "}",
]
REPEATS = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,}", "{0,2}", "{1,2}?", "{0}", "*+", "{2,}?"]
LETTERS = [
    "a",
    "b",
    "c",
    "A",
    "B",
    "K",
    "k",
    "1",
    "_",
    " ",
    ",",
    ".",
    "-",
    "é",
    "É",
    "\u212a",
    "[",
    "]",
    "&",
    "^",
    "\\",
]
SIGNS = ["\n", "\r", "\r\n", "\x85", "\u2028", "\t", "\x0b", "\x0c", "\xa0", "\u3000", "\x1b"]


def pattern(rng: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(rng.randint(0 if depth else 1, 4)):
        kind = rng.random()
        if kind < 0.2 and depth < 3:
            opening = rng.choice(["(", "(", "(?:", "(?<n>", "(?i:", "(?s-i:", "(?="])
            atom = f"{opening}{pattern(rng, depth + 1)})"
        elif kind < 0.25:
            atom = rng.choice([r"\b", r"\B", "$", r"\Z"])
        else:
            atom = rng.choice(ATOMS)
        parts.append(atom + rng.choice(REPEATS))
    made = "".join(parts)
    if rng.random() < 0.2:
        made += "|" + pattern(rng, depth + 1)
    return made + ("$" if depth == 0 and rng.random() < 0.15 else "")


def text(rng: random.Random, plain: bool) -> str:
    """`plain`: without letters that Java 17 takes for parts of words and Java 19 does not."""
    letters = [x for x in LETTERS if x.isascii()] if plain else LETTERS
    signs = [x for x in SIGNS if x.isascii()] if plain else SIGNS
    made = "".join(rng.choice(letters if rng.random() < 0.85 else signs) for _ in range(rng.randint(0, 9)))
    return made + (rng.choice(signs) if rng.random() < 0.3 else "")


def call(name: str, kind: t.DataType, *more: Any) -> e.FunctionCall:
    constants = [e.Constant(t.INT if isinstance(m, int) else t.STRING, m) for m in more]
    return e.FunctionCall(kind, name, (e.ColumnRef(t.STRING, "x"), *constants))


def test_random_patterns_match_what_java_matches(spark: SparkSession) -> None:
    rng = random.Random(SEED)
    cases: list[tuple[str, str, int, int]] = []
    ours: list[tuple[Any, ...]] = []
    texts_of = t.ArrayOf(t.STRING)
    accepted = 0
    while accepted < PATTERNS:
        made = pattern(rng)
        if find_problem(made):
            continue
        accepted += 1
        group, limit = rng.randint(0, count_groups(made)), rng.choice([-1, 0, 1, 2, 3])
        texts = [text(rng, plain=r"\b" in made or r"\B" in made) for _ in range(TEXTS)]
        exprs = [
            call("regexp_like", t.BOOLEAN, made),
            call("regexp_count", t.INT, made),
            call("regexp_instr", t.INT, made),
            call("regexp_substr", t.STRING, made),
            call("regexp_extract", t.STRING, made, group),
            call("regexp_extract_all", texts_of, made, group),
            call("regexp_replace", t.STRING, made, rf"<${group}\$>"),
            call("split", texts_of, made, limit),
        ]
        columns = [column.to_pylist() for column in Evaluator().columns(exprs, pa.table({"x": texts}))]
        cases += [(made, x, group, limit) for x in texts]
        ours += list(zip(*columns, strict=True))
    sent = pa.table([*map(list, zip(*cases, strict=True))], ["p", "x", "g", "n"])
    x, p, g = F.col("x"), F.col("p"), F.col("g")
    frame = spark.createDataFrame(sent).coalesce(1)
    found = frame.select(
        F.regexp_like(x, p),
        F.regexp_count(x, p),
        F.regexp_instr(x, p),
        F.regexp_substr(x, p),
        F.call_function("regexp_extract", x, p, g.cast("int")),
        F.regexp_extract_all(x, p, g.cast("int")),
        F.regexp_replace(x, p, F.concat(F.lit("<$"), g.cast("string"), F.lit(r"\$>"))),
        F.split(x, p, F.col("n").cast("int")),
    )
    theirs = [tuple(row) for row in found.collect()]
    different = [(c, a, b) for c, a, b in zip(cases, ours, theirs, strict=True) if a != b]
    assert different[:5] == []


HOSTILE = [(r"(.*a){25}b", "a" * 60), (r"(a+)+b", "a" * 2_000), (r"(\w+\s?)+:", "word " * 400)]


@pytest.mark.parametrize(("hostile", "value"), HOSTILE)
def test_hostile_patterns_end_at_once_on_spark_too(spark: SparkSession, hostile: str, value: str) -> None:
    frame = spark.createDataFrame(pa.table({"x": [value, None]}))
    column = compile_expression(call("regexp_extract", t.STRING, hostile, 0))
    assert [row[0] for row in frame.select(column).collect()] == ["", None]


def test_like_ends_at_once_on_spark_too(spark: SparkSession) -> None:
    frame = spark.createDataFrame(pa.table({"x": ["a" * 400, "a" * 400 + "b", None], "p": ["%a" * 30 + "%b"] * 3}))
    like = e.Like(t.BOOLEAN, e.ColumnRef(t.STRING, "x"), e.ColumnRef(t.STRING, "p"))
    assert [row[0] for row in frame.select(compile_expression(like)).collect()] == [False, True, None]
