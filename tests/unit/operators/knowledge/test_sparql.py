"""The group graph patterns of PATH: what is read, what is refused and where, and what is printed."""

from __future__ import annotations

import sys

import pyoxigraph as ox
import pytest

from presage.operators.knowledge.sparql_parser import parse_group
from presage.operators.knowledge.sparql_printer import print_group
from presage.operators.knowledge.sparql_simplify import simplified
from presage.operators.knowledge.sparql_syntax import (
    Alternative,
    And,
    Arith,
    Bind,
    Blank,
    Call,
    Compare,
    Exists,
    Expression,
    Filter,
    Group,
    In,
    Inverse,
    Iri,
    Literal,
    Neg,
    NegatedSet,
    Not,
    OneOrMore,
    Optional,
    Or,
    Pos,
    Sequence,
    SparqlError,
    SubGroup,
    SubSelect,
    Term,
    Triple,
    Union,
    Values,
    Var,
    ZeroOrMore,
    ZeroOrOne,
    mapped,
    visible,
    walk,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIXES = {
    "": "http://x/",
    "ex": "http://x/",
    "e-x.y": "http://x/",
    "é": "http://x/",
    "bad": "no iri ",
    "rdf": RDF,
    "xsd": XSD,
    "bd": "http://cei.usc.edu/Building.owl#",
    "ee": "http://cei.usc.edu/Equipment.owl#",
    "hvc": "http://cei.usc.edu/HVAC.owl#",
    "org": "http://cei.usc.edu/Organization.owl#",
    "evt": "http://cei.usc.edu/Event.owl#",
}
HEAD = " ".join(f"PREFIX {prefix}: <{iri}>" for prefix, iri in PREFIXES.items() if prefix != "bad")
X, Y, S, P, O = Var("x"), Var("y"), Var("s"), Var("p"), Var("o")  # noqa: E741
A, B, C = Iri("http://x/a"), Iri("http://x/b"), Iri("http://x/c")
TYPE, FIRST, REST, NIL = (Iri(RDF + name) for name in ("type", "first", "rest", "nil"))


def parse(text: str) -> Group:
    return parse_group(text, PREFIXES)


def elements(text: str) -> tuple[object, ...]:
    return parse(text).elements


def term(text: str) -> Term:
    """A term, as the object of a triple."""
    (triple,) = parse(f"?s ?p {text}").elements
    assert isinstance(triple, Triple)
    return triple.object


def path(text: str) -> object:
    (triple,) = parse(f"?s {text} ?o").elements
    assert isinstance(triple, Triple)
    return triple.predicate


def expression(text: str) -> Expression:
    (filter_,) = parse(f"FILTER({text})").elements
    assert isinstance(filter_, Filter)
    return filter_.expression


def number(lexical: str, kind: str = "integer") -> Literal:
    return Literal(lexical, XSD + kind)


ONE, TWO, THREE = number("1"), number("2"), number("3")


# -- terms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<http://x/a>", "http://x/a"),
        ("<http://x/\\u0061\\U0001F600>", "http://x/a\U0001f600"),
        ("ex:a", "http://x/a"),
        (":a", "http://x/a"),
        (":", "http://x/"),
        ("e-x.y:a", "http://x/a"),
        ("é:ü", "http://x/ü"),
        ("ex:a.b.c", "http://x/a.b.c"),
        ("ex:a-b:c", "http://x/a-b:c"),
        ("ex:1", "http://x/1"),
        ("ex:a%20b", "http://x/a%20b"),
        ("ex:a\\.b\\,\\(c\\)\\/\\~\\'\\#", "http://x/a.b,(c)/~'#"),
        ("ex:\\%41", "http://x/%41"),
        ("ex:_", "http://x/_"),
    ],
)
def test_an_iri_is_read_in_full_and_by_its_prefix(text: str, value: str) -> None:
    assert term(text) == Iri(value)


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("1", number("1")),
        ("-1", number("-1")),
        ("+01", number("+01")),
        ("1.5", number("1.5", "decimal")),
        (".5", number(".5", "decimal")),
        ("-.5", number("-.5", "decimal")),
        ("1e3", number("1e3", "double")),
        ("1.E3", number("1.E3", "double")),
        (".5e-3", number(".5e-3", "double")),
        ("true", Literal("true", XSD + "boolean")),
        ("FALSE", Literal("false", XSD + "boolean")),
        ("''", Literal("")),
        ('""""""', Literal("")),
        ("'a\"b'", Literal('a"b')),
        ('"""a "quoted" \'text\'\nin two lines"""', Literal("a \"quoted\" 'text'\nin two lines")),
        ("'''it''s'''", Literal("it''s")),
        ("'# no comment'", Literal("# no comment")),
        (r"'\t\b\n\r\f\"\'\\'", Literal("\t\b\n\r\f\"'\\")),
        (r"'\u00e9\U0001F600\\u0041'", Literal("é\U0001f600\\u0041")),
        ("'chat'@FR-be", Literal("chat", RDF + "langString", "fr-be")),
        ("'1'^^xsd:byte", Literal("1", XSD + "byte")),
        ("'1' ^^ <http://t>", Literal("1", "http://t")),
        ("'a'^^xsd:string", Literal("a")),
    ],
)
def test_a_literal_is_read_with_its_type(text: str, literal: Literal) -> None:
    assert term(text) == literal


