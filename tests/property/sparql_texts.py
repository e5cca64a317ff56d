"""Strategies: texts of group graph patterns with prefixes and short forms, and small graphs for them."""

from __future__ import annotations

import pyoxigraph as ox
from hypothesis import assume
from hypothesis import strategies as st

PREFIXES = {"": "http://x/", "e.x": "http://x/", "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#"}
HEAD = " ".join(f"PREFIX {prefix}: <{iri}>" for prefix, iri in PREFIXES.items())
SPACES = st.sampled_from([" ", "  ", "\n", "\t", " # ?c . }\n"])


@st.composite
def spaced(draw: st.DrawFn, *parts: str | st.SearchStrategy[str]) -> str:
    drawn = [part if isinstance(part, str) else draw(part) for part in parts]
    return "".join(piece + draw(SPACES) for piece in drawn)


def listed(items: st.SearchStrategy[str], separator: str, low: int = 1, high: int = 3) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=low, max_size=high).map(lambda found: f" {separator} ".join(found))


var_texts = st.sampled_from(["?x", "$x", "?y", "?z"])
iri_texts = st.sampled_from([":a", ":b", "e.x:c", "<http://x/a>", "<http://x/\\u0062>", ":n%20m", ":\\(d\\)"])
data_texts = st.sampled_from(
    ["1", "2", "-1", "1.0", "'s'", '"""s"""', "'s'@EN", "true", '"1"^^<http://t>', "'\\u0073'"]
)
property_texts = st.sampled_from([":p", ":q", "e.x:p", "<http://x/q>", "a", "rdf:first", "rdf:rest"])
path_texts = st.recursive(
    property_texts | st.sampled_from(["!:p", "!(:p|^:q)", "!^a", "!(^:p)"]),
    lambda inner: st.one_of(
        inner.map(lambda path: f"^({path})"),
        property_texts.map(lambda path: f"^{path}"),
        inner.map(lambda path: f"({path})*"),
        inner.map(lambda path: f"({path})+"),
        inner.map(lambda path: f"({path})?"),
        property_texts.map(lambda path: f"^{path}*"),
        listed(inner, "/", 2).map(lambda path: f"({path})"),
        listed(inner, "|", 2).map(lambda path: f"({path})"),
        listed(property_texts, "/", 2, 3),
        listed(property_texts, "|", 2, 2),
    ),
    max_leaves=4,
)
object_texts = st.recursive(
    st.one_of(*[var_texts] * 5, iri_texts, data_texts, st.sampled_from(["[]", "()"])),
    lambda inner: st.one_of(
        listed(inner, "", 1).map(lambda items: f"({items})"),
        spaced("[", property_texts, inner, ";", path_texts, inner, ";", "]"),
        spaced("[", path_texts, listed(inner, ",", 1, 2), "]"),
    ),
    max_leaves=3,
)
pair_texts = spaced(var_texts | path_texts | property_texts, listed(object_texts, ",", 1, 2))
_triple_texts = st.one_of(
    spaced(var_texts | iri_texts | st.just("[]"), listed(pair_texts, ";", 1, 2)),
    spaced(object_texts.filter(lambda text: text[0] in "[(" and len(text) > 2)),
    spaced(object_texts, pair_texts, ";"),
)


# Without arguments, so that Hypothesis names them in few words. With few blank nodes: each multiplies the rows that
# the evaluator goes through.
@st.composite
def triple_texts(draw: st.DrawFn) -> str:
    text = draw(_triple_texts)
    assume(text.count("[") <= 2)
    return text


expression_texts = st.recursive(
    var_texts | var_texts | iri_texts | data_texts | st.sampled_from(["BOUND(?y)", "str(?x)", "?x IN (1, :a, ?y)"]),
    lambda inner: st.one_of(
        listed(inner.map(lambda text: f"({text})"), "||", 2, 3),
        listed(inner.map(lambda text: f"({text})"), "&&", 2, 3),
        st.builds(
            lambda a, op, b: f"{a}{op}{b}", var_texts, st.sampled_from(["<", ">", "=", "!=", "<=", ">="]), var_texts
        ),
        st.sampled_from(["?x -1*2 = 1", "?x+1>?y", "1 - -?x < 3", "?x<?y&&?z>1", "-?x*2 = -2", "1 -1 = 0 || ?x/2 = 1"]),
        inner.map(lambda text: f"!({text})"),
        inner.map(lambda text: f"COALESCE(({text}), ?y, 'none')"),
        inner.map(lambda text: f"isNumeric({text})"),
        st.builds(lambda a, b: f"IF(({a}), ?x, ({b}))", inner, inner),
        st.builds(lambda a, b: f"({a}) NOT IN (({b}), 2)", inner, inner),
    ),
    max_leaves=3,
)


