"""Strategies: syntax trees of patterns and of MATCH_RECOGNIZE, as the parser would build them."""

from __future__ import annotations

from hypothesis import strategies as st

from presage.lang import match_syntax as m
from presage.lang import pattern_syntax as p
from presage.lang.syntax import DurationLiteral, Expr
from property.syntax_trees import names, plain_names, spans, tuples

positive = st.integers(1, 2**40)


def patterns(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[p.PatternSource]:
    """`PATTERN [ … ]`."""
    # A period's value stands before its unit: a name there must not look like RUNNING before a column.
    part = st.builds(p.PeriodPart, exprs, st.none()) | st.builds(
        p.PeriodPart,
        exprs.filter(_no_duration),
        st.sampled_from(["msec", "sec", "min", "hour", "day", "week", "month"]),
    )
    units = st.builds(p.PeriodPart, exprs.filter(_no_duration), st.sampled_from(["sec", "min"]))
    periods = part.map(lambda x: (x,)) | tuples(units, 2, 3)
    arguments = tuples(periods, 0, 2)
    events = st.builds(p.EventTerm, names, st.none() | names, st.none() | exprs, st.sampled_from([0, 0, 1, 7]))
    timers = st.builds(p.TimerTerm, st.sampled_from(["timer:interval", "timer:within"]), arguments)

    def grow(inner: st.SearchStrategy[p.PatternTerm]) -> st.SearchStrategy[p.PatternTerm]:
        return st.one_of(
            tuples(inner, 2, 3).flatmap(
                lambda operands: st.builds(
                    p.FollowedBy, st.just(operands), tuples(st.none() | exprs, len(operands) - 1, len(operands) - 1)
                )
            ),
            st.builds(p.AndTerm, tuples(inner, 2, 3)),
            st.builds(p.OrTerm, tuples(inner, 2, 3)),
            st.builds(p.NotTerm, inner),
            st.builds(p.EveryTerm, inner),
            st.builds(p.EveryDistinctTerm, tuples(exprs), inner),
            st.builds(p.RepeatTerm, inner, st.none() | exprs, st.none() | exprs, inner),
            st.builds(lambda operand, n: p.RepeatTerm(operand, n, n, None), inner, exprs),
            st.builds(p.TimerGuard, inner, st.sampled_from(["timer:within", "timer:withinmax"]), arguments),
            st.builds(p.WhileGuard, inner, exprs),
        )

    terms = st.recursive(events | timers, grow, max_leaves=6)
    return st.builds(p.PatternSource, terms, st.booleans(), st.booleans())


def _no_duration(expr: Expr) -> bool:
    return not isinstance(expr, DurationLiteral)


def _grow_regex(inner: st.SearchStrategy[m.RegexTerm]) -> st.SearchStrategy[m.RegexTerm]:
    bounds = st.one_of(
        st.tuples(st.integers(0, 9), st.none()),
        st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda pair: (min(pair), max(pair))),
    )
    return st.one_of(
        st.builds(m.ConcatTerm, tuples(inner, 2, 4)),
        st.builds(m.AlternativesTerm, tuples(inner, 2, 3)),
        st.builds(lambda x, b, r: m.QuantifiedTerm(x, b[0], b[1], r), inner, bounds, st.booleans()),
        st.builds(m.PermuteTerm, tuples(inner, 1, 3)),
        st.builds(m.ExcludedTerm, inner),
    )


regexes = st.recursive(
    st.one_of(
        st.builds(m.VariableTerm, names),
        st.builds(m.AnchorTerm, st.sampled_from("^$")),
        st.just(m.ConcatTerm(())),
    ),
    _grow_regex,
    max_leaves=6,
)
skips = st.builds(m.SkipClause, st.sampled_from(["past_last", "to_next", "to_current"])) | st.builds(
    m.SkipClause, st.sampled_from(["to_first", "to_last"]), plain_names | names
)


def matches(exprs: st.SearchStrategy[Expr]) -> st.SearchStrategy[m.MatchClause]:
    """`MATCH_RECOGNIZE ( … )`."""

    def build(within: DurationLiteral | None, word: str, terminated: bool, **fields: object) -> m.MatchClause:
        if within is None:
            word, terminated = "WITHIN", False
        made = {"within": within, "within_word": word, "or_terminated": terminated and word == "INTERVAL"}
        return m.MatchClause(**fields, **made)  # type: ignore[arg-type]

    return st.builds(
        build,
        within=st.none() | spans,
        word=st.sampled_from(["WITHIN", "INTERVAL"]),
        terminated=st.booleans(),
        pattern=regexes,
        partition_by=tuples(exprs, 0, 2),
        order_by=tuples(st.builds(m.OrderKey, exprs, st.booleans()), 0, 2),
        measures=tuples(st.builds(m.MeasureItem, exprs, st.none() | names), 0, 2),
        rows=st.sampled_from(["one", "all", "all_omit", "all_unmatched"]),
        skip=skips,
        gap=st.none() | spans,
        emit_timeout=st.booleans(),
        subsets=tuples(st.builds(m.SubsetItem, names, tuples(names)), 0, 2),
        definitions=tuples(st.builds(m.Definition, names, exprs), 0, 2),
    )
