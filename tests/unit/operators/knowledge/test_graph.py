"""The graph of all knowledge bases: reading files, closing, keeping, asking."""

from __future__ import annotations

import threading
from pathlib import Path

import pyoxigraph as ox
import pytest

from presage.errors import PresageError
from presage.operators.knowledge import graph_cache
from presage.operators.knowledge.graph import Graph
from presage.operators.knowledge.owl_terms import OWL, RDF, RDFS, XSD
from presage.operators.knowledge.rdf_files import check_source, parse_source, read_source

SPACES = {"": "http://x/", "rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
PREFIXES = "".join(f"@prefix {prefix}: <{space}> .\n" for prefix, space in SPACES.items())


def turtle(text: str, name: str = "campus.ttl") -> tuple[str, bytes]:
    return name, (PREFIXES + text).encode()


def graph(*texts: str, reasoning: bool = False, cache: Path | None = None) -> Graph:
    return Graph.build([turtle(text, f"{n}.ttl") for n, text in enumerate(texts)], reasoning, cache)


def sparql(query: str) -> str:
    return "".join(f"PREFIX {prefix}: <{space}> " for prefix, space in SPACES.items()) + query


def solutions(found: Graph, query: str, *variables: str) -> set[tuple[str | None, ...]]:
    rows = found.select(sparql(query), variables)
    return {tuple(None if term is None else str(term).replace("http://x/", "") for term in row) for row in rows}


def refusal(data: bytes, name: str) -> str:
    with pytest.raises(PresageError) as caught:
        check_source(data, name)
    assert caught.value.code == "KNOWLEDGE_NOT_RDF"
    assert name in caught.value.message
    return caught.value.message


# -- files ---------------------------------------------------------------------------------------

XML = b"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">
  <rdf:Description rdf:about="http://x/a"><x:p rdf:resource="http://x/b"/></rdf:Description>
</rdf:RDF>"""
TURTLE = b"<http://x/a> <http://x/p> <http://x/b> ."
JSON_LD = b'{"@id": "http://x/a", "http://x/p": {"@id": "http://x/b"}}'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.ttl", TURTLE),
        ("a.nt", TURTLE),
        ("a.n3", TURTLE),
        ("a.nq", b"<http://x/a> <http://x/p> <http://x/b> <http://x/graph> ."),
        ("a.trig", b"<http://x/graph> { <http://x/a> <http://x/p> <http://x/b> }"),
        ("a.rdf", XML),
        ("a.owl", XML),
        ("a.owl", TURTLE),
        ("a.xml", b"\xef\xbb\xbf" + XML),
        ("a.jsonld", JSON_LD),
        ("a.json", JSON_LD),
        ("a.TTL", TURTLE),
        ("a", TURTLE),
        ("a.data", XML),
        ("a.data", JSON_LD),
        ("a.data", b"[ <http://x/p> <http://x/q> ] . <http://x/a> <http://x/p> <http://x/b> ."),
    ],
)
def test_a_file_is_read_in_the_format_of_its_name_or_content(name: str, data: bytes) -> None:
    found = Graph.build([(name, data)], reasoning=False)
    assert found.ask("ASK { <http://x/a> <http://x/p> <http://x/b> }")


def test_what_is_relative_to_a_file_does_not_depend_on_its_folder() -> None:
    first, second = (list(parse_source(b"<> a <#b> .", path)) for path in ("/one/a b.ttl", "two/a b.ttl"))
    assert first == second
    assert first[0].subject == ox.NamedNode("file:///a%20b.ttl")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.ttl", b"<a:x> <a:y> .\n", "cannot be read as Turtle: line 1, column 13"),
        ("a.nt", b"\n<a:x> foo <a:y> .\n", "cannot be read as N-Triples: line 2"),
        ("a.rdf", b"<?xml version='1.0'?><a><b></a>", "cannot be read as RDF/XML"),
        ("a.jsonld", b'{"a"', "cannot be read as JSON-LD: line 1"),
        ("a.txt", b"Dear Sir or Madam", "cannot be read as"),
        ("a.ttl", b"\xff\xfe\x00", "line 1, column 1: Invalid UTF-8"),
        ("a.n3", b"@prefix : <a:> . { :a :b :c } => { :d :e :f } .", "a formula { … } is no triple"),
        ("a.owl", b"<?xml version='1.0'?>\n<!-- x -->\n<Ontology xmlns='http://o/'></Ontology>", "it is OWL/XML"),
        ("a.jsonld", b'{"@context": "http://x/c", "p": 1}', "a JSON-LD context on the network is not fetched"),
        ("a.jsonld", b'{"@context": {"@import": "http://x/c"}}', "a JSON-LD context on the network is not fetched"),
    ],
)
def test_what_is_not_rdf_is_refused_with_its_place(name: str, data: bytes, message: str) -> None:
    assert message in refusal(data, name)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PresageError) as caught:
        read_source(tmp_path / "none.ttl")
    assert caught.value.code == "FILE_NOT_FOUND"
    with pytest.raises(PresageError) as caught:
        read_source(tmp_path)
    assert caught.value.code == "FILE_UNREADABLE"


# -- the graph -----------------------------------------------------------------------------------


def test_all_files_are_one_graph_and_their_blank_nodes_stay_apart() -> None:
    found = graph("_:b :p :a . :x :q _:b .", "_:b :p :c .")
    assert solutions(found, "SELECT ?o WHERE { ?b :p :a ; :p ?o }", "o") == {("<a>",)}
    assert solutions(found, "SELECT ?o WHERE { :x :q/:p ?o }", "o") == {("<a>",)}
    assert len(found) == 3


def test_blank_nodes_have_the_same_names_each_time(tmp_path: Path) -> None:
    query = "SELECT ?b WHERE { ?b :p ?o }"
    names = [solutions(graph("[] :p [ :p :c ] .", cache=cache), query, "b") for cache in (None, tmp_path, tmp_path)]
    assert names[0] == names[1] == names[2]
    assert len(names[0]) == 2


def test_terms_stay_what_they_are(tmp_path: Path) -> None:
    text = r""" :a :p "01"^^xsd:integer, 1.50, 1e3, "x"@en, "y"@ar--rtl, "a\"b\\c\nd\te", "é\u0001", "v"^^:dt, true,
               "2020-01-01T00:00:00+00:00"^^xsd:dateTime, "", <http://x/%20é> .
               :a :q <<( _:b :p "x" )>> . _:b :r :a . """
    # The store has its own spellings of numbers and times; nothing else may change them.
    store = ox.Store()
    store.load(PREFIXES + text, ox.RdfFormat.TURTLE)
    stated = {str(quad.object) for quad in store.quads_for_pattern(None, ox.NamedNode("http://x/p"), None)}
    assert len(stated) == 12
    for reasoning in (False, True):
        for _ in range(2):
            found = graph(text, reasoning=reasoning, cache=tmp_path)
            rows = found.select(sparql("SELECT ?o WHERE { :a :p ?o }"), ["o"])
            assert {str(term) for (term,) in rows} == stated
            assert found.ask(sparql("ASK { :a :q <<( ?b :p 'x' )>> . ?b :r :a }"))


def test_a_graph_is_closed_only_if_asked() -> None:
    text = ":A rdfs:subClassOf :B . :a a :A ; :p _:b . _:b a :A ."
    assert solutions(graph(text), "SELECT ?x WHERE { ?x a :B }", "x") == set()
    found = graph(text, reasoning=True)
    assert len(found.select(sparql("SELECT ?x WHERE { ?x a :B }"), ["x"])) == 2
    assert found.ask(sparql("ASK { :a :p ?b . ?b a :B }"))


def test_nothing_known_is_a_graph_too() -> None:
    for reasoning in (False, True):
        found = Graph.build([], reasoning)
        assert not found.ask("ASK { <http://x/a> ?p ?o }")


def test_a_variable_without_a_value_is_none() -> None:
    found = graph(":a :p :b .")
    assert solutions(found, "SELECT ?x ?y WHERE { ?x :p ?o OPTIONAL { ?x :q ?y } }", "y", "x") == {(None, "<a>")}


def test_a_contradiction_is_told_with_both_facts() -> None:
    text = ":Room owl:disjointWith :Sensor . :Lab rdfs:subClassOf :Room . :r1 a :Lab, :Sensor ."
    with pytest.raises(PresageError) as caught:
        graph(text, reasoning=True)
    assert caught.value.code == "KNOWLEDGE_INCONSISTENT"
    assert "<http://x/r1> a <http://x/Room> and <http://x/r1> a <http://x/Sensor>" in caught.value.message
    graph(text)


# -- entities and words --------------------------------------------------------------------------


def test_an_entity_is_what_a_triple_is_about() -> None:
    found = graph(":b :p :a . :a :q 'x', _:n . :z :q 'y' .")
    assert found.entities().to_pylist() == ["http://x/a", "http://x/b", "http://x/z"]
    assert found.has_entity("http://x/a")
    assert not found.has_entity("http://x/p")
    assert not found.has_entity("no iri")


@pytest.mark.parametrize("reasoning", [False, True])
def test_properties_and_classes_have_others_above_and_below(reasoning: bool) -> None:
    found = graph(
        """:p rdfs:subPropertyOf :q . :r owl:equivalentProperty :q . :s owl:sameAs :r . :s rdfs:subPropertyOf :t .
           :q owl:inverseOf :i . :j owl:inverseOf :q .
           :A rdfs:subClassOf _:b . _:b owl:equivalentClass :B . :B rdfs:subClassOf :C .""",
        reasoning=reasoning,
    )

    def names(iris: frozenset[str]) -> set[str]:
        return {iri.removeprefix("http://x/") for iri in iris if iri.startswith("http://x/")}

    assert names(found.above("http://x/p")) == {"p", "q", "r", "s", "t"}
    assert names(found.above("http://x/t")) == {"t"}
    assert names(found.below("http://x/t")) == {"p", "q", "r", "s", "t"}
    assert names(found.below("http://x/q")) == {"p", "q", "r", "s"}
    assert names(found.above("http://x/unknown")) == {"unknown"}
    assert names(found.inverses("http://x/q")) == {"i", "j"}
    assert names(found.inverses("http://x/i")) == {"q"}
    assert names(found.classes_above("http://x/A")) == {"A", "B", "C"}
    assert names(found.classes_below("http://x/C")) == {"A", "B", "C"}


# -- SPARQL ----------------------------------------------------------------------------------------


def test_what_is_not_sparql_is_told_with_its_place() -> None:
    problem = Graph.check("SELECT ?s\nWHERE { ?s ?p }")
    assert problem is not None
    assert problem.line == 2
    assert problem.column in (15, 16)
    assert problem.message.startswith("expected ")
    assert len(problem.message) < 200
    undeclared = Graph.check("ASK { ?s foo:bar ?o }")
    assert undeclared is not None
    assert undeclared.message == "the prefix is not declared"
    assert Graph.check("ASK { ?s ?p ?o }") is None


# -- the kept graph ------------------------------------------------------------------------------

CLOSED = ":A rdfs:subClassOf :B . :a a :A ; :p [ :q 'x' ] ."


def cached_files(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.graph"))


def test_a_kept_graph_is_the_same_and_is_not_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = graph(CLOSED, reasoning=True, cache=tmp_path / "new")
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".graph"]
    monkeypatch.setattr("presage.operators.knowledge.graph.close", lambda tables: pytest.fail("it is closed again"))
    second = graph(CLOSED, reasoning=True, cache=tmp_path / "new")
    everything = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
    assert solutions(first, everything, "s", "p", "o") == solutions(second, everything, "s", "p", "o")
    assert first.entities() == second.entities()


def test_another_content_name_or_reasoning_is_another_graph(tmp_path: Path) -> None:
    sources = [("a.ttl", TURTLE)]
    for variant in (sources, [("b.ttl", TURTLE)], [("a.ttl", TURTLE + b"\n")], [*sources, *sources]):
        Graph.build(variant, reasoning=True, cache=tmp_path)
    Graph.build(sources, reasoning=False, cache=tmp_path)
    Graph.build([("elsewhere/a.ttl", TURTLE)], reasoning=False, cache=tmp_path)
    assert len(cached_files(tmp_path)) == 5


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_file_is_not_trusted(tmp_path: Path, damage: str) -> None:
    graph(CLOSED, reasoning=True, cache=tmp_path)
    (path,) = cached_files(tmp_path)
    whole = path.read_bytes()
    broken = {"cut": whole[:-40], "flip": whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "empty": b""}[damage]
    path.write_bytes(broken)
    assert graph(CLOSED, reasoning=True, cache=tmp_path).ask(sparql("ASK { :a a :B }"))
    assert path.read_bytes() == whole


def test_two_builders_at_once_do_not_break_each_other(tmp_path: Path) -> None:
    found: list[Graph] = []
    builders = [
        threading.Thread(target=lambda: found.append(graph(CLOSED, reasoning=True, cache=tmp_path))) for _ in range(8)
    ]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    assert all(each.ask(sparql("ASK { :a a :B }")) for each in found)
    assert len(found) == 8
    assert [path.suffix for path in tmp_path.iterdir()] == [".graph"]


def test_graphs_that_were_not_used_for_long_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_cache, "_MOST_GRAPHS", 2)
    for number in range(4):
        graph(f":a :p {number} .", cache=tmp_path)
    assert len(cached_files(tmp_path)) == 2


def test_an_inconsistent_graph_is_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(PresageError):
            graph(":a a owl:Nothing .", reasoning=True, cache=tmp_path)
    assert not tmp_path.exists() or cached_files(tmp_path) == []