def test_a_dot_after_a_number_or_a_name_ends_the_triple() -> None:
    assert elements("?s ?p 1.?s ?p ex:a.?s ?p 1.5.") == (
        Triple(S, P, ONE),
        Triple(S, P, A),
        Triple(S, P, number("1.5", "decimal")),
    )


def test_a_variable_has_one_name_under_both_signs() -> None:
    assert elements("?x ?é_1 $x") == (Triple(X, Var("é_1"), X),)
    assert elements("?1 ?p $0a") == (Triple(Var("1"), P, Var("0a")),)


def test_comments_end_with_the_line() -> None:
    assert elements("# ?a ?b ?c\n?s ?p # . FILTER\r <http://x/a#b> # end") == (Triple(S, P, Iri("http://x/a#b")),)


# -- triples -----------------------------------------------------------------------------------------


def test_lists_of_properties_and_objects_become_triples() -> None:
    assert elements("?s a :a , :b ; ?p ?o ;; :c 1 ; .") == (
        Triple(S, TYPE, A),
        Triple(S, TYPE, B),
        Triple(S, P, O),
        Triple(S, C, ONE),
    )


def test_brackets_are_blank_nodes_with_labels_that_the_text_does_not_use() -> None:
    assert elements("[] ?p _:b0 , [ ?x ?y ; :a [] ]") == (
        Triple(Blank("b1"), P, Blank("b0")),
        Triple(Blank("b2"), X, Y),
        Triple(Blank("b2"), A, Blank("b3")),
        Triple(Blank("b1"), P, Blank("b2")),
    )
    assert elements("[ a :a ]") == (Triple(Blank("b0"), TYPE, A),)
    assert elements("[ a :a ] :b 1") == (Triple(Blank("b0"), TYPE, A), Triple(Blank("b0"), B, ONE))


def test_a_collection_is_a_chain_of_cells() -> None:
    one, two = Blank("b1"), Blank("b0")
    cells = (Triple(one, FIRST, ONE), Triple(one, REST, two), Triple(two, FIRST, X), Triple(two, REST, NIL))
    assert elements("(1 ?x)") == cells
    assert elements("?s ?p (1 ?x)") == (*cells, Triple(S, P, one))
    assert elements("(1 ?x) ?p ()") == (*cells, Triple(one, P, NIL))


def test_a_label_is_one_node_across_a_filter_of_the_same_group() -> None:
    a = Blank("a")
    text = "_:a :b 1 FILTER EXISTS { ?x ?p ?y } _:a :c 2"
    assert elements(text)[:2] == (Triple(a, B, ONE), Triple(a, C, TWO))
    # Oxigraph refuses the text as it stands, but not as we print it.
    ox.Store().query(f"SELECT * {{ {print_group(parse(text))} }}")


# -- paths -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (":a", A),
        ("a", TYPE),
        ("(((:a)))", A),
        ("^:a", Inverse(A)),
        ("^:a*", Inverse(ZeroOrMore(A))),
        ("(^:a)*", ZeroOrMore(Inverse(A))),
        ("^(^:a)", Inverse(Inverse(A))),
        (":a+", OneOrMore(A)),
        (":a?", ZeroOrOne(A)),
        ("(:a*)?", ZeroOrOne(ZeroOrMore(A))),
        (":a/:b/^:c", Sequence((A, B, Inverse(C)))),
        (":a|:b/:c", Alternative((A, Sequence((B, C))))),
        ("(:a|:b)/:c", Sequence((Alternative((A, B)), C))),
        (":a/(:b/:c)", Sequence((A, Sequence((B, C))))),
        ("!:a", NegatedSet((A,))),
        ("!a", NegatedSet((TYPE,))),
        ("!^:a", NegatedSet((), (A,))),
        ("!(:a|^:b|:c)", NegatedSet((A, C), (B,))),
        ("!(:a)*", ZeroOrMore(NegatedSet((A,)))),
        ("^!(:a)", Inverse(NegatedSet((A,)))),
    ],
)
def test_a_path_binds_as_in_the_grammar(text: str, tree: object) -> None:
    assert path(text) == tree


def test_a_sign_belongs_to_the_number_and_a_question_mark_to_the_variable() -> None:
    assert elements("?s :a+1") == (Triple(S, A, number("+1")),)
    assert elements("?s :a+ 1") == (Triple(S, OneOrMore(A), ONE),)
    assert elements("?s :a?x") == (Triple(S, A, X),)
    assert elements("?s :a??x") == (Triple(S, ZeroOrOne(A), X),)


