"""JSON-LD contexts: what names and values mean, side by side with a JSON-LD processor, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.declarations.contexts import class_of, entity_of, meaning_of, read_context, spellings
from presage.errors import PresageError
from presage.model.semantics import ENTITY, LITERAL, TERM, Context, Meaning

XSD = "http://www.w3.org/2001/XMLSchema#"
AIRFLOW = {
    "@base": "http://campus.example/sensors/",
    "@vocab": "http://campus.example/terms#",
    "evt": "http://campus.example/events#",
    "ee": "http://campus.example/ee/",
    "xsd": XSD,
    "sensorID": {"@id": "evt:hasSource", "@type": "@id"},
    "kind": {"@id": "evt:kind", "@type": "@vocab"},
    "flowrate": {"@id": "evt:flow", "@type": "xsd:double"},
    "note": "evt:note",
    "hidden": None,
    "D105VOL": "ee:D105VOLUME",
}


def read(context: Any) -> Context:
    return read_context(json.dumps({"@context": context}), "airflow.jsonld")


def refusal(text: str) -> str:
    with pytest.raises(PresageError) as caught:
        read_context(text, "airflow.jsonld")
    assert caught.value.code == "BAD_CONTEXT"
    assert "airflow.jsonld" in caught.value.message
    return caught.value.message


def refused(context: Any) -> str:
    return refusal(json.dumps({"@context": context}))


# -- what names mean -----------------------------------------------------------------------------


def test_an_attribute_means_a_property_and_says_what_its_values_are() -> None:
    context = read(AIRFLOW)
    assert meaning_of(context, "sensorID") == Meaning("http://campus.example/events#hasSource", ENTITY)
    assert meaning_of(context, "kind") == Meaning("http://campus.example/events#kind", TERM)
    assert meaning_of(context, "flowrate") == Meaning("http://campus.example/events#flow", LITERAL, XSD + "double")
    assert meaning_of(context, "note") == Meaning("http://campus.example/events#note")


def test_a_vocabulary_gives_a_meaning_to_every_name_but_those_taken_out() -> None:
    context = read(AIRFLOW)
    assert meaning_of(context, "humidity") == Meaning("http://campus.example/terms#humidity")
    assert meaning_of(context, "hidden") is None
    assert meaning_of(read({"a": "http://x/a"}), "humidity") is None


def test_the_bare_context_is_the_same_as_the_wrapped_one() -> None:
    bare = read_context(json.dumps(AIRFLOW), "a")
    wrapped = read(AIRFLOW)
    assert (bare.meanings, bare.terms, bare.prefixes) == (wrapped.meanings, wrapped.terms, wrapped.prefixes)
    assert bare.text == json.dumps(AIRFLOW)


def test_a_later_context_wins_and_null_begins_anew() -> None:
    context = read([{"a": "http://x/1", "p": "http://p/"}, {"a": "p:2"}])
    assert context.terms == {"p": "http://p/", "a": "http://p/2"}
    assert read([{"a": "http://x/1"}, None, {"b": "http://x/2"}]).terms == {"b": "http://x/2"}


def test_a_prefix_ends_in_a_delimiter_or_says_that_it_is_one() -> None:
    plain = {"@id": "http://x/word"}
    assert read({"w": {**plain, "@prefix": True}, "a": "w:s"}).terms["a"] == "http://x/words"
    assert "'http://x/word' is no prefix" in refused({"w": "http://x/word", "a": "w:s"})
    assert read({"w": {"@id": "http://x/"}}).prefixes == {}


def test_the_class_of_a_stream_is_what_its_name_means() -> None:
    assert class_of(read({"AirflowReport": "http://x/Air"}), "AirflowReport") == "http://x/Air"
    assert class_of(read(AIRFLOW), "AirflowReport") == "http://campus.example/terms#AirflowReport"
    assert class_of(read({"a": "http://x/a"}), "AirflowReport") is None


# -- what values mean ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "value", "iri"),
    [
        ("sensorID", "s1", "http://campus.example/sensors/s1"),
        ("sensorID", "ee:D105", "http://campus.example/ee/D105"),
        ("sensorID", "urn:x:1", "urn:x:1"),
        ("sensorID", "D105VOL", "http://campus.example/sensors/D105VOL"),
        ("sensorID", "two words", None),
        ("sensorID", "../s1", None),
        ("sensorID", "_:b", None),
        ("kind", "D105VOL", "http://campus.example/ee/D105VOLUME"),
        ("kind", "Airflow", "http://campus.example/terms#Airflow"),
        ("kind", "hidden", None),
        ("note", "ee:D105", None),
    ],
)
def test_a_value_stands_for_an_entity(attribute: str, value: str, iri: str | None) -> None:
    context = read(AIRFLOW)
    meaning = meaning_of(context, attribute)
    assert meaning is not None
    assert entity_of(context, meaning, value) == iri


def test_the_spellings_of_an_entity_are_all_of_them() -> None:
    context = read(AIRFLOW)
    assert set(spellings(context, context.meanings["sensorID"], "http://campus.example/ee/D105VOLUME")) == {
        "http://campus.example/ee/D105VOLUME",
        "ee:D105VOLUME",
        "//campus.example/ee/D105VOLUME",
        "/ee/D105VOLUME",
    }
    assert set(spellings(context, context.meanings["kind"], "http://campus.example/ee/D105VOLUME")) == {
        "http://campus.example/ee/D105VOLUME",
        "ee:D105VOLUME",
        "D105VOL",
    }
    assert spellings(context, context.meanings["note"], "http://campus.example/ee/D105VOLUME") == []


# -- side by side with a processor ---------------------------------------------------------------

PIECES = [
    "a",
    "b",
    "x",
    "p",
    "q",
    ":",
    "/",
    "//",
    "#",
    "?",
    "@",
    "_",
    ".",
    "..",
    "%41",
    "%",
    "1",
    " ",
    "é",
    "http:",
    "urn:",
    "",
]
IRIS = [
    *("http://b/x/y", "http://b/x/", "http://b/x#", "http://b", "http://b?q", "http://b/x/../y/z", "http://b/./x/"),
    *("urn:a:b", "urn:a/b/c", "urn:a#", "http://b:8/a/b?c/d#e", "http://b/x/a", "urn:", "a:b/../c/d"),
]
iris = st.sampled_from(IRIS)
texts = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
names = st.sampled_from(["a", "b", "p", "q", "x", "src"])


@st.composite
def definitions(draw: st.DrawFn) -> Any:
    target = draw(st.one_of(iris, texts, names.map(lambda name: f"{name}:x"), names))
    if draw(st.booleans()):
        return draw(st.sampled_from([target, None]))
    made: dict[str, Any] = {"@id": target} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        made["@type"] = draw(st.sampled_from(["@id", "@vocab", XSD + "double", "p:x"]))
    if draw(st.booleans()):
        made["@prefix"] = draw(st.booleans())
    return made


@st.composite
def locals_(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = draw(st.dictionaries(names, definitions(), max_size=4))
    for keyword in ("@base", "@vocab"):
        if draw(st.booleans()):
            made[keyword] = draw(st.one_of(iris, st.none(), texts))
    return made


contexts = st.one_of(locals_(), st.lists(st.one_of(locals_(), st.none()), max_size=3))


def processed(context: Any, **entries: str) -> list[tuple[str, ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple]]:
    """What the processor makes of an event: its properties and values."""
    text = json.dumps({"@context": context, "@id": "urn:event", **entries})
    return [(quad.predicate.value, quad.object) for quad in ox.parse(text, ox.RdfFormat.JSON_LD)]


def read_or_none(context: Any) -> Context | None:
    try:
        return read(context)
    except PresageError:
        return None


@given(context=contexts, value=texts)
def test_names_mean_what_a_processor_takes_them_for(context: Any, value: str) -> None:
    mine = read_or_none(context)
    if mine is None:
        return
    for attribute in ("src", "a", "p"):
        facts = processed(context, **{attribute: "1"})
        meaning = meaning_of(mine, attribute)
        if meaning is None or not meaning.is_entity:
            assert [fact[0] for fact in facts] == ([] if meaning is None else [meaning.term])
            for _, literal in facts:
                assert isinstance(literal, ox.Literal)
                assert meaning is not None
                assert literal.datatype.value == (meaning.datatype or XSD + "string")
    types = [item for name, item in processed(context, **{"@type": value})]
    if not has_dots(value) and not value.startswith("_:"):
        assert [item.value for item in types if isinstance(item, ox.NamedNode)] == [
            iri for iri in [class_of(mine, value)] if iri is not None
        ]


@given(context=locals_(), kind=st.sampled_from(["@id", "@vocab"]), value=texts)
def test_values_mean_what_a_processor_takes_them_for(context: dict[str, Any], kind: str, value: str) -> None:
    context = {**context, "src": {"@id": "http://p/src", "@type": kind}}
    mine = read_or_none(context)
    if mine is None or has_dots(value):
        return
    facts = [item.value for _, item in processed(context, src=value) if isinstance(item, ox.NamedNode)]
    entity = entity_of(mine, mine.meanings["src"], value)
    assert facts == ([] if entity is None else [entity])


def has_dots(value: str) -> bool:
    path = value.split("#")[0].split("?")[0]
    return bool({".", ".."} & set(path.split("/")))


@given(context=locals_(), kind=st.sampled_from(["@id", "@vocab"]), value=texts, other=st.one_of(iris, texts))
def test_spellings_are_exactly_the_values_of_an_entity(
    context: dict[str, Any], kind: str, value: str, other: str
) -> None:
    mine = read_or_none({**context, "src": {"@id": "http://p/src", "@type": kind}})
    if mine is None:
        return
    meaning = mine.meanings["src"]
    entity = entity_of(mine, meaning, value)
    if entity is not None:
        assert value in spellings(mine, meaning, entity)
    found = spellings(mine, meaning, other)
    assert len(set(found)) == len(found)
    assert all(entity_of(mine, meaning, spelling) == other for spelling in found)


@given(context=contexts)
def test_what_is_read_a_processor_reads_too(context: Any) -> None:
    if read_or_none(context) is not None:
        processed(context, src="a")


# -- refusals ------------------------------------------------------------------------------------


def test_what_is_not_json_is_refused_with_its_place() -> None:
    assert "line 2, column 7 is not JSON" in refusal('{\n  "a" 1}')
    assert "is an array, not an object" in refusal("[]")
    assert "nested too deeply" in refusal("[" * 100_000)


@pytest.mark.parametrize(
    "context",
    [
        "http://x/context",
        ["http://x/context"],
        {"@import": "http://x/context"},
        {"a": {"@id": "http://x/a", "@context": "http://x/context"}},
    ],
)
def test_a_context_on_the_network_is_not_fetched(context: Any) -> None:
    assert "a context on the network is not fetched: 'http://x/context'" in refused(context)


def test_a_name_that_stands_twice_is_refused() -> None:
    assert "the name 'a' occurs twice" in refusal('{"@context": {"a": "http://x/1", "a": "http://x/2"}}')


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"a": "ee:D105"}, "the name 'a' uses the prefix 'ee' in 'ee:D105', which the context does not define"),
        ({"a": "b:x", "b": "a:y"}, "the definition of 'a' depends on itself: a -> b -> a"),
        ({"a": "word"}, "the name 'a' is mapped to 'word', which is no IRI"),
        ({"a": {"@type": "@id"}}, "the name 'a' is mapped to 'a', which is no IRI"),
        ({"a": {"@reverse": "http://x/a"}}, "the name 'a' is a reverse property"),
        ({"a": "@type"}, "the name 'a' is another name for '@type'"),
        ({"a": {"@id": "@id"}}, "the name 'a' is another name for '@id'"),
        ({"a": {"@id": "http://x/a", "@container": "@list"}}, "the name 'a' has the container @list"),
        ({"a": {"@id": "http://x/a", "@language": "en"}}, "the name 'a' has a @language"),
        ({"a": {"@id": "http://x/a", "@nest": "b"}}, "the name 'a' has '@nest', which is not supported"),
        ({"a": {"@id": "http://x/a", "@type": "@json"}}, "the name 'a' has the type '@json'"),
        ({"a": {"@id": 5}}, "the name 'a' has as @id a number"),
        ({"a": 5}, "the name 'a' is a number"),
        ({"": "http://x/a"}, "the name '' is empty"),
        ({"a:b": "http://x/a"}, "the name 'a:b'"),
        ({"@base": "x/"}, "@base is 'x/', which is not an absolute IRI"),
        ({"@base": 1}, "@base is a number"),
        ({"@vocab": "x"}, "@vocab is 'x', which is not an absolute IRI"),
        ({"@language": "en"}, "@language is not supported"),
        ({"@propagate": True}, "'@propagate' in a context is not supported"),
        ({"@foo": "http://x/"}, "'@foo' is no keyword of a context"),
        ({"@version": 1.0}, "@version is 1.0"),
        (5, "a context is a number"),
    ],
)
def test_what_an_event_cannot_use_is_refused_by_name(context: Any, message: str) -> None:
    assert message in refused(context)


def test_what_stands_beside_the_context_is_refused() -> None:
    assert "'a' is outside of \"@context\"" in refusal('{"@context": {}, "a": "http://x/a"}')


def test_what_has_no_effect_on_an_event_is_accepted() -> None:
    context = read({"@version": 1.1, "@protected": True, "a": {"@id": "http://x/a", "@container": "@set"}})
    assert context.meanings == {"a": Meaning("http://x/a")}
