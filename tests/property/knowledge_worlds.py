"""Strategies: a small ontology, a JSON-LD context, events under it, and PATHs about them, as texts and as values.

Every PATH starts as a walk through what is known and what one event says, so that it is true somewhere; then it is
bent. The texts are SPARQL, and stand as they are between the braces of our `PATH { … }`, after `PREFIXES_TEXT`.
All is made from one number, so that it is quick to make, seldom the same, and can be made again; what Hypothesis does
for others by shrinking, `smallest` does here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from random import Random
from typing import Any, TypeVar

import pyoxigraph as ox
from hypothesis import strategies as st

from reference import owl_rl
from reference.semantic_events import (
    XSD,
    And,
    Attribute,
    Compared,
    Condition,
    Constant,
    IsNull,
    Not,
    Or,
    Path,
    attributes_for,
    event_node,
    holds,
    semantic_graph,
)

T = TypeVar("T")
Event = dict[str, Any]

EX, EN = "http://example.org/campus#", "http://example.org/things/"
PREFIXES = {"ex": EX, "en": EN, "rdf": owl_rl.RDF, "rdfs": owl_rl.RDFS, "owl": owl_rl.OWL, "xsd": XSD}
PREFIXES_TEXT = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
TURTLE_HEAD = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())

STREAM = "Reading"
ATTRIBUTES = {"k": "STRING", "m": "STRING", "x": "DOUBLE", "n": "INT", "on": "BOOLEAN", "at": "TIMESTAMP"}
DECLARATION = f"{STREAM} ({', '.join(f'{name} {kind}' for name, kind in ATTRIBUTES.items())}) EVENT TIME at"

CLASSES = ["ex:Room", "ex:Office", "ex:Space", "ex:Sensor", "ex:Report", "ex:Notice"]
LINKS = ["ex:source", "ex:place", "ex:part", "ex:owner", "ex:near"]
VALUES = ["ex:rate", "ex:limit", "ex:level", "ex:label"]
THINGS = ["en:a", "en:b", "en:c", "en:d", "en:f"]
UNNAMED = ["_:u1", "_:u2"]
NUMBERS = ["5", "5.0", "5.0e0", "500", "0", "-3", "4.5", "4.5e0", "510.0e0", "0.0e0", "-0.0e0", '"NaN"^^xsd:double']
STRINGS = ['"x"', '"on"', '"5"', '"a b"', '"x"@en']
OTHERS = ["true", '"2024-03-01T09:00:05Z"^^xsd:dateTime']
LITERALS = NUMBERS + STRINGS + OTHERS
MOMENTS = [datetime(2024, 3, 1, 9, 0, second, tzinfo=UTC) for second in range(10)]


class Choice:
    """Dice with names."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)

    def pick(self, items: Sequence[T]) -> T:
        return self.dice.choice(items)

    def chance(self, percent: int) -> bool:
        return self.dice.randrange(100) < percent

    def upto(self, low: int, high: int) -> int:
        return self.dice.randint(low, high)

    def weighted(self, **weights: int) -> str:
        return self.dice.choices(list(weights), list(weights.values()))[0]


def made(make: Callable[[Choice], T]) -> st.SearchStrategy[T]:
    return st.integers(0, 2**48).map(lambda seed: make(Choice(seed)))


# -- ontologies ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ontology:
    """Statements in Turtle, one a line: so can a reload drop one and add another."""

    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return TURTLE_HEAD + "".join(f"{line} .\n" for line in self.lines)

    @cached_property
    def stated(self) -> owl_rl.Triples:
        return owl_rl.triples_of(self.text)

    @cached_property
    def closed(self) -> owl_rl.Triples:
        """By the rules as they are printed."""
        return owl_rl.closure(self.stated)

    @cached_property
    def reasoned(self) -> owl_rl.Triples:
        """By the reasoner that the engine uses, which says more of things and less of words: see `owl_rl`."""
        return owl_rl.reasoned(self.stated)