def test_a_positive_number_is_printed_so_that_no_path_swallows_its_sign() -> None:
    store = ox.Store()
    store.load(b"<http://x/s> <http://x/a> <http://x/t> . <http://x/t> <http://x/a> 1 .", ox.RdfFormat.TURTLE)
    rows = store.query(f"SELECT ?s {{ {print_group(parse('?s :a +1'))} }}")
    assert [row["s"].value for row in rows] == ["http://x/t"]


# -- expressions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("?x || ?y && ?s", Or((X, And((Y, S))))),
        ("(?x || ?y) && ?s", And((Or((X, Y)), S))),
        ("?x && ?y && ?s", And((X, Y, S))),
        ("(?x && ?y) && ?s", And((And((X, Y)), S))),
        ("!?x = ?y", Compare("=", Not(X), Y)),
        ("!(?x = ?y)", Not(Compare("=", X, Y))),
        ("!!?x", Not(Not(X))),
        ("?x + ?y * ?s", Arith("+", X, Arith("*", Y, S))),
        ("?x - ?y - ?s", Arith("-", Arith("-", X, Y), S)),
        ("?x / ?y * ?s", Arith("*", Arith("/", X, Y), S)),
        ("?x -1", Arith("+", X, number("-1"))),
        ("?x-1*2-3", Arith("+", Arith("+", X, Arith("*", number("-1"), TWO)), number("-3"))),
        ("?x - 1", Arith("-", X, ONE)),
        ("?x - -1", Arith("-", X, number("-1"))),
        ("1+2", Arith("+", ONE, number("+2"))),
        ("-?x * ?y", Arith("*", Neg(X), Y)),
        ("- 1", Neg(ONE)),
        ("--1", Neg(number("-1"))),
        ("-(!(-?x))", Neg(Not(Neg(X)))),
        ("!-?x", Not(Neg(X))),
        ("-1", number("-1")),
        ("+?x", Pos(X)),
        ("?x + 1 < ?y - 2", Compare("<", Arith("+", X, ONE), Arith("-", Y, TWO))),
        ("?x<?y&&?s>1", And((Compare("<", X, Y), Compare(">", S, ONE)))),
        ("?x<=?y||?s>1", Or((Compare("<=", X, Y), Compare(">", S, ONE)))),
        ("?x<<http://x/a>", Compare("<", X, A)),
        ("?x != :a", Compare("!=", X, A)),
        ("?x IN (1, :a)", In(X, (ONE, A))),
        ("?x NOT IN ()", In(X, (), True)),
        ("?x + 1 in (2) && ?y", And((In(Arith("+", X, ONE), (TWO,)), Y))),
        ("bound(?x)", Call("BOUND", (X,))),
        ("isURI(?x)", Call("ISIRI", (X,))),
        ("regex(?x, 'a', \"i\")", Call("REGEX", (X, Literal("a"), Literal("i")))),
        ("Concat()", Call("CONCAT")),
        ("NOW()", Call("NOW")),
        ("BNODE()", Call("BNODE")),
        ("xsd:integer(?x)", Call(Iri(XSD + "integer"), (X,))),
        ("if(?x, :a, 1)", Call("IF", (X, A, ONE))),
        ("not exists { ?s ?p ?o }", Exists(Group((Triple(S, P, O),)), True)),
        ("EXISTS {} || ?x", Or((Exists(Group()), X))),
        ("true", Literal("true", XSD + "boolean")),
    ],
)
def test_an_expression_binds_as_in_the_grammar(text: str, tree: Expression) -> None:
    assert expression(text) == tree


# -- groups ------------------------------------------------------------------------------------------


def test_every_kind_of_element_is_read() -> None:
    t, u = Group((Triple(S, P, O),)), Group((Triple(X, A, Y),))
    assert elements("OPTIONAL { ?s ?p ?o } . { ?s ?p ?o } MINUS { ?x :a ?y } {?s ?p ?o} UNION {?x :a ?y} UNION {}")[
        :2
    ] == (
        Optional(t),
        SubGroup(t),
    )
    assert elements("{?s ?p ?o} union {?x :a ?y} UNION {}") == (Union((t, u, Group())),)
    assert elements("BIND (?x + 1 AS ?y)") == (Bind(Arith("+", X, ONE), Y),)
    assert elements("FILTER regex(?x, 'a') FILTER EXISTS {?s ?p ?o} . FILTER(?x)") == (
        Filter(Call("REGEX", (X, Literal("a")))),
        Filter(Exists(t)),
        Filter(X),
    )
    assert elements("VALUES ?x { 1 :a UNDEF 'a'@en }") == (
        Values((X,), ((ONE,), (A,), (None,), (Literal("a", RDF + "langString", "en"),))),
    )
    assert elements("VALUES (?x ?y) { (1 UNDEF) (:a -1) }") == (Values((X, Y), ((ONE, None), (A, number("-1")))),)
    assert elements("VALUES () { () () }") == (Values((), ((), ())),)
    assert elements("") == ()


