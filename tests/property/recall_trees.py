"""Strategies: syntax trees of RECALL and of the commands to recalls, as the parser would build them."""

from __future__ import annotations

from hypothesis import strategies as st

from presage.lang import recall_syntax as r
from presage.lang import syntax as s
from property.syntax_trees import durations, floats, from_items, names, stars, strings, tuples

positive = durations.filter(bool)
flags = st.booleans()


def selects(exprs: st.SearchStrategy[s.Expr], depth: int = 1) -> st.SearchStrategy[r.HistorySelect]:
    """Selects over history, with selects in FROM and in terms down to `depth`."""
    if depth:
        inner = selects(exprs, depth - 1)
        within = st.one_of(
            st.builds(r.ScalarSelect, inner),
            st.builds(r.Exists, inner),
            st.builds(r.InSelect, exprs, inner, flags),
            st.builds(
                r.Over,
                # window(…) is an aggregate with a rule of its own, and is asked over no rows but its window's.
                st.builds(s.Call, names.filter(lambda name: name.upper() != "WINDOW"), tuples(exprs)),
                tuples(exprs),
                tuples(st.builds(r.OrderTerm, exprs, flags, st.none() | flags)),
            ),
        )
        terms = st.one_of(
            exprs,
            within,
            st.builds(s.Not, within),
            st.builds(s.Member, within, names),
            st.builds(s.AllOf, tuples(exprs | within, 2)),
        )
        below = st.builds(r.HistorySource, st.just(""), inner, names)
    else:
        terms, below = exprs, st.nothing()
    plain = st.builds(r.HistorySource, names, alias=st.none() | names, window=st.none() | positive)
    first = plain | below
    joined = st.builds(
        lambda source, on, outer: r.HistorySource(
            source.name, source.select, source.alias, on, outer and on is not None, source.window
        ),
        first,
        st.none() | terms,
        flags,
    )
    order = st.builds(r.OrderTerm, terms, flags, st.none() | flags)
    recalls = (
        st.builds(r.RecallClause, selects(exprs, depth - 1), names, st.none() | positive) if depth else st.nothing()
    )
    return st.builds(
        r.HistorySelect,
        tuples(st.builds(s.SelectItem, terms | stars, st.none() | names), 1, 2),
        st.just(()) | st.builds(lambda one, more: (one, *more), first, tuples(joined, 0, 2)),
        flags,
        st.none() | terms,
        tuples(terms, 0, 2),
        st.none() | terms,
        tuples(order, 0, 2),
        st.none() | st.integers(0, 10**12),
        tuples(recalls, 0, 2) if depth else st.just(()),
    )


def recalled_items(exprs: st.SearchStrategy[s.Expr]) -> st.SearchStrategy[s.FromItem]:
    """Items of FROM with EVENT ID and RECALL behind them."""
    few = selects(exprs)
    last = st.none() | positive
    counts = st.none() | st.integers(1, 10**6)
    paces = st.builds(r.Pace, last, counts, last)
    widths = st.builds(r.Bandwidth, names, floats.filter(bool))
    plain = st.builds(r.RecallClause, few, names, last, flags, paces)
    similar = st.builds(
        r.SimilarClause,
        st.integers(1, 10**6),
        tuples(few, 1, 2),
        names,
        tuples(st.builds(r.NamedSelect, names, few), 0, 2),
        st.none() | durations,
        st.none() | durations,
        tuples(widths, 0, 2),
        last,
        flags,
        paces,
    )
    return st.builds(
        lambda item, event_id, recalls: s.FromItem(
            item.name, item.condition, item.windows, item.alias, event_id=event_id, recalls=recalls
        ),
        from_items,
        tuples(exprs, 0, 2),
        tuples(plain | similar, 1, 2),
    )


commands = st.builds(r.RecallCommand, st.sampled_from(["cancel", "accelerate", "continue"]), strings, st.none() | names)