def statement(choice: Choice) -> str:
    """One line. Nothing here can contradict: no word says that two things differ, and values are no things."""
    pick = choice.pick
    shapes: dict[str, Callable[[], str]] = {
        "link": lambda: f"{pick(THINGS)} {pick(LINKS)} {pick(THINGS)}",
        "kind": lambda: f"{pick(THINGS)} a {pick(CLASSES)}",
        "value": lambda: f"{pick(THINGS)} {pick(VALUES)} {pick(LITERALS)}",
        "number": lambda: f"{pick(THINGS)} {pick(VALUES)} {pick(NUMBERS)}",
        "below": lambda: f"{pick(CLASSES)} rdfs:subClassOf {pick(CLASSES)}",
        "as_class": lambda: f"{pick(CLASSES)} owl:equivalentClass {pick(CLASSES)}",
        "under": lambda: "{} rdfs:subPropertyOf {}".format(*alike(choice)),
        "as_property": lambda: "{} owl:{} {}".format(*same_word(choice)),
        "inverse": lambda: f"{pick(LINKS)} owl:inverseOf {pick(LINKS)}",
        "nature": lambda: f"{pick(LINKS)} a owl:{choice.weighted(Transitive=4, Symmetric=4, Functional=1)}Property",
        "domain": lambda: f"{pick(LINKS + VALUES)} rdfs:domain {pick(CLASSES)}",
        "range": lambda: f"{pick(LINKS)} rdfs:range {pick(CLASSES)}",
        "same": lambda: f"{pick(THINGS)} owl:sameAs {pick(THINGS)}",
        "unnamed": lambda: f"{pick(THINGS)} {pick(LINKS)} {pick(UNNAMED)}",
        "of_unnamed": lambda: f"{pick(UNNAMED)} a {pick(CLASSES)} ; {pick(VALUES)} {pick(NUMBERS)}",
        "constant": lambda: f"{pick(CLASSES)} {pick(VALUES)} {pick(NUMBERS)}",
    }
    often = {"link": 10, "kind": 7, "number": 5, "value": 3, "below": 3, "under": 3, "as_property": 2, "inverse": 2}
    return shapes[choice.weighted(**{name: often.get(name, 1) for name in shapes})]()


def alike(choice: Choice) -> tuple[str, str]:
    """Two properties of one sort, so that no literal comes to stand where a thing must."""
    words = choice.pick([LINKS, VALUES])
    return choice.pick(words), choice.pick(words)


def same_word(choice: Choice) -> tuple[str, str, str]:
    first, second = alike(choice)
    return first, choice.weighted(equivalentProperty=2, sameAs=1), second


def ontologies() -> st.SearchStrategy[Ontology]:
    return made(ontology_of)


def ontology_of(choice: Choice) -> Ontology:
    """5 to 40 triples of few words, so that they meet."""
    size = choice.upto(5, 36)
    lines: dict[str, None] = {}
    while len(lines) < size:
        lines[statement(choice)] = None
    return Ontology(tuple(lines))


def reloads(ontology: Ontology) -> st.SearchStrategy[Ontology]:
    return made(lambda choice: reload_of(choice, ontology))


def reload_of(choice: Choice, ontology: Ontology) -> Ontology:
    """The same with one to three statements dropped, added or put in another's place."""
    lines = list(ontology.lines)
    for _ in range(choice.upto(1, 3)):
        change = choice.weighted(drop=1, add=1, swap=1)
        if change != "add" and lines:
            lines.pop(choice.upto(0, len(lines) - 1))
        if change != "drop":
            lines.append(statement(choice))
    return Ontology(tuple(dict.fromkeys(lines)))


# -- contexts -----------------------------------------------------------------------------------------

TERMS = {"lobby": "en:a", "D5": "en:b", "hall": EN + "c", "x1": "en:nowhere"}
ENTITY_PROPERTIES = ["ex:source", "ex:place", "ex:part", EX + "source"]


def contexts() -> st.SearchStrategy[str]:
    return made(context_of)