def test_filters_stand_last_since_they_hold_for_the_whole_group() -> None:
    assert elements("FILTER(?x) ?s ?p ?o . FILTER(?y) BIND(1 AS ?z)") == (
        Triple(S, P, O),
        Bind(ONE, Var("z")),
        Filter(X),
        Filter(Y),
    )


def test_a_sub_select_keeps_its_group_as_a_tree_and_the_rest_as_text() -> None:
    text = """{ select distinct ?s (count(distinct *) as ?n) (GROUP_CONCAT(?o; separator=', ') AS ?all)
                where { ?s :a ?o } group by ?s (str(?o) as ?k) having (sum(?o) > 1) order by desc(?n) ?s
                offset 2 limit 1 values ?s { :a } }"""
    ((select,),) = (group.group.elements for group in parse(text).elements if isinstance(group, SubGroup))
    assert isinstance(select, SubSelect)
    assert select.group == Group((Triple(S, A, O),))
    assert select.projected == ("s", "n", "all")
    assert select.head == 'SELECT DISTINCT ?s (COUNT(DISTINCT *) AS ?n) (GROUP_CONCAT(?o ; SEPARATOR = ", ") AS ?all)'
    assert select.tail == (
        "GROUP BY ?s (STR(?o) AS ?k) HAVING (SUM(?o) > 1) ORDER BY DESC(?n) ?s LIMIT 1 OFFSET 2 "
        "VALUES (?s) { (<http://x/a>) }"
    )
    assert select.variables() == {"s", "o", "n", "all", "k"}
    assert visible(select) == {"s", "n", "all"}


def test_a_sub_select_of_everything_projects_what_its_group_can_bind() -> None:
    (select,) = elements("SELECT * { ?s :a ?o MINUS { ?x ?y 1 } FILTER(?z > 1) }")
    assert isinstance(select, SubSelect)
    assert select.projected == ("o", "s")
    assert select.variables() == {"s", "o", "x", "y", "z"}


def test_variables_are_all_and_visible_ones_those_that_can_be_bound() -> None:
    group = parse(
        "?a :p* [ ?b 1 ] OPTIONAL { ?c :p ?d } MINUS { ?e :p ?f } { ?g :p 1 } UNION { BIND(?h AS ?i) }"
        " VALUES (?j) {} { SELECT ?k { ?k :p ?l } } FILTER(?m && EXISTS { ?n :p ?o })"
    )
    assert group.variables() == set("abcdefghijklmno")
    assert visible(group) == set("abcdgijk")


def test_spans_point_into_the_text_of_the_user() -> None:
    query = "WHERE PATH { ?s :a/:b ?o ; a :c . FILTER(?o > ?missing) }"
    inner = query[query.index("{") + 1 : -1]
    group = parse_group(inner, PREFIXES, query.index("{") + 1)

    def said(node: object) -> str:
        return query[node.span.start : node.span.end]  # type: ignore[attr-defined]

    assert [said(element) for element in group.elements] == ["?s :a/:b ?o", "a :c", "FILTER(?o > ?missing)"]
    found = {said(node) for node in walk(group)}
    assert {"?s", ":a/:b", ":a", ":b", "?o", "a", ":c", "?o > ?missing", "?missing"} <= found
    assert said(group) == "?s :a/:b ?o ; a :c . FILTER(?o > ?missing)"


