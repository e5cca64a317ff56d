"""Strategies: trees of group graph patterns, as the parser would build them."""

from __future__ import annotations

from hypothesis import strategies as st

from presage.operators.knowledge import sparql_syntax as s
from presage.operators.knowledge.namespaces import LANG_STRING, XSD
from presage.operators.knowledge.sparql_expressions import BUILT_INS

names = st.sampled_from(["x", "y", "z", "é", "_1", "x1"])
variables = st.builds(s.Var, names)
iris = st.builds(
    s.Iri, st.sampled_from(["http://x/a", "http://x/p#q", "urn:u:1", "http://x/a%20b", "http://é/ü?q=(1)'"])
)
blanks = st.builds(s.Blank, st.sampled_from(["a", "b0", "c.d-e", "1"]))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["'\"", "\\u0041", "a\nb\r\t"])
typed = st.builds(s.Literal, texts, st.sampled_from([XSD + "string", XSD + "date", "http://x/type"]))
tagged = st.builds(s.Literal, texts, st.just(LANG_STRING), st.sampled_from(["en", "de-at", "zh-hans-cn"]))
numbers = st.one_of(
    st.builds(s.Literal, st.sampled_from(["0", "-1", "+1", "007", "-", "1.0", ""]), st.just(XSD + "integer")),
    st.builds(s.Literal, st.sampled_from(["1.5", "-.5", "+.5", "1.", "1"]), st.just(XSD + "decimal")),
    st.builds(s.Literal, st.sampled_from(["1e3", "1.E-3", "-.5e+1", "+1e0", "INF"]), st.just(XSD + "double")),
    st.builds(s.Literal, st.sampled_from(["true", "false", "1"]), st.just(XSD + "boolean")),
)
literals = typed | tagged | numbers
terms = variables | iris | literals | blanks


def tuples(items: st.SearchStrategy, low: int = 0, high: int = 2) -> st.SearchStrategy:
    return st.lists(items, min_size=low, max_size=high).map(tuple)


negated_sets = st.builds(s.NegatedSet, tuples(iris, 1, 2), tuples(iris, 0, 2)) | st.builds(
    s.NegatedSet, st.just(()), tuples(iris, 1, 2)
)
paths = st.recursive(
    iris | negated_sets,
    lambda inner: st.one_of(
        st.builds(s.Inverse, inner),
        st.builds(s.Sequence, tuples(inner, 2)),
        st.builds(s.Alternative, tuples(inner, 2)),
        st.builds(s.ZeroOrMore, inner),
        st.builds(s.OneOrMore, inner),
        st.builds(s.ZeroOrOne, inner),
    ),
    max_leaves=3,
)
triples = st.builds(s.Triple, terms, variables | paths, terms)


@st.composite
def calls(draw: st.DrawFn, inner: st.SearchStrategy) -> s.Call:
    if draw(st.booleans()):
        cast = draw(st.sampled_from(["string", "integer", "double", "dateTime", "gYear"]))
        return s.Call(s.Iri(XSD + cast), (draw(inner),))
    name = draw(st.sampled_from(sorted(BUILT_INS)))
    low, high = BUILT_INS[name]
    return s.Call(name, draw(tuples(variables if name == "BOUND" else inner, low, 3 if high is None else high)))