def _groups(inner: st.SearchStrategy[str] | None) -> st.SearchStrategy[str]:
    """Group graph patterns, most of them well formed, in which the groups are inner ones."""
    first = st.builds(lambda text, dot: text + dot, triple_texts(), st.sampled_from([".", ".", ".", ""]))
    if inner is None:
        return first
    other = st.one_of(
        triple_texts().map(lambda text: f"{text} ."),
        spaced("OPTIONAL {", inner, "}"),
        spaced("{", inner, "} union {", inner, "}"),
        spaced("{", inner, "}", "."),
        spaced("MINUS {", inner, "}"),
        spaced("FILTER (", expression_texts, ")", "."),
        spaced("FILTER NOT EXISTS {", inner, "}"),
        spaced("filter exists {", inner, "}"),
        spaced("BIND (", expression_texts, "AS", st.sampled_from(["?z", "?v", "?w"]), ")"),
        spaced("VALUES ?x {", listed(iri_texts | data_texts, "", 0), "}"),
        spaced("VALUES ( ?x $y ) { (", iri_texts, data_texts, ") ( UNDEF", data_texts, ") }"),
        spaced("{ SELECT ?x (COUNT(DISTINCT ?y) AS ?n) {", inner, "} GROUP BY ?x }"),
        spaced("{ SELECT DISTINCT * WHERE {", inner, "} }"),
    )
    parts = st.builds(lambda one, more: [one, *more], first, st.lists(other, max_size=2))
    return parts.flatmap(st.permutations).map("\n".join)


_group_texts = _groups(_groups(_groups(None)))


@st.composite
def group_texts(draw: st.DrawFn) -> str:
    text = draw(_group_texts)
    assume(text.count("[") <= 4)
    return text


# A dense graph: most patterns have solutions in it, and still have some when a few triples are missing.
WORLD = """
:a :p :b , :c , :a , 1 , "s" ; :q :b , 2 , _:k ; a :b , :a ; :n 1 .
:b :p :a , :c , 1 ; :q :c , :a , "s"@en , true ; a :a ; rdf:first 1 ; rdf:rest () .
:c :p :c , 2 ; :q :a , :b , 1 ; a :b ; rdf:first :a ; rdf:rest :b .
_:k :p :a , _:k , 1 ; :q :b ; a :a ; rdf:first 1 , 2 , "s" , :a , _:k ; rdf:rest () , _:k .
:n%20m :p :a , "s" ; :q :n%20m . :\\(d\\) :p :b ; :q :\\(d\\) , true .
"""
TURTLE_HEAD = "".join(f"@prefix {prefix}: <{iri}> ." for prefix, iri in PREFIXES.items())
TRIPLES = list(ox.parse(TURTLE_HEAD + WORLD, ox.RdfFormat.TURTLE))
graphs = st.sets(st.sampled_from(range(len(TRIPLES))), max_size=8).map(
    lambda missing: [triple for number, triple in enumerate(TRIPLES) if number not in missing]
)

# What a text may be made of, by chance.
PIECES = st.sampled_from(
    [
        *[
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ".",
            ",",
            ";",
            "|",
            "/",
            "^",
            "^^",
            "*",
            "+",
            "?",
            "!",
            "!=",
            "<",
            ">",
            "<=",
            ">=",
        ],
        *[
            "=",
            "&&",
            "||",
            "-",
            "<<",
            ">>",
            "{|",
            "é",
            "%",
            "#",
            "\\",
            "\n",
            "?x",
            "$y",
            ":a",
            "e.x:b",
            "un:known",
            "<rel>",
        ],
        *["<http://x/c>", "_:k", "1", "-1", "+2", "1.5", "1e3", "'a'", '"b"', "'''", "@en", '"un', "a", "true"],
        *["OPTIONAL", "UNION", "MINUS", "FILTER", "BIND", "VALUES", "UNDEF", "AS", "IN", "NOT", "EXISTS", "SELECT"],
        *["DISTINCT", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "COUNT", "SUM", "STR", "BOUND"],
        *["NOW", "GRAPH", "SERVICE", "FROM", "INSERT"],
    ]
)