# -- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("SERVICE <http://x> { ?s ?p ?o }", "SERVICE", "SERVICE asks another endpoint"),
        ("?s ?p ?o . service silent ?x { }", "service", "SERVICE asks another endpoint"),
        ("GRAPH ?g { ?s ?p ?o }", "GRAPH", "one graph"),
        ("{ OPTIONAL { Graph :g { ?s ?p ?o } } }", "Graph", "one graph"),
        ("{ SELECT ?s FROM <http://x> { ?s ?p ?o } }", "FROM", "data set"),
        ("SELECT * FROM NAMED <http://x> { ?s ?p ?o }", "FROM", "data set"),
        ("INSERT DATA { :a :b :c }", "INSERT", "update"),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE", "update"),
        ("LOAD <http://x>", "LOAD", "update"),
        ("CLEAR ALL", "CLEAR", "update"),
        ("DROP GRAPH :g", "DROP", "update"),
        ("CONSTRUCT { } WHERE { }", "CONSTRUCT", "CONSTRUCT is not allowed"),
        ("PREFIX ex: <http://x>", "PREFIX", "before the query"),
        ("LATERAL { ?s ?p ?o }", "LATERAL", "no part of SPARQL 1.1"),
        ("<< ?s ?p ?o >> ?x ?y", "<<", "triples about triples"),
        ("?x ?y << ?s ?p ?o >>", "<<", "triples about triples"),
        ("?s ?p <<( ?x ?y 1 )>>", "<<", "triples about triples"),
        ("?s ?p ?o {| ?x ?y |}", "{|", "triples about triples"),
        ("BIND(<< :a :b :c >> AS ?t)", "<<", "triples about triples"),
        ("FILTER(isTriple(?x))", "isTriple", "no function isTriple"),
        ("?s nope:a ?o", "nope:", "the prefix 'nope:' is not declared"),
        ("?s ?p '1'^^nope:int", "nope:", "the prefix 'nope:' is not declared"),
        ("?s ?p bad:a", "bad:a", "no IRI"),
        ("?s <rel> ?o", "<rel>", "relative"),
        ("?s <http://x/\\u0020> ?o", "<http://x/\\u0020>", "holds ' '"),
        ("?s <http://x/%2> ?o", "<http://x/%2>", "holds '%'"),
        ("?s <http://x/ a> ?o", "<", "begins no IRI"),
        ("?s ?p 'a", "'a", "does not end"),
        ("?s ?p '''a'", "'''a'", "does not end"),
        ("?s ?p 'a\nb'", "'a", "does not end"),
        ("?s ?p 'a\\xb'", "\\x", "unknown escape"),
        ("?s ?p 'a\\u12'", "\\u", "unknown escape"),
        ("?s ?p 'a\\uD800'", "\\uD800", "unknown escape"),
        ("?s ?p '\ud800'", "\ud800", "surrogate"),
        ("\\u003fs ?p ?o", "\\", "backslash"),
        ("?s ?p ?o ?x", "?x", "expected '.', ';' or ','"),
        ("?s ?p", None, "the pattern ends, expected an object"),
        ("?s", None, "expected a property"),
        ("?s 'p' ?o", "'p'", "expected a property"),
        ("?s A ?o", "A", "expected a property"),
        ("?s ?p ?o . . ?x ?y 1", ".", "expected a triple"),
        (". ?s ?p ?o", ".", "expected a triple"),
        ("?s ?p ?o }", "}", "expected a triple"),
        ("{ ?s ?p ?o", None, "or '}'"),
        ("[]", None, "expected a property"),
        ("()", None, "expected a property"),
        ("[ ]", None, "expected a property"),
        ("?s ?p [ :a 1", None, "expected ']'"),
        ("?s ?p ( 1 ", None, "expected a member of the list"),
        ("?s !() ?o", ")", "expected an IRI to exclude"),
        ("?s ^^:a ?o", "^^", "expected a property"),
        ("?s :a** ?o", "*", "expected an object"),
        ("?s :a{2} ?o", "{", "expected an object"),
        ("?s (:a|?x) ?o", "?x", "expected a property"),
        ("?s ?p _:a . OPTIONAL { _:a ?p 1 }", "_:a", "another part of the pattern"),
        ("_:a ?p 1 { } _:a ?p 2", "_:a", "another part of the pattern"),
        ("?s ?p ?o UNION { }", "UNION", "expected a triple"),
        ("OPTIONAL ?s ?p ?o", "?s", "expected '{'"),
        ("FILTER ?x > 1", "?x", "expected '(' or a function after FILTER"),
        ("FILTER !bound(?x)", "!", "expected '(' or a function after FILTER"),
        ("FILTER true", "true", "expected '(' or a function after FILTER"),
        ("FILTER :a", None, "expected '(' after the function"),
        ("FILTER()", ")", "expected a value"),
        ("FILTER(?x = )", ")", "expected a value"),
        ("FILTER(?x ?y)", "?y", "expected an operator or ')'"),
        ("FILTER(1 = 2 = 3)", "=", "no second comparison"),
        ("FILTER(1 < 2 IN (3))", "IN", "no second comparison"),
        ("FILTER(?x NOT 1)", "1", "expected IN"),
        ("FILTER(- - ?x)", "-", "expected a value"),
        ("FILTER(_:a)", "_:a", "expected a value"),
        ("FILTER(bound(1))", "1", "expected a variable"),
        ("FILTER(if(1, 2))", "if(1, 2)", "if takes 3 arguments, not 2"),
        ("FILTER(str())", "str()", "str takes 1 argument, not 0"),
        ("FILTER(substr('a'))", "substr('a')", "takes 2 or 3 arguments, not 1"),
        ("FILTER(nofunc(1))", "nofunc", "no function nofunc"),
        ("FILTER(?x AND ?y)", "AND", "expected an operator or ')'"),
        ("FILTER(<http://x/f>(1))", "<http://x/f>", "no function <http://x/f>"),
        ("FILTER(xsd:integer(1, 2))", "xsd:integer(1, 2)", "a cast takes 1 argument, not 2"),
        ("FILTER(count(?x) > 1)", "count", "only a sub-select"),
        ("SELECT (count(*) AS ?n) { FILTER(sum(?x)) }", "sum", "only a sub-select"),
        ("SELECT (count(sum(?x)) AS ?n) { }", "sum", "only a sub-select"),
        ("BIND(1)", ")", "expected an operator or AS"),
        ("BIND(1 AS x)", "x", "expected a variable"),
        ("?s ?p ?o BIND(1 AS ?s)", "?s", "'?s' is bound before this BIND"),
        ("VALUES (?x ?x) { }", "?x", "is in this VALUES already"),
        ("VALUES (?x ?y) { (1) }", "(1)", "a row of 1 for 2 variables"),
        ("VALUES ?x { ?y }", "?y", "expected an IRI, a literal, UNDEF or '}'"),
        ("VALUES ?x { _:a }", "_:a", "expected an IRI, a literal, UNDEF or '}'"),
        ("SELECT { }", "{", "expected '*', a variable or '('"),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", "*", "does not go with GROUP BY"),
        ("SELECT (1 AS ?s) { ?s ?p ?o }", "?s", "bound in this sub-select"),
        ("SELECT ?s (1 AS ?s) { }", "?s", "is selected already"),
        ("SELECT ?s { } LIMIT -1", "-1", "a whole number after LIMIT"),
        ("SELECT ?s { } LIMIT 1 LIMIT 2", "LIMIT", "no second LIMIT"),
        ("SELECT ?s { } . ?s ?p ?o", ".", "expected a triple"),
        ("?s ?p ?o . SELECT ?s { }", "SELECT", "expected a triple"),
        ("?s ?p ?o . ~", "~", "the character '~' means nothing here"),
    ],
)
def test_what_is_refused_is_refused_at_its_place(text: str, place: str | None, reason: str) -> None:
    with pytest.raises(SparqlError) as refusal:
        parse_group(text, PREFIXES, 7)
    assert reason in refusal.value.message
    start, end = refusal.value.span
    if place is None:
        assert (start, end) == (7 + len(text), 8 + len(text))
    else:
        assert text[start - 7 : end - 7] == place