def context_of(choice: Choice) -> str:
    """The text of a context for Reading. It has its own prefixes, of which `ex` and `en` are as in the queries."""
    context: dict[str, Any] = {"ex": EX, "en": EN, "xsd": XSD}
    if choice.chance(60):
        context["@base"] = EN
    if choice.chance(25):
        context["@vocab"] = choice.pick([EN, EX])
    for name, entity in (("k", 90), ("m", 55)):
        kind = "entity" if choice.chance(entity) else choice.weighted(literal=3, unmapped=1)
        if kind == "entity":
            context[name] = {"@id": choice.pick(ENTITY_PROPERTIES), "@type": choice.weighted(**{"@id": 3, "@vocab": 2})}
        elif kind == "literal":
            context[name] = choice.pick(["ex:label", {"@id": "ex:label"}, {"@id": "ex:label", "@type": "xsd:string"}])
    for name, weight, words, datatypes in (
        ("x", 85, ["ex:rate", "ex:level", EX + "rate"], ["xsd:double", "xsd:decimal", "xsd:float"]),
        ("n", 60, ["ex:count", "ex:level", "ex:rate"], ["xsd:integer", "xsd:double", "xsd:decimal"]),
        ("on", 50, ["ex:active"], ["xsd:boolean"]),
        ("at", 50, ["ex:time"], ["xsd:dateTime"]),
    ):
        if choice.chance(weight):
            word = choice.pick(words)
            context[name] = {"@id": word, "@type": choice.pick(datatypes)} if choice.chance(30) else word
        elif "@vocab" in context and choice.chance(50):
            context[name] = None
    for name, iri in TERMS.items():
        if choice.chance(60):
            context[name] = iri
    if choice.chance(60):
        context[STREAM] = choice.pick(["ex:Report", "ex:Notice", "ex:Room"])
    return json.dumps({"@context": context} if choice.chance(50) else context)


# -- events -------------------------------------------------------------------------------------------

STRANGERS = [
    "en:nobody",
    "nobody",
    "http://nowhere.org/x",
    "zz:a",
    "",
    "a b",
    "_:b0",
    "A",
    "en:",
    EN,
    "@id",
    "ex:Office",
]
DOUBLES = [5.0, 4.5, 500.0, 510.0, 0.0, -0.0, -3.0, 1e300, math.nan, math.inf, -math.inf]


def spellings(context: Mapping[str, Any], name: str) -> list[str]:
    """The ways to name each thing in a value of an entity attribute."""
    kind = context[name]["@type"]
    found = [form for thing in THINGS for form in (thing, EN + thing.removeprefix("en:"))]
    if kind == "@vocab":
        found += [term for term in TERMS if term in context] * 2
    if context.get("@vocab" if kind == "@vocab" and "@vocab" in context else "@base") == EN:
        found += [thing.removeprefix("en:") for thing in THINGS] * 2
    return found


def events(context_text: str) -> st.SearchStrategy[Event]:
    return made(lambda choice: event_of(choice, context_text))


def event_of(choice: Choice, context_text: str) -> Event:
    """Values for all attributes of Reading: most entities known, some not, some values NULL."""
    context = json.loads(context_text)
    context = context.get("@context", context)
    event: Event = {}
    for name in ("k", "m"):
        definition = context.get(name)
        if choice.chance(10):
            event[name] = None
        elif isinstance(definition, dict) and definition.get("@type") in ("@id", "@vocab") and not choice.chance(15):
            event[name] = choice.pick(spellings(context, name))
        else:
            event[name] = choice.pick([*STRANGERS, *TERMS, "x", "5"])
    event["x"] = None if choice.chance(10) else choice.pick(DOUBLES)
    event["n"] = None if choice.chance(10) else choice.pick([5, 0, 500, -3, 4])
    event["on"] = choice.pick([True, False, None])
    event["at"] = choice.pick(MOMENTS)
    return event


# -- paths --------------------------------------------------------------------------------------------

OPERATORS = ["=", "!=", "<", "<=", ">", ">="]
WORDS = (owl_rl.RDFS, owl_rl.OWL)


@dataclass(frozen=True)
class Pattern:
    """What stands between the braces, the variables that may be selected, and which rarer parts of SPARQL it uses."""

    parts: tuple[str, ...]
    variables: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        return " . ".join(self.parts)


