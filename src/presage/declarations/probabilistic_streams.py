"""PROBABILISTIC and FROM INFERENCE of a declaration -> the event type with its uncertain attributes."""

from __future__ import annotations

from dataclasses import replace

from presage.declarations.special_streams import check_special
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.sequence_syntax import Inference
from presage.model.catalog import PROBABILITY, Attribute, Catalog, EventType, InferredFrom, Uncertain
from presage.model.text import Span
from presage.model.types import DOUBLE, ArrayOf, MapOf, StructOf


def bind_uncertain(node: s.CreateType, made: EventType, catalog: Catalog) -> EventType:
    """The stream of a declaration with PROBABILISTIC."""
    assert node.probabilistic is not None
    clause, span = node.probabilistic, node.probabilistic.span
    _check_stream(node, made, catalog, "PROBABILISTIC", span)
    for name in clause.attributes:
        attribute = made.attribute(name)
        if attribute is None:
            fix = did_you_mean(name, [a.name for a in made.attributes])
            raise error("UNKNOWN_ATTRIBUTE", span, owner=f"stream '{made.name}'", name=name, fix=fix)
        if name in (*made.key, made.event_time):
            role = "the event time" if name == made.event_time else "part of KEY"
            expected = "none of the attributes that say what a row is about and when"
            what, fix = f"the uncertain attribute '{name}'", f"leave '{name}' out of PROBABILISTIC"
            raise error("BAD_VALUE", span, what=what, found=role, expected=expected, fix=fix)
    if len(set(clause.attributes)) < len(clause.attributes):
        twice = next(n for n in clause.attributes if clause.attributes.count(n) > 1)
        raise error("DUPLICATE_NAME", span, name=twice, where="PROBABILISTIC", fix="leave one out")
    return _with_columns(made, Uncertain(clause.attributes, clause.markov), span)


def bind_inference(node: s.CreateType, clause: Inference, made: EventType, catalog: Catalog) -> EventType:
    """The stream of a declaration with FROM INFERENCE; without PROBABILISTIC the attribute beside key and time is
    uncertain, and SMOOTH gives what each step means for the next."""
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
        raise error("BAD_VALUE", span, what=what, found=_listed("with the uncertain", others), expected=expected)
    return replace(found, inference=InferredFrom(clause.over, clause.model, clause.method, clause.particles))


def _check_stream(node: s.CreateType, made: EventType, catalog: Catalog, word: str, span: Span) -> None:
    belongs = "a distribution belongs to a key and a time"
    check_special(node, made, catalog, word, span, rows="uncertain rows", belongs=belongs)


def _with_columns(made: EventType, uncertain: Uncertain, span: Span) -> EventType:
    """The stream with the columns that its rows have beside the declared ones."""
    for attribute in made.attributes:
        if isinstance(attribute.type, ArrayOf | MapOf | StructOf):
            what, fix = f"'{attribute.name}' of the probabilistic stream '{made.name}'", "declare its parts one by one"
            raise error("TYPE_MISMATCH", span, what=what, expected="a plain type", found=attribute.type, fix=fix)
        if attribute.name not in (*made.key, *uncertain.attributes, made.event_time):
            raise error(
                "BAD_VALUE",
                span,
                what=f"the attribute '{attribute.name}' of stream '{made.name}'",
                found="neither in KEY nor in PROBABILISTIC",
                expected="in one of them",
                fix="add it to PROBABILISTIC if it differs between the alternatives of a step, to KEY if "
                "it tells things apart",
            )
    names = (PROBABILITY, *uncertain.before)
    added = {name.lower() for name in names}
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
    """What is inferred is about the same things as the readings that it is inferred from."""
    over = catalog.types.get(clause.over)
    if over is None:
        fix = did_you_mean(clause.over, [t.name for t in catalog.types.values() if t.has_events])
        raise error("UNKNOWN_STREAM", clause.span, name=clause.over, fix=fix)
    if not over.has_events:
        raise error("NOT_A_STREAM", clause.span, name=clause.over, kind=over.kind, fix="name a stream of readings")
    if over.probabilistic is not None:
        where, fix = "because it is uncertain already", "infer from a stream of readings"
        raise error("UNSUPPORTED", clause.span, what=f"INFERENCE OVER {clause.over}", where=where, fix=fix)
    own = {name: _type_of(made, name) for name in made.key}
    theirs = {name: _type_of(over, name) for name in over.key}
    if own != theirs:
        what = f"KEY of stream '{made.name}'"
        expected, fix = f"the key of '{over.name}', {_shown(theirs)}", "give both streams the same KEY"
        raise error("TYPE_MISMATCH", clause.span, what=what, expected=expected, found=_shown(own), fix=fix)


def _type_of(event_type: EventType, name: str) -> str:
    attribute = event_type.attribute(name)
    return "" if attribute is None else str(attribute.type)


def _shown(key: dict[str, str]) -> str:
    return f"({', '.join(f'{name} {kind}' for name, kind in key.items())})"


def _listed(what: str, names: tuple[str, ...]) -> str:
    return f"{what} attributes {', '.join(names)}" if names else "without an uncertain attribute"