@pytest.mark.parametrize(
    "text",
    [
        "{" * 5000,
        "FILTER(" + "(" * 5000,
        "FILTER(" + "!" * 5000 + "?x)",
        "FILTER(" + "-(" * 5000 + "?x)",
        "FILTER(" + "str(" * 5000,
        "FILTER(" + " + ".join(["1"] * 5000) + ")",
        "FILTER(" + "(" * 50 + "1" + " + 1)" * 50 + " + 1" * 190 + ")",
        "SELECT (" + " + ".join(["1"] * 5000) + " AS ?x) {}",
        "?s " + "(" * 5000,
        "?s ?p " + "(" * 5000,
        "?s ?p " + "[ :a " * 5000,
        "FILTER EXISTS {" * 5000,
    ],
)
def test_what_is_too_deep_is_refused_and_never_runs_out_of_stack(text: str) -> None:
    with pytest.raises(SparqlError, match=r"nested more than|more than 200 levels"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 60 + "}" * 60,
        "FILTER(" + "(" * 60 + "1" + ")" * 60 + ")",
        "FILTER(" + "!" * 60 + "?x)",
        "FILTER(" + "-(" * 30 + "?x" + ")" * 30 + ")",
        "FILTER(" + " + ".join(["1"] * 190) + ")",
        "FILTER(" + " && ".join(["1"] * 2000) + ")",
        "?s " + "(" * 60 + ":a" + ")*" * 60 + " ?o",
        "?s " + "^(" * 60 + ":a" + ")" * 60 + " ?o",
        "?s ?p (" + " 1" * 100 + ")",
        "?s ?p " + "[ :a " * 60 + "1" + "]" * 60,
        "FILTER EXISTS {" * 60 + "}" * 60,
        "FILTER EXISTS { SELECT * {" * 30 + "}}" * 30,
    ],
)
def test_what_is_deep_but_allowed_needs_little_stack(text: str) -> None:
    limit = sys.getrecursionlimit()
    here, frame = 0, sys._getframe()
    while frame:
        here, frame = here + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(here + 620)
    try:
        group = parse(text)
        printed = print_group(simplified(group))
        assert print_group(parse_group(printed, {})) == printed
        assert hash(group) == hash(mapped(group, lambda node: node))
    finally:
        sys.setrecursionlimit(limit)
    ox.Store().query(f"SELECT * {{ {printed} }}")


def test_a_text_that_could_take_long_is_read_in_no_time() -> None:
    for text in (
        "?s ?p ex:" + "a" * 100_000,
        "?s ?p ex:" + "." * 100_000,
        "'" + "\\" * 100_001,
        '"""' + '"a' * 100_000,
    ):
        try:
            parse(text)
        except SparqlError:
            continue


# -- printing and simplifying ------------------------------------------------------------------------


def test_a_group_is_printed_with_full_iris() -> None:
    text = "?s a/^:b ?o , -1 , 'é\\n'@en ; :c +1 . OPTIONAL { ?s :a* 1.5 } FILTER(?o<1||?x -1 = 0) BIND(- ?x AS ?y)"
    assert print_group(parse(text)) == (
        f"?s <{RDF}type>/^<http://x/b> ?o . ?s <{RDF}type>/^<http://x/b> -1 . "
        f'?s <{RDF}type>/^<http://x/b> "é\\n"@en . ?s <http://x/c> "+1"^^<{XSD}integer> . '
        "OPTIONAL { ?s <http://x/a>* 1.5 . } BIND(- ?x AS ?y) FILTER (?o < 1 || ?x + -1 = 0)"
    )