@dataclass(frozen=True)
class Step:
    """A triple pattern as text, and the term that its object stands for in the walk."""

    subject: str
    predicate: str
    object: str
    target: owl_rl.Term

    @property
    def text(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


def short(term: owl_rl.Term) -> str:
    """A term as a query writes it."""
    if isinstance(term, ox.NamedNode):
        for name, iri in PREFIXES.items():
            local = term.value.removeprefix(iri)
            if term.value.startswith(iri) and local.isalnum():
                return f"{name}:{local}"
    return str(term)


class Walk:
    """A walk from the event through a graph: patterns that hold on it, with the variables of what was met."""

    def __init__(self, choice: Choice, graph: Iterable[owl_rl.Triple], alias: str) -> None:
        self.choice = choice
        self.alias = alias
        self.triples = sorted((t for t in graph if not t[1].value.startswith(WORDS)), key=str)
        self.met: dict[str, owl_rl.Term] = {f"?{alias}": event_node(alias)}
        self.made = 0

    def variable(self) -> str:
        # Two aliases have no variable in common, and no two parts one that is theirs alone.
        self.made += 1
        return f"?{self.alias if self.alias != 'e' else ''}v{self.made}"

    def step(self, start: str | None = None) -> Step | None:
        """One more pattern, from something met (mostly the event or the last thing) to something new or known."""
        choice = self.choice
        things = self.things()
        start = start or choice.pick([things[0], things[-1], things[-1], *self.met])
        node = self.met[start]
        outward = [t for t in self.triples if t[0] == node and t[2] != owl_rl.THING]
        inward = [t for t in self.triples if t[2] == node and not isinstance(node, ox.Literal)]
        if not (outward or inward):
            return None
        if inward and (not outward or choice.chance(15)):
            triple = choice.pick(inward)
            return Step(self.object(triple[0], rarely=True), short(triple[1]), start, node)
        further = [t for t in outward if not isinstance(t[2], ox.Literal) and t[1] != owl_rl.TYPE]
        triple = choice.pick(further if further and choice.chance(50) else outward)
        return Step(start, short(triple[1]), self.object(triple[2]), triple[2])

    def object(self, term: owl_rl.Term, rarely: bool = False) -> str:
        """A constant or a variable for a term, a variable that stands for it already among them."""
        choice = self.choice
        is_class = short(term) in CLASSES
        constant = 75 if is_class else 10 if isinstance(term, ox.Literal) else 5 if rarely else 25
        if isinstance(term, ox.NamedNode | ox.Literal) and term.value[:4] != "urn:" and choice.chance(constant):
            return short(term)
        known = [name for name, other in self.met.items() if other == term]
        if known and choice.chance(60):
            return choice.pick(known)
        name = self.variable()
        self.met[name] = term
        return name

    def numbers(self) -> list[str]:
        return [name for name, term in self.met.items() if isinstance(term, ox.Literal)]

    def things(self) -> list[str]:
        return [name for name, term in self.met.items() if not isinstance(term, ox.Literal)]


def bent(choice: Choice, step: Step) -> str:
    """A pattern with one word exchanged, which seldom holds where the first did."""
    words = VALUES if isinstance(step.target, ox.Literal) else LINKS
    if step.predicate == "rdf:type":
        return f"{step.subject} rdf:type {choice.pick(CLASSES)}"
    if choice.chance(50) and step.object[0] != "?":
        literal = isinstance(step.target, ox.Literal)
        return f"{step.subject} {step.predicate} {choice.pick(LITERALS if literal else THINGS)}"
    return f"{step.subject} {choice.pick(words)} {step.object}"


def comparison(choice: Choice, walk: Walk) -> str:
    """Two values compared, or two things."""
    numbers = walk.numbers()
    if not numbers or choice.chance(8):
        thing = choice.pick(walk.things())
        return f"{thing} {choice.pick(['=', '!='])} {choice.pick([*walk.things(), *THINGS])}"
    left = arithmetic(choice, choice.pick(numbers))
    near = [name for name in numbers if name != left] * 4
    right = choice.pick(
        [*near, short(walk.met[left]) if left in walk.met else "5", *NUMBERS, choice.pick(OTHERS + STRINGS)]
    )
    sides = [left, right if choice.chance(85) else arithmetic(choice, right)]
    if choice.chance(20):
        sides.reverse()
    return f"{sides[0]} {choice.pick(OPERATORS)} {sides[1]}"


def arithmetic(choice: Choice, side: str) -> str:
    if choice.chance(15):
        return f"{side} {choice.pick(['+', '-', '*', '/'])} {choice.pick(['1', '2.5', '0', '10.0e0'])}"
    return side


def expression(choice: Choice, walk: Walk, depth: int = 2) -> str:
    shape = choice.weighted(plain=6, both=1, either=1, negated=1) if depth else "plain"
    if shape == "plain":
        return comparison(choice, walk)
    if shape == "negated":
        return f"!({expression(choice, walk, depth - 1)})"
    sign = "&&" if shape == "both" else "||"
    return f"({expression(choice, walk, depth - 1)}) {sign} ({expression(choice, walk, depth - 1)})"


# The rarer parts of SPARQL. Each adds to a walk what its name says.


def _optional(choice: Choice, walk: Walk) -> str:
    start, name = choice.pick(walk.things()), walk.variable()
    part = f"OPTIONAL {{ {start} {choice.pick(LINKS + VALUES)} {name} }}"
    walk.met[name] = ox.Literal("5", datatype=ox.NamedNode(XSD + "integer"))
    check = choice.pick(["", f"BOUND({name})", f"!BOUND({name})", f"{name} > 4", f"!BOUND({name}) || {name} != 5"])
    return part + (f" FILTER({check})" if check else "")


def _union(choice: Choice, walk: Walk) -> str:
    return " UNION ".join(f"{{ {branch(choice, walk)} }}" for _ in range(choice.upto(2, 3)))


def _minus(choice: Choice, walk: Walk) -> str:
    return f"MINUS {{ {branch(choice, walk)} }}"


def _exists(choice: Choice, walk: Walk) -> str:
    return f"FILTER EXISTS {{ {branch(choice, walk)} }}"


def _not_exists(choice: Choice, walk: Walk) -> str:
    return f"FILTER NOT EXISTS {{ {branch(choice, walk)} }}"


def branch(choice: Choice, walk: Walk) -> str:
    """A pattern about something met, by itself."""
    step = walk.step(choice.pick([f"?{walk.alias}", *walk.things()]))
    if step is None or choice.chance(40):
        return f"{choice.pick(walk.things())} rdf:type {choice.pick(CLASSES)}"
    text = bent(choice, step) if choice.chance(40) else step.text
    if isinstance(step.target, ox.Literal) and step.object[0] == "?" and choice.chance(40):
        text += f" FILTER({step.object} {choice.pick(OPERATORS)} {choice.pick(NUMBERS)})"
    return text


def _property_path(choice: Choice, walk: Walk) -> str:
    first, second = choice.pick(LINKS), choice.pick([*LINKS, "rdf:type"])
    shape = choice.pick(
        ["{0}+", "{0}*", "{0}?", "^{0}", "{0}/{1}", "{0}|{1}", "({0}|{1})+", "{0}*/{1}", "^{0}/{1}", "!{0}"]
    )
    return f"{choice.pick(walk.things())} {shape.format(first, second)} {choice.pick([*walk.things(), *THINGS, '[]'])}"


def _variable_predicate(choice: Choice, walk: Walk) -> str:
    start = choice.pick(walk.things())
    return f"{start} {walk.variable()}p {choice.pick([*walk.met, *THINGS, '5', '[]'])}"


def _bind(choice: Choice, walk: Walk) -> str:
    name = walk.variable() + "b"
    side = choice.pick([*walk.numbers(), "5"])
    return f"BIND({side} + 1 AS {name}) FILTER({name} {choice.pick(OPERATORS)} {choice.pick(NUMBERS)})"


def _values(choice: Choice, walk: Walk) -> str:
    name = choice.pick([thing for thing in walk.things() if thing != f"?{walk.alias}"] or [walk.variable()])
    return f"VALUES {name} {{ {' '.join(sorted({choice.pick(THINGS) for _ in range(3)}))} }}"


def _function(choice: Choice, walk: Walk) -> str:
    name = choice.pick([name for name in walk.met if name != f"?{walk.alias}"] or [walk.variable()])
    call = choice.pick(
        [
            *('CONTAINS(STR({0}), "a")', 'STRSTARTS(STR({0}), "http")', 'REGEX(STR({0}), "^.*[0-5]$")'),
            *(
                "STRLEN(STR({0})) > 3",
                'LCASE(STR({0})) = "x"',
                "ISIRI({0})",
                "ISLITERAL({0})",
                "{0} IN (5, en:a, en:b)",
            ),
            *("DATATYPE({0}) = xsd:double", "ABS({0}) > 4", "SAMETERM({0}, 5)", "COALESCE({0} > 4, true)"),
            *("IF(ISNUMERIC({0}), {0} > 4, true)", "FLOOR({0}) = 5", "BOUND({0})"),
        ]
    )
    return f"FILTER({call.format(name)})"


def _elsewhere(choice: Choice, walk: Walk) -> str:
    """A part that does not speak of the event, unless its own triples answer it."""
    name = walk.variable() + "u"
    link, kind = choice.pick(LINKS), choice.pick(CLASSES)
    return choice.pick([f"{name} {link} {choice.pick(THINGS)}", f"{name} rdf:type {kind}", f"{name} {link} {name}2"])


RARE: dict[str, Callable[[Choice, Walk], str]] = {
    "optional": _optional,
    "union": _union,
    "minus": _minus,
    "exists": _exists,
    "not exists": _not_exists,
    "property path": _property_path,
    "variable predicate": _variable_predicate,
    "bind": _bind,
    "values": _values,
    "function": _function,
    "elsewhere": _elsewhere,
}


def constants(choice: Choice, walk: Walk) -> str | None:
    """A value that the ontology names: a constant of it, with a variable to compare with."""
    event, is_named = event_node(walk.alias), ox.NamedNode
    valued = [t for t in walk.triples if isinstance(t[2], ox.Literal) and isinstance(t[0], is_named) and t[0] != event]
    if not valued:
        return None
    subject, predicate, item = choice.pick(valued)
    name = walk.variable()
    walk.met[name] = item
    return f"{short(subject)} {short(predicate)} {name}"


def paths(
    context_text: str,
    ontology: Ontology,
    alias: str = "e",
    rare: Sequence[str] = tuple(RARE),
    near: Event | None = None,
) -> st.SearchStrategy[Pattern]:
    return made(lambda choice: path_of(choice, context_text, ontology, alias, rare, near))


def path_of(
    choice: Choice,
    context_text: str,
    ontology: Ontology,
    alias: str = "e",
    rare: Sequence[str] = tuple(RARE),
    near: Event | None = None,
) -> Pattern:
    """A PATH about `alias`. `rare` are the parts of SPARQL beyond patterns and FILTERs that may come in; `near` is an
    event of which it holds, more often than not: where it must, one that does not is drawn anew, a few times."""
    event = near if near is not None else event_of(choice, context_text)
    graph = ontology.closed | semantic_graph(event, STREAM, context_text, ontology.closed, event_node(alias))
    length, tries = choice.upto(1, 5), choice.pick([1, 12, 12])
    features: list[str] = []
    while rare and len(features) < 3 and choice.chance(35):
        features.append(choice.pick(rare))
    while True:
        pattern = walked(choice, Walk(choice, graph, alias), length, features)
        tries -= 1
        if not tries or holds(pattern.text, PREFIXES, {alias: (event, STREAM, context_text)}, ontology.closed):
            return pattern


def walked(choice: Choice, walk: Walk, length: int, features: Sequence[str]) -> Pattern:
    alias = walk.alias
    texts = []
    for _ in range(length):
        step = walk.step()
        if step is not None:
            texts.append(bent(choice, step) if choice.chance(10) else step.text)
    if choice.chance(30):
        texts += filter(None, [constants(choice, walk)])
    if not texts:
        texts.append(f"?{alias} {choice.pick(LINKS + VALUES)} {walk.variable()}")
    if choice.chance(50 if walk.numbers() else 5):
        texts.append(f"FILTER({expression(choice, walk)})")
    texts += [RARE[feature](choice, walk) for feature in features]
    texts = list(dict.fromkeys(texts))
    if choice.chance(30):
        choice.dice.shuffle(texts)
    # What a FILTER or a MINUS names for itself has no value outside of it.
    used = set(re.findall(r"\?\w+", " ".join(text for text in texts if not text.startswith(("FILTER", "MINUS")))))
    variables = tuple(name[1:] for name in walk.met if name != f"?{alias}" and name in used)
    return Pattern(tuple(texts), variables, frozenset(features))


def joined(*patterns: Pattern) -> Pattern:
    """One PATH about several events: each part speaks of one."""
    return Pattern(
        tuple(part for pattern in patterns for part in pattern.parts),
        tuple(name for pattern in patterns for name in pattern.variables),
        frozenset().union(*(pattern.features for pattern in patterns)),
    )


# -- conditions and worlds ----------------------------------------------------------------------------


def conditions(
    context_text: str, ontology: Ontology, patterns: Sequence[Pattern], depth: int = 2
) -> st.SearchStrategy[Condition]:
    return made(lambda choice: condition_of(choice, context_text, ontology, patterns, depth))


def condition_of(
    choice: Choice, context_text: str, ontology: Ontology, patterns: Sequence[Pattern], depth: int = 2
) -> Condition:
    """AND, OR and NOT over PATHs about `e` and comparisons of its attributes, by their names or by what they mean."""

    def grown(depth: int) -> Condition:
        shape = choice.weighted(path=4, compared=2, null=1, conjunction=3, disjunction=3, negation=2)
        if depth and shape == "negation":
            return Not(grown(depth - 1))
        if depth and shape in ("conjunction", "disjunction"):
            parts = tuple(grown(depth - 1) for _ in range(choice.upto(2, 3)))
            return And(parts) if shape == "conjunction" else Or(parts)
        if shape == "null":
            return IsNull(Attribute("e", choice.pick(["x", "k", "n"])))
        if shape == "compared":
            constants: dict[str, list[Any]] = {"x": [5.0, 4.5], "n": [5, 0], "k": ["en:a", "a"], "m": ["lobby", "x"]}
            name = choice.pick(list(constants))
            operator = choice.pick(["=", "<>", "<", "<=", ">", ">="])
            return Compared(Attribute("e", qualified(name)), operator, Constant(choice.pick(constants[name])))
        return Path(choice.pick(patterns).text)

    def qualified(name: str) -> str:
        """The attribute by its meaning, now and then, where that means it alone."""
        meaning = {"x": "rate", "n": "count", "k": "source", "m": "place"}[name]
        alone = attributes_for(EX + meaning, ATTRIBUTES, context_text, ontology.closed) == {name}
        return f"ex:{meaning}" if choice.chance(30) and alone else name

    return grown(depth)


@dataclass(frozen=True)
class World:
    """Knowledge, a context, events of Reading, PATHs and a condition about them, and the knowledge after a reload."""

    ontology: Ontology
    context_text: str
    events: tuple[Event, ...]
    patterns: tuple[Pattern, ...]
    condition: Condition
    reloaded: Ontology

    def bound(self, index: int, alias: str = "e") -> dict[str, tuple[Event, str, str]]:
        """An event under an alias, as the twin takes it."""
        return {alias: (self.events[index], STREAM, self.context_text)}


def worlds(rare: Sequence[str] = tuple(RARE), at_most: int = 6) -> st.SearchStrategy[World]:
    return st.integers(0, 2**48).map(lambda seed: world_of(seed, rare, at_most))


def world_of(seed: int, rare: Sequence[str] = tuple(RARE), at_most: int = 6) -> World:
    """The world of a number. Each event has a time of its own, by which it is known."""
    choice = Choice(seed)
    ontology, context_text = ontology_of(choice), context_of(choice)
    rows = [event_of(choice, context_text) for _ in range(choice.upto(1, at_most))]
    rows = [{**row, "at": moment} for row, moment in zip(rows, MOMENTS, strict=False)]
    patterns = [
        path_of(choice, context_text, ontology, rare=rare, near=choice.pick(rows)) for _ in range(choice.upto(1, 4))
    ]
    condition = condition_of(choice, context_text, ontology, patterns)
    return World(ontology, context_text, tuple(rows), tuple(patterns), condition, reload_of(choice, ontology))


def smallest(world: World, fails: Callable[[World], bool]) -> World:
    """A world that still fails and of which nothing can be left out."""
    for smaller in simpler(world):
        if fails(smaller):
            return smallest(smaller, fails)
    return world


def simpler(world: World) -> Iterator[World]:
    """The world without one thing, for each thing that can go. A text that is SPARQL no more does not count as a world
    that fails: let `fails` see to it."""
    for fewer in shorter(world.patterns, 1):
        yield replace(world, patterns=fewer)
    for fewer_events in shorter(world.events, 1):
        yield replace(world, events=fewer_events)
    if isinstance(world.condition, And | Or):
        for part in world.condition.operands:
            yield replace(world, condition=part)
    if isinstance(world.condition, Not):
        yield replace(world, condition=world.condition.operand)
    for i, pattern in enumerate(world.patterns):
        for parts in shorter(pattern.parts, 1):
            changed = replace(pattern, parts=parts, variables=())
            yield replace(world, patterns=(*world.patterns[:i], changed, *world.patterns[i + 1 :]))
    for lines in shorter(world.ontology.lines, 0):
        yield replace(world, ontology=Ontology(lines))
    for lines in shorter(world.reloaded.lines, 0):
        yield replace(world, reloaded=Ontology(lines))
    context = json.loads(world.context_text)
    if "@context" in context:
        yield replace(world, context_text=json.dumps(context["@context"]))
    else:
        for name in context:
            yield replace(world, context_text=json.dumps({k: v for k, v in context.items() if k != name}))


def shorter(items: tuple[T, ...], least: int) -> Iterator[tuple[T, ...]]:
    if len(items) > least:
        yield from (items[:i] + items[i + 1 :] for i in range(len(items)))