def expressions(groups: st.SearchStrategy) -> st.SearchStrategy:
    return st.recursive(
        variables | iris | literals,
        lambda inner: st.one_of(
            st.builds(s.Or, tuples(inner, 2)),
            st.builds(s.And, tuples(inner, 2)),
            st.builds(s.Not, inner),
            st.builds(s.Neg, inner),
            st.builds(s.Pos, inner),
            st.builds(s.Compare, st.sampled_from(["=", "!=", "<", ">", "<=", ">="]), inner, inner),
            st.builds(s.Arith, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
            st.builds(s.In, inner, tuples(inner), st.booleans()),
            st.builds(s.Exists, groups, st.booleans()),
            calls(inner),
        ),
        max_leaves=3,
    )


@st.composite
def values(draw: st.DrawFn) -> s.Values:
    columns = draw(st.lists(variables, unique=True, max_size=3))
    row = tuples(st.none() | iris | literals, len(columns), len(columns))
    return s.Values(tuple(columns), draw(tuples(row)))


SELECTS = [
    ("SELECT DISTINCT ?x ?y", "ORDER BY DESC(?x + 1) LIMIT 1 OFFSET 2", "xy"),
    ("SELECT (COUNT(DISTINCT *) AS ?n)", "HAVING (COUNT(?x) > 1) VALUES (?y) { (1) (UNDEF) }", "n"),
    ('SELECT ?k (GROUP_CONCAT(?y ; SEPARATOR = ", ") AS ?n)', "GROUP BY (STR(?x) AS ?k) ?z", "kn"),
]


def selects(groups: st.SearchStrategy) -> st.SearchStrategy:
    def select(group: s.Group, frame: tuple[str, str, str]) -> s.Group:
        # A sub-select does not make a variable that is bound in it.
        head, tail, projected = frame if not s.visible(group) & {"k", "n"} else ("SELECT ?x", "", "x")
        mentioned = frozenset(name for name in "xyzkn" if f"?{name}" in head + tail)
        return s.Group((s.SubSelect(head, group, tail, tuple(projected), mentioned),))

    return st.builds(select, groups, st.sampled_from(SELECTS))


def _groups(inner: st.SearchStrategy | None) -> st.SearchStrategy:
    """Groups in which the groups are inner ones, as the parser builds them except for the labels of blank nodes."""
    elements = st.lists(triples | triples | values(), max_size=3)
    if inner is None:
        return elements.map(_group)
    inner = inner | selects(inner)
    expression = expressions(inner)
    other = st.one_of(
        st.builds(s.Optional, inner),
        st.builds(s.Union, tuples(inner, 2)),
        st.builds(s.Minus, inner),
        st.builds(s.SubGroup, inner),
        st.builds(s.Bind, expression, variables),
    )
    mixed = st.builds(lambda a, b: a + b, elements, st.lists(other, max_size=2)).flatmap(st.permutations)
    return st.builds(lambda a, b: _group([*a, *b]), mixed, st.lists(st.builds(s.Filter, expression), max_size=1))


def _group(elements: list[s.Element]) -> s.Group:
    """Without the BINDs of a variable that is bound already."""
    kept: list[s.Element] = []
    for element in elements:
        if not (isinstance(element, s.Bind) and element.variable.name in s.visible(s.Group(tuple(kept)))):
            kept.append(element)
    return s.Group(tuple(kept))


def scoped(group: s.Group) -> s.Group:
    """The same tree, in which a label stands in one basic graph pattern alone."""
    number = 0

    def relabelled(node: s.Node) -> s.Node:
        return s.Blank(f"{node.label}g{number}") if isinstance(node, s.Blank) else node

    def renumbered(node: s.Node) -> s.Node:
        nonlocal number
        if isinstance(node, s.SubSelect):
            # `mapped` does not look inside.
            return s.SubSelect(node.head, scoped_inside(node.group), node.tail, node.projected, node.mentioned)
        if not isinstance(node, s.Group):
            return node
        elements = []
        number += 1
        for element in node.elements:
            if isinstance(element, s.Triple):
                element = s.mapped(element, relabelled)
            else:
                number += 1
            elements.append(element)
        return s.Group(tuple(elements))

    def scoped_inside(inside: s.Group) -> s.Group:
        return s.mapped(inside, renumbered)

    return scoped_inside(group)


_group_trees = _groups(_groups(_groups(None)))


@st.composite
def group_trees(draw: st.DrawFn) -> s.Group:
    # Without arguments, so that Hypothesis names it in few words.
    return scoped(draw(_group_trees))