def test_an_iri_that_would_end_early_is_not_printed() -> None:
    for value in ("http://x/> } DROP ALL #", "http://x/ ", "http://x/\\u003e", "http://x/\n"):
        with pytest.raises(ValueError, match="not an IRI"):
            print_group(Group((Triple(S, Iri(value), O),)))
        with pytest.raises(SparqlError):
            parse_group("?s h:a ?o", {"h": value})


def test_a_string_cannot_end_early() -> None:
    nasty = Literal('" } \\" \' \\')
    assert parse_group(print_group(Group((Triple(S, P, nasty),))), {}).elements == (Triple(S, P, nasty),)


def test_simplified_turns_inverses_and_cuts_sequences() -> None:
    b0, b1 = Blank("b0"), Blank("b1")
    assert simplified(parse("?x ^:a ?y")).elements == (Triple(Y, A, X),)
    assert simplified(parse("?x :a/^:b/:c* ?y")).elements == (
        Triple(X, A, b0),
        Triple(b1, B, b0),
        Triple(b1, ZeroOrMore(C), Y),
    )
    assert simplified(parse("?x ^(:a/:b) ?y")).elements == (Triple(Y, A, b0), Triple(b0, B, X))
    assert simplified(parse("?x :a|:b ?y ; (:a/:b)+ ?s")) == parse("?x :a|:b ?y ; (:a/:b)+ ?s")
    assert simplified(parse("?x ?p ?y . _:b0 :a/:b ?o")).elements[1] == Triple(b0, A, b1)


def test_simplified_goes_into_groups_but_not_into_sub_selects() -> None:
    text = "OPTIONAL {{ ?s ^:a 1 } UNION { FILTER(1 + ?x IN (2, EXISTS { ?s ^:a 1 })) }} { SELECT * { ?x :a/:b ?y } }"
    turned = "OPTIONAL {{ 1 :a ?s } UNION { FILTER(1 + ?x IN (2, EXISTS { 1 :a ?s })) }} { SELECT * { ?x :a/:b ?y } }"
    assert simplified(parse(text)) == parse(turned)


def test_a_fresh_label_is_not_one_that_a_sub_select_uses() -> None:
    text = "?x :a/:b ?y { SELECT ?x { ?x :a _:b0 } ORDER BY EXISTS { ?x :a _:b1 } }"
    assert simplified(parse(text)).elements[0] == Triple(X, A, Blank("b2"))


# -- a corpus, against the evaluator -----------------------------------------------------------------

OFFICE = """?e evt:hasSource ?src . ?src rdf:type ee:AirflowSensor . ?src bd:hasLocation ?loc .
            ?loc rdf:type bd:Office . ?loc bd:belongsTo org:EEDepartment"""
MEETING = """?e1 evt:hasSource ?src1 . ?src1 rdf:type ee:AirflowSensor . ?src1 bd:hasLocation ?loc1 .
             ?loc1 rdf:type bd:MeetingRoom . ?e2 evt:hasSource ?src2 . ?src2 rdf:type ee:AirflowSensor .
             ?src2 bd:hasLocation ?loc2 . ?loc2 rdf:type bd:MeetingRoom """
GREEN = f"{OFFICE} . ?e hvc:airflow ?rate . hvc:GreenOfficeAirflow hvc:hasValue ?gaf . FILTER (?rate > ?gaf)"
CAMPUS = """
@prefix bd: <http://cei.usc.edu/Building.owl#> . @prefix ee: <http://cei.usc.edu/Equipment.owl#> .
@prefix hvc: <http://cei.usc.edu/HVAC.owl#> . @prefix org: <http://cei.usc.edu/Organization.owl#> .
@prefix evt: <http://cei.usc.edu/Event.owl#> . @prefix : <http://x/> .
:e1 evt:hasSource :s1 ; hvc:airflow 600 . :e2 evt:hasSource :s2 ; hvc:airflow 700 . :e3 evt:hasSource :s3 .
:s1 a ee:AirflowSensor ; bd:hasLocation :o1 . :s2 a ee:AirflowSensor ; bd:hasLocation :m1 .
:s3 a ee:AirflowSensor ; bd:hasLocation :o2 .
:o1 a bd:Office ; bd:belongsTo org:EEDepartment . :o2 a bd:Office ; bd:belongsTo org:Library .
:m1 a bd:MeetingRoom ; bd:belongsTo org:EEDepartment . hvc:GreenOfficeAirflow hvc:hasValue 500 .
:a :a :b , :c , 1 , "s"@en ; :b :c ; :list ( 1 [ :c 2.5 ] ) . :b :a :c . :c :b :a ; :\\(d\\) true .
"""


