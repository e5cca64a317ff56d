"""Binder of inferred streams: an Infer node over the readings."""

from __future__ import annotations

from collections.abc import Callable

from presage.analyze.scope import plan_name
from presage.errors import error
from presage.model.catalog import BEFORE, PROBABILITY, Catalog, EventType
from presage.model.catalog import Model as Declared
from presage.model.text import Span
from presage.operators.sequence.inference.model import Model, model_of_text, observed
from presage.operators.sequence.nodes import Infer
from presage.plan.expr import ColumnRef
from presage.plan.nodes import Field, Named, Node

Events = Callable[[EventType, str, Span], Node]


def bind_inferred(stream: EventType, alias: str, events: Events, catalog: Catalog, span: Span) -> Node:
    """The rows of a stream that is declared FROM INFERENCE."""
    inference = stream.inference
    assert inference is not None
    assert stream.probabilistic is not None
    readings = catalog.types[inference.over]
    model = read_model(catalog.models[inference.model])
    names = [a.name for a in readings.attributes if a.name != readings.event_time]
    observes = observed(model, names, readings.key)
    own = f"{alias}!{readings.name}"
    node = events(readings, own, span)
    kinds = {a.name: a.type for a in readings.attributes}
    prepared = tuple(
        Named(name, ColumnRef(kinds[name], plan_name(own, name))) for name in dict.fromkeys((*readings.key, *observes))
    )
    (attribute,) = stream.probabilistic.attributes
    check_states(model, inference.model, stream, attribute, span)
    fields = tuple(Field(plan_name(alias, a.name), a.type) for a in stream.attributes)
    shown = {plan_name(alias, key): key for key in stream.key}
    shown |= {plan_name(alias, attribute): attribute, plan_name(alias, PROBABILITY): PROBABILITY}
    if stream.probabilistic.markov:
        shown[plan_name(alias, BEFORE + attribute)] = BEFORE + attribute
    times = frozenset({plan_name(alias, stream.event_time)} if stream.event_time is not None else ())
    return Infer(
        node,
        prepared,
        readings.key,
        observes,
        model,
        inference.method,
        inference.particles or 0,
        attribute,
        fields,
        tuple(shown.items()),
        times,
        stream.probabilistic.markov,
        inference.model,
    )


def check_inferred(stream: EventType, catalog: Catalog, span: Span) -> None:
    """Whether the model fits the readings and the stream."""
    inference, uncertain = stream.inference, stream.probabilistic
    assert inference is not None
    assert uncertain is not None
    model = read_model(catalog.models[inference.model])
    readings = catalog.types[inference.over]
    observed(model, [a.name for a in readings.attributes if a.name != readings.event_time], readings.key)
    check_states(model, inference.model, stream, uncertain.attributes[0], span)


def read_model(declared: Declared) -> Model:
    """The model of a declaration, from the stored text of its file."""
    return model_of_text(declared.text, declared.path)


def check_states(model: Model, name: str, stream: EventType, attribute: str, span: Span) -> None:
    """Check that states are values of the inferred attribute."""
    kind = next(a.type for a in stream.attributes if a.name == attribute)
    wider = ("INT", "LONG", "DOUBLE")
    own = model.state_type
    if str(kind) not in ((own,) if own == "STRING" else wider[wider.index(own) :]):
        what = f"the attribute '{attribute}' of '{stream.name}'"
        expected = f"{model.state_type}, as the states of model '{name}'"
        raise error("TYPE_MISMATCH", span, what=what, expected=expected, found=kind, fix=f"declare it {own}")
