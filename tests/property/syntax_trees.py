"""Strategies: syntax trees of every kind, as the parser would build them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

from hypothesis import strategies as st

from presage.lang import command_syntax as a
from presage.lang import syntax as s
from presage.lang.identifiers import RESERVED
from presage.lang.prediction_syntax import Predicted
from presage.model.time import MICROS
from presage.model.types import SCALARS, ArrayOf, DataType, DecimalOf, MapOf, StructOf

MONTH = MICROS["month"]
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "%", "||")
KEYWORDS_ELSEWHERE = """
    at first last count key time source all every event values stream min sec day hour month now prefix create show
    array map struct probability error left approximate analysis present streams schema inherits model
    sequence probabilistic markov inference over using filter smooth viterbi particles mle map
    predicted validate window may must tentative
    similar report pause chunks drop before after id bandwidth limit cancel accelerate continue of exists order nulls
    recalls running outer sink sinks
"""

plain_names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,6}", fullmatch=True)
odd_names = st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1, max_size=6)
names = st.one_of(
    plain_names,
    st.sampled_from(KEYWORDS_ELSEWHERE.split()),
    st.sampled_from(sorted(RESERVED)),
    st.sampled_from(["größe", "температура", "温度", "ſelect", "odd name", "a`b", "1st", "--", "a.b", "win", "WINDOW"]),
    odd_names,
)
strings = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(
    ["it's", '"', "''", "\\", "\\n", "a\nb\tc\r", "/*", "--", ";", "`", "{", "\\'", "\\d+"]
)
durations = st.integers(0, 2**53) | st.sampled_from([0, 1, 999, 1_500_000, 90 * 60 * 1_000_000])
floats = st.floats(min_value=0, allow_nan=False, allow_infinity=False) | st.sampled_from([1e300, 5e-324, 1.0, 1e16])
integers = st.integers(0, 10**30) | st.sampled_from([0, 2**31, 2**63, 10**300])
exact = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)
times = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)

spans = st.builds(s.DurationLiteral, durations.filter(bool)) | st.builds(
    lambda n, rest: s.DurationLiteral(n * MONTH + rest, n), st.integers(1, 9), st.integers(0, MONTH - 1)
)
literals = st.one_of(
    st.builds(s.Literal, st.one_of(strings, integers, floats.map(abs), st.booleans(), st.none())),
    st.builds(s.Literal, st.one_of(st.dates(), st.datetimes(timezones=st.just(UTC)), st.binary(max_size=3), exact)),
    spans | st.just(s.DurationLiteral(0)),
    st.builds(s.Name, names),
)


def tuples(elements: st.SearchStrategy, low: int = 1, high: int = 3) -> st.SearchStrategy:
    return st.lists(elements, min_size=low, max_size=high).map(tuple)


types: st.SearchStrategy[DataType] = st.recursive(
    st.sampled_from(list(SCALARS.values())) | st.sampled_from([DecimalOf(1, 0), DecimalOf(10, 2), DecimalOf(38, 38)]),
    lambda inner: st.one_of(
        st.builds(ArrayOf, inner),
        st.builds(MapOf, inner, inner),
        st.builds(StructOf, tuples(st.tuples(names, inner))),
    ),
    max_leaves=4,
)
stars = st.builds(s.Star, st.none() | names)


def _no_word(name: str) -> bool:
    return name.upper() not in RESERVED


def _grow(inner: st.SearchStrategy) -> st.SearchStrategy:
    flags = st.booleans()
    arguments = tuples(inner | stars, 0)
    return st.one_of(
        st.builds(s.Binary, st.sampled_from(ARITHMETIC + COMPARISONS), inner, inner),
        st.builds(s.Unary, st.sampled_from("+-"), inner),
        st.builds(s.Not, inner),
        st.builds(s.AllOf, tuples(inner, 2)),
        st.builds(s.AnyOf, tuples(inner, 2)),
        st.builds(s.Member, inner, names),
        st.builds(s.Index, inner, inner),
        st.builds(s.Method, inner, names, arguments),
        st.builds(s.Call, names, arguments),
        st.builds(s.Call, names, tuples(inner | stars), distinct=st.just(True)),
        st.builds(s.Between, inner, inner, inner, flags, flags, flags),
        st.builds(s.InList, inner, tuples(inner), flags),
        st.builds(s.Like, inner, inner, flags),
        st.builds(s.IsNull, inner, flags),
        st.builds(s.Case, st.none() | inner, tuples(st.tuples(inner, inner), 1, 2), st.none() | inner),
        st.builds(s.Cast, inner, types),
        st.builds(s.RowsSeen, inner, st.just(True)),
        st.builds(s.RowsSeen, st.builds(s.Call, plain_names.filter(_no_word), arguments), st.just(False)),
    )


expressions: st.SearchStrategy[s.Expr] = st.recursive(literals, _grow, max_leaves=12)
small_expressions: st.SearchStrategy[s.Expr] = st.recursive(literals, _grow, max_leaves=4)

windows = st.builds(s.WindowClause, names, tuples(small_expressions, 0, 2))
bounds = st.builds(s.Bound, times, st.booleans()) | st.builds(
    lambda within, span, sign: s.Bound(None, within, sign * span.micros, sign * span.months),
    st.booleans(),
    spans | st.just(s.DurationLiteral(0)),
    st.sampled_from([1, -1]),
)
within = st.builds(s.WithinClause, st.none() | bounds, st.none() | bounds)
from_items = st.builds(s.FromItem, names, st.none() | small_expressions, tuples(windows, 0, 2), alias=st.none() | names)
joined_items = st.builds(
    s.FromItem,
    names,
    st.none() | small_expressions,
    tuples(windows, 0, 2),
    st.none() | names,
    small_expressions,
    st.sampled_from([None, "event", "present"]),
)
predicted_items = st.builds(
    s.FromItem,
    names,
    st.none() | small_expressions,
    alias=st.none() | names,
    on=st.none() | small_expressions,
    predicted=st.just(True),
    valid_window=st.none() | durations,
)
probabilities = st.floats(0, 1)
between_0_and_1 = st.floats(0, 1, exclude_min=True, exclude_max=True)
prefixes = st.builds(
    s.Prefix, plain_names | st.just(""), st.sampled_from(["http://x/y#", "urn:a;b--c", "", "http://é/(a"])
)
queries = st.builds(
    s.Query,
    select=tuples(st.builds(s.SelectItem, small_expressions | stars, st.none() | names)),
    items=st.builds(
        lambda first, more: (first, *more),
        from_items | predicted_items.map(lambda item: replace(item, on=None)),
        tuples(from_items | joined_items | predicted_items, 0, 2),
    ),
    prefixes=tuples(prefixes, 0, 2),
    insert_into=st.none() | names,
    tentative=st.booleans(),
    distinct=st.booleans(),
    within=st.none() | within,
    where=st.none() | small_expressions,
    group_by=tuples(small_expressions, 0, 2),
    having=st.none() | small_expressions,
    output=st.none() | st.builds(s.OutputClause, st.sampled_from(["all", "last", "first"]), durations),
    probability=st.none() | st.builds(s.ProbabilityClause, st.booleans(), probabilities),
    approximate=st.none() | st.builds(s.ApproximateClause, between_0_and_1, between_0_and_1),
    validate=st.none() | durations,
)
columns = st.builds(s.Column, names, types)
option_values = st.one_of(
    strings, integers, integers.map(lambda n: -n), floats, floats.map(lambda x: -x), st.booleans()
)
options = st.builds(s.Option, names | st.sampled_from(["kafka.group.id", "header.X-Key", "a..b", "."]), option_values)
declarations = st.builds(
    s.CreateType,
    st.sampled_from(["schema", "stream"]),
    names,
    tuples(columns, 0),
    tuples(names, 0),
    st.none() | names,
    tuples(names, 0),
    tuples(options, 0),
    predicted=st.none() | st.builds(Predicted, tuples(names)),
    if_not_exists=st.booleans(),
)
relations = st.builds(
    s.CreateRelation, names, tuples(columns), path=strings, options=tuples(options, 0), if_not_exists=st.booleans()
) | st.builds(s.CreateRelation, names, tuples(columns), rows=tuples(tuples(small_expressions)))
value_rows = tuples(tuples(small_expressions), 1, 2)
acting = st.one_of(
    st.builds(a.CreateStatement, names, queries, st.booleans()),
    st.builds(a.CreateStatement, names, queries, options=tuples(options, 0), if_not_exists=st.booleans()),
    st.builds(a.InsertValues, names, value_rows, st.none() | tuples(names)),
    st.builds(a.Advance, strings, st.none() | names),
    st.builds(a.Scenario, strings),
    st.builds(a.Include, strings),
    st.builds(a.Assertion, names, count=st.integers(0, 10**6)),
    st.builds(
        a.Assertion,
        names,
        st.none() | tuples(names),
        value_rows,
        any_order=st.booleans(),
        tolerance=st.none() | floats,
    ),
)
statements: st.SearchStrategy[s.Statement] = st.one_of(
    queries,
    acting,
    declarations,
    relations,
    st.builds(s.CreateSink, names, names, tuples(options, 0), st.booleans()),
    st.builds(s.Explain, queries, st.sampled_from(["text", "svg"])),
    st.builds(s.Show, st.sampled_from(["streams", "statements", "relations", "models", "recalls", "sinks"])),
    st.builds(s.Describe, names),
    st.builds(
        s.Drop, st.sampled_from(["stream", "schema", "relation", "statement", "model", "sink"]), names, st.booleans()
    ),
)