@pytest.mark.parametrize(
    ("text", "solutions"),
    [
        (OFFICE, 1),
        (GREEN, 1),
        (MEETING, 1),
        ("?e evt:hasSource/bd:hasLocation [ a bd:Office ; bd:belongsTo ?org ]", 2),
        ("?e (evt:hasSource|bd:hasLocation)+ ?x . ?x a ?kind", None),
        ("?s :a ?o , 1 ; :b ?x .", None),
        ("?s (:a|^:b)* ?o", None),
        ("?s !(:a|^:b) ?o", None),
        ("?s !:a|^!(^:b) ?o", None),
        (":a :a/:a?/^:b ?o", None),
        (":nowhere :a*/:b* ?o", 0),
        (":nowhere :a/:b* ?o", 0),
        ("?o (:a/:b)* :c", None),
        ("?s :list (1 [ :c ?n ])", 1),
        ("(1 ?x) ^:list ?s", 1),
        ("[ :list [ rdf:rest*/rdf:first ?item ] ]", 2),
        ("?s :\\(d\\) TRUE", 1),
        ("?s ?p 's'@EN", 1),
        ("?s :a 1.?s :b :c.", 1),
        ("?s :a ?o FILTER(?o = 1 || langMatches(lang(?o), '*'))", 2),
        ("?s :a ?o FILTER(isIRI(?o)&&?o!=:b)", 2),
        ("?s :a ?o FILTER NOT EXISTS { ?o :a [] }", 4),
        ("?s :a ?o MINUS { ?o :b ?x }", None),
        ("?s :a ?o OPTIONAL { ?o :b ?x FILTER(?s = :b) }", 5),
        ("{ ?s :a 1 } UNION { ?s :b :a } UNION { }", 3),
        ("VALUES (?s ?x) { (:a 1) (:b UNDEF) (UNDEF 2) } ?s :a ?o", None),
        ("VALUES ?x { 1 2 3 } FILTER(?x -1 IN (0, 2) && ?x<3&&?x>0)", 1),
        ("VALUES ?x { 1 2 3 } BIND(?x*2-1 AS ?y) FILTER(?y NOT IN (1, 5))", 1),
        ("BIND(1 - -1*3 AS ?x) BIND(-?x + 4 AS ?y) FILTER(!(?y != 0))", 1),
        ("BIND(xsd:integer('7') / 2 AS ?x)", 1),
        ("BIND(IF(1<2, concat('a', \"b\", '''c'''), 1/0) AS ?x)", 1),
        ("BIND(COALESCE(?nothing, 1/0, 'else') AS ?x)", 1),
        ("BIND(replace('abc', '(b)', '[$1]', 'i') AS ?x)", 1),
        ("BIND('\\u00e9\\t\\\\\\'' AS ?x)", 1),
        ("BIND(STRDT('1', xsd:byte) AS ?x) BIND(STRLANG('a', 'en') AS ?y)", 1),
        ("BIND(exists { :a :a 1 } && not exists { :a :a 2 } AS ?x)", 1),
        ("{ SELECT ?s (COUNT(*) AS ?n) { ?s :a ?o } GROUP BY ?s HAVING (COUNT(?o) > 1) } ?s :b ?x", 1),
        ("{ SELECT (GROUP_CONCAT(DISTINCT ?n; SEPARATOR='|') AS ?all) { ?s hvc:hasValue ?n } }", 1),
        ("SELECT ?o { :a :a ?o FILTER(isNumeric(?o)) } ORDER BY DESC(?o) LIMIT 1", 1),
        ("{ SELECT * { ?s :a ?o } VALUES ?o { 1 :b } } OPTIONAL { ?o :a ?x }", 2),
        ("{ SELECT ?k (MAX(?o) AS ?m) { ?s hvc:airflow ?o } GROUP BY (1 AS ?k) }", 1),
        ("{ SELECT (COUNT(*) AS ?n) { { SELECT (MAX(?o) AS ?n) { ?s hvc:airflow ?o } } } }", 1),
        ("{} { BIND(1 AS ?x) } { VALUES ?x { 1 2 } }", 1),
        ("# nothing\n", 1),
        ("?s ?p ?o ; # one\n ?q ?o . # two\n FILTER(?p != ?q)", None),
    ],
)
def test_what_is_printed_has_the_solutions_of_what_was_written(text: str, solutions: int | None) -> None:
    store = ox.Store()
    store.load(CAMPUS.encode(), ox.RdfFormat.TURTLE)

    def ask(body: str) -> set[frozenset[tuple[str, str]]]:
        found = store.query(f"{HEAD} SELECT * WHERE {{ {body} }}")
        names = [variable.value for variable in found.variables]
        return {frozenset((name, str(row[name])) for name in names if row[name] is not None) for row in found}

    tree = parse(text)
    # Oxigraph takes `true` in small letters only.
    wanted = ask(text.replace("TRUE", "true"))
    assert len(wanted) == solutions if solutions is not None else wanted
    assert ask(print_group(tree)) == wanted
    assert ask(print_group(simplified(tree))) == wanted
    assert parse_group(print_group(tree), {}) == tree
