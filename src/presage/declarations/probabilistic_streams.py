"""CREATE STREAM … PROBABILISTIC and FROM INFERENCE: the event type with its uncertain attributes.

Here and not with the sequence operator: a declaration is checked before any operator is loaded."""

from __future__ import annotations

from dataclasses import replace

from presage.declarations.special_streams import check_special, checked_attributes
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.sequence_syntax import Inference
from presage.model.catalog import PROBABILITY, Attribute, Catalog, EventType, InferredFrom, Uncertain
from presage.model.text import Span
from presage.model.types import DOUBLE, ArrayOf, MapOf, StructOf


def bind_uncertain(node: s.CreateType, made: EventType, catalog: Catalog) -> EventType:
    assert node.probabilistic is not None
    clause, span = node.probabilistic, node.probabilistic.span
    _check_stream(node, made, catalog, "PROBABILISTIC", span)
    expected = "none of the attributes that say what a row is about and when"
    for _ in checked_attributes(made, clause.attributes, "PROBABILISTIC", span, kind="uncertain", expected=expected):
        pass
    return _with_columns(made, Uncertain(clause.attributes, clause.markov), span)


def bind_inference(node: s.CreateType, clause: Inference, made: EventType, catalog: Catalog) -> EventType:
    """Without PROBABILISTIC, the one attribute besides key and time is uncertain. SMOOTH makes the stream Markovian."""
    span = clause.span
    _check_stream(node, made, catalog, "FROM INFERENCE", span)
    _check_readings(clause, made, catalog)
    if clause.model not in catalog.models:
        fix = did_you_mean(clause.model, catalog.models, otherwise="declare it first: CREATE MODEL … FROM 'file'")
        raise error("UNKNOWN_OBJECT", span, kind="model", name=clause.model, fix=fix)
    if node.probabilistic is None:
        others = tuple(a.name for a in made.attributes if a.name not in (*made.key, made.event_time))
        found = _with_columns(made, Uncertain(others, clause.method == "smooth"), span) if len(others) == 1 else None
    else:
        if node.probabilistic.markov and clause.method != "smooth":
            where = f"with {clause.method.upper()}, which says nothing of how steps depend on each other"
            fix = "use SMOOTH, or leave MARKOV out"
            raise error("UNSUPPORTED", node.probabilistic.span, what="PROBABILISTIC MARKOV", where=where, fix=fix)
        found = bind_uncertain(node, made, catalog)
        others = node.probabilistic.attributes
    if found is None or len(others) != 1:
        what, expected = f"stream '{made.name}'", "with one attribute beside its key and its time: the hidden state"
        listed = f"with the uncertain attributes {', '.join(others)}" if others else "without an uncertain attribute"
        raise error("BAD_VALUE", span, what=what, found=listed, expected=expected)
    return replace(found, inference=InferredFrom(clause.over, clause.model, clause.method, clause.particles))


def _check_stream(node: s.CreateType, made: EventType, catalog: Catalog, word: str, span: Span) -> None:
    belongs = "a distribution belongs to a key and a time"
    check_special(node, made, catalog, word, span, rows="uncertain rows", belongs=belongs)


def _with_columns(made: EventType, uncertain: Uncertain, span: Span) -> EventType:
    """The stream with the probability column and, if Markovian, the columns of the previous step."""
    for attribute in made.attributes:
        if isinstance(attribute.type, ArrayOf | MapOf | StructOf):
            what, fix = f"'{attribute.name}' of the probabilistic stream '{made.name}'", "declare its parts one by one"
            raise error("TYPE_MISMATCH", span, what=what, expected="a plain type", found=attribute.type, fix=fix)
        if attribute.name not in (*made.key, *uncertain.attributes, made.event_time):
            what = f"the attribute '{attribute.name}' of stream '{made.name}'"
            found, expected = "neither in KEY nor in PROBABILISTIC", "in one of them"
            fix = (
                "add it to PROBABILISTIC if the alternatives of a step differ in it, to KEY if it identifies an object"
            )
            raise error("BAD_VALUE", span, what=what, found=found, expected=expected, fix=fix)
    added = {name.lower() for name in (PROBABILITY, *uncertain.before)}
    for attribute in made.attributes:
        if attribute.name.lower() in added:
            fix = "leave it out of the declaration: the rows of a probabilistic stream have that column in any case"
            raise error("DUPLICATE_NAME", span, name=attribute.name, where=f"stream '{made.name}'", fix=fix)
    before = tuple(
        Attribute(column, a.type)
        for column, name in zip(uncertain.before, uncertain.attributes, strict=False)
        if (a := made.attribute(name)) is not None
    )
    columns = (*made.attributes, Attribute(PROBABILITY, DOUBLE), *before)
    return replace(made, attributes=columns, probabilistic=uncertain)


def _check_readings(clause: Inference, made: EventType, catalog: Catalog) -> None:
    """The inferred stream and its readings have the same key."""
    over = catalog.types.get(clause.over)
    if over is None:
        fix = did_you_mean(clause.over, [t.name for t in catalog.types.values() if t.has_events])
        raise error("UNKNOWN_STREAM", clause.span, name=clause.over, fix=fix)
    if not over.has_events:
        raise error("NOT_A_STREAM", clause.span, name=clause.over, kind=over.kind, fix="name a stream of readings")
    if over.probabilistic is not None:
        where, fix = "because it is uncertain already", "infer from a stream of readings"
        raise error("UNSUPPORTED", clause.span, what=f"INFERENCE OVER {clause.over}", where=where, fix=fix)
    own, theirs = _key_types(made), _key_types(over)
    if dict(own) != dict(theirs):
        what = f"KEY of stream '{made.name}'"
        expected, fix = f"the key of '{over.name}', {_shown(theirs)}", "give both streams the same KEY"
        raise error("TYPE_MISMATCH", clause.span, what=what, expected=expected, found=_shown(own), fix=fix)


def _key_types(event_type: EventType) -> list[tuple[str, str]]:
    types = {attribute.name: str(attribute.type) for attribute in event_type.attributes}
    return [(name, types[name]) for name in event_type.key]


def _shown(key: list[tuple[str, str]]) -> str:
    return f"({', '.join(f'{name} {kind}' for name, kind in key)})"
