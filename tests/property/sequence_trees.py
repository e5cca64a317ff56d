"""Strategies: syntax trees of SEQUENCE, of probabilistic streams and of models, as the parser would build them."""

from __future__ import annotations

from hypothesis import strategies as st

from presage.lang import sequence_syntax as q
from presage.lang import syntax as s
from property.syntax_trees import columns, floats, integers, names, strings, tuples

constants = strings | st.booleans() | integers | integers.map(lambda n: -n) | floats | floats.map(lambda x: -x)
terms = st.one_of(
    st.builds(q.Variable, names | st.just("_")), st.builds(q.ConstantTerm, constants), st.builds(q.Anything)
)


def sequences(exprs: st.SearchStrategy[s.Expr]) -> st.SearchStrategy[q.SequenceItem]:
    """`SEQUENCE [ … ]`."""
    shared = st.lists(names | st.just("_"), max_size=2, unique=True).map(tuple)
    plus = st.builds(q.KleenePlus, shared, st.none() | exprs)
    subgoals = st.builds(q.Subgoal, names, tuples(terms, 0), st.none() | exprs, st.none() | plus)
    return st.builds(q.SequenceItem, tuples(subgoals), st.sampled_from([None, None, "mle", "map"]))


inferences = st.builds(q.Inference, names, names, st.sampled_from(["filter", "smooth", "viterbi"])) | st.builds(
    q.Inference, names, names, st.just("particles"), st.integers(1, 1_000_000)
)
uncertain_streams = st.builds(
    s.CreateType,
    st.just("stream"),
    names,
    tuples(columns, 0),
    key=tuples(names, 0),
    probabilistic=st.none() | st.builds(q.Probabilistic, tuples(names), st.booleans()),
    inference=st.none() | inferences,
)
models = st.builds(q.CreateModel, names, strings, st.booleans())
