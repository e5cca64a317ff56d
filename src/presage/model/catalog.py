"""What is declared: event types, relations, models, knowledge bases. Immutable: a declaration makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from presage.errors import error
from presage.model.semantics import Context, Knowledge
from presage.model.text import Span
from presage.model.types import DataType

# The empty schema: every event type inherits it, and it has no attributes of its own.
EVENT = "Event"
# Columns of a probabilistic stream beside those declared: how likely the row is, and what it is conditioned on.
PROBABILITY = "probability"
BEFORE = "prev_"


@dataclass(frozen=True)
class Attribute:
    name: str
    type: DataType


@dataclass(frozen=True)
class Moment:
    """`now` of a standing statement, in the log: a position, and how far the time of each stream was known there."""

    position: int
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    known: int | None = None  # where one statement was with all that it reads

    def watermark(self, streams: Iterable[str]) -> int | None:
        """How far the time of all these streams was known; None where one had told nothing yet."""
        if self.known is not None:
            return self.known
        known = [self.watermarks.get(name) for name in streams]
        times = [time for time in known if time is not None]
        return min(times) if times and len(times) == len(known) else None

    def to_json(self) -> dict[str, Any]:
        return {"position": self.position, "watermarks": dict(self.watermarks), "known": self.known}

    @classmethod
    def from_json(cls, content: dict[str, Any] | None) -> Moment | None:
        return None if content is None else cls(content["position"], content["watermarks"], content.get("known"))


@dataclass(frozen=True)
class Producer:
    """A statement that fills a derived stream, by its text. A standing one has a number; it sees what arrived after
    `since` and, once it is stopped, up to `until`. One that was only declared sees everything."""

    text: str
    since: Moment | None = None
    until: Moment | None = None
    number: int | None = None


@dataclass(frozen=True)
class Uncertain:
    """What a probabilistic stream does not know for sure: a row is an alternative for these attributes of its key and
    step. `markov`: given the values of the step before, which the row has in columns of their own."""

    attributes: tuple[str, ...]
    markov: bool = False

    @property
    def before(self) -> tuple[str, ...]:
        """The columns with the values of the step before, one for each attribute; none if steps are independent."""
        return tuple(BEFORE + name for name in self.attributes) if self.markov else ()


@dataclass(frozen=True)
class InferredFrom:
    """Where the rows of a probabilistic stream come from: readings of a stream, a model, a method (filter, smooth,
    viterbi, particles) and, for the last, how many."""

    over: str
    model: str
    method: str
    particles: int | None = None


@dataclass(frozen=True)
class Predicted:
    """What comes as functions of time: a row has, for each of these attributes, its value at the row's own time, the
    change per second from there on, and perhaps a threshold of its own; else `thresholds` holds. `period`: the longest
    time that a function holds, in microseconds. `errors`: how the real value strays within the threshold; `sigma`: of
    the normal one, as a part of the threshold. `buffer`: the most tuples that are kept, and by which `policy`."""

    attributes: tuple[str, ...]
    thresholds: tuple[float, ...]
    period: int | None = None
    errors: str = "uniform"
    sigma: float = 0.5
    buffer: int | None = None
    policy: str = "min-c"

    @staticmethod
    def columns_of(attribute: str) -> tuple[str, str, str]:
        return f"{attribute}_value", f"{attribute}_rate", f"{attribute}_threshold"


@dataclass(frozen=True)
class Virtual:
    """An attribute that a query gives to a type whose streams spell it differently. By stream: its attribute, or the
    constant that tells it apart; NULL for the others."""

    name: str
    type: DataType
    attributes: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class EventType:
    """An event type. `attributes` holds all of them, inherited ones first; `kind` is schema, stream or derived.

    A derived stream is what INSERT INTO fills; `producers` are the statements that do. The attributes of a stream that
    is `probabilistic` end with the columns that its rows have beside those declared.
    """

    name: str
    kind: str
    attributes: tuple[Attribute, ...]
    parents: tuple[str, ...] = ()
    event_time: str | None = None
    key: tuple[str, ...] = ()
    max_delay: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    producers: tuple[Producer, ...] = ()
    probabilistic: Uncertain | None = None
    inference: InferredFrom | None = None
    predicted: Predicted | None = None
    context: Context | None = None
    virtual: tuple[Virtual, ...] = ()

    @property
    def declared(self) -> tuple[Attribute, ...]:
        """The attributes without the columns that a probabilistic stream adds to them."""
        if self.probabilistic is None:
            return self.attributes
        return self.attributes[: -1 - len(self.probabilistic.before)]

    @property
    def positional(self) -> tuple[Attribute, ...]:
        """What the terms of a subgoal stand for, in order: the declared attributes without the time."""
        return tuple(a for a in self.declared if a.name != self.event_time)

    @property
    def hidden(self) -> tuple[tuple[str, DataType], ...]:
        """Attributes that a query may name and that `*` does not show."""
        return tuple((v.name, v.type) for v in self.virtual)

    @property
    def has_events(self) -> bool:
        return self.kind in ("stream", "derived")

    @property
    def has_source(self) -> bool:
        """Whether it is filled from outside by itself, and not by `load` alone."""
        outside = self.options.get("source", "memory") != "memory"
        return outside and self.kind == "stream" and self.inference is None

    @property
    def happens(self) -> bool:
        """Whether its rows are events, and neither alternatives nor functions."""
        return self.probabilistic is None and self.predicted is None

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True)
class Relation:
    """A small static table: `rows` from VALUES, or read from `path` (already resolved under the roots)."""

    name: str
    attributes: tuple[Attribute, ...]
    rows: tuple[tuple[object, ...], ...] | None = None
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True)
class Model:
    """A hidden Markov model: the file that it was read from, and what the file said."""

    name: str
    path: str
    text: str = ""


@dataclass(frozen=True)
class Sink:
    """Where the rows of the standing statements of a name go by themselves. `version`: of the catalog when it was
    declared, and what tells it from an earlier sink of its name; `begin`: the number of the statement, and of its row,
    that it began with."""

    name: str
    statement: str
    options: Mapping[str, str] = field(default_factory=dict)
    version: int = 0
    begin: tuple[int, int] = (0, 0)

    @property
    def kind(self) -> str:
        return self.options["sink"]


@dataclass(frozen=True)
class Catalog:
    """All declared names. One name space: a name is a type, a relation, a model, a knowledge base or a sink."""

    types: Mapping[str, EventType] = field(default_factory=lambda: {EVENT: EventType(EVENT, "schema", ())})
    relations: Mapping[str, Relation] = field(default_factory=dict)

    models: Mapping[str, Model] = field(default_factory=dict)
    knowledge: Mapping[str, Knowledge] = field(default_factory=dict)
    sinks: Mapping[str, Sink] = field(default_factory=dict)

    def names(self) -> list[str]:
        """What can be asked: types and relations."""
        return [*self.types, *self.relations]

    def taken(self) -> list[str]:
        """All names, those of models, knowledge bases and sinks too."""
        return [*self.names(), *self.models, *self.knowledge, *self.sinks]

    def kind(self, name: str) -> str:
        """What a declared name is: schema, stream, derived, relation, model, sink or knowledge base."""
        if name in self.types:
            return self.types[name].kind
        if name in self.relations:
            return "relation"
        if name in self.sinks:
            return "sink"
        return "model" if name in self.models else "knowledge base"

    def with_type(self, event_type: EventType) -> Catalog:
        return replace(self, types={**self.types, event_type.name: event_type})

    def with_relation(self, relation: Relation) -> Catalog:
        return replace(self, relations={**self.relations, relation.name: relation})

    def with_model(self, model: Model) -> Catalog:
        return replace(self, models={**self.models, model.name: model})

    def with_knowledge(self, base: Knowledge) -> Catalog:
        return replace(self, knowledge={**self.knowledge, base.name: base})

    def with_sink(self, sink: Sink) -> Catalog:
        return replace(self, sinks={**self.sinks, sink.name: sink})

    def without(self, name: str) -> Catalog:
        return replace(
            self,
            types={n: t for n, t in self.types.items() if n != name},
            relations={n: r for n, r in self.relations.items() if n != name},
            models={n: m for n, m in self.models.items() if n != name},
            knowledge={n: k for n, k in self.knowledge.items() if n != name},
            sinks={n: k for n, k in self.sinks.items() if n != name},
        )

    def ancestors(self, name: str) -> set[str]:
        """The type itself and all that it inherits, the empty schema included."""
        found: set[str] = {EVENT}
        todo = [name]
        while todo:
            current = todo.pop()
            if current not in found or current == EVENT:
                found.add(current)
                todo.extend(p for p in self.types[current].parents if p not in found)
        return found

    def streams_of(self, name: str) -> list[EventType]:
        """Every stream whose events `FROM name` sees, in the order of declaration.

        A row of a probabilistic stream is no event, but what may have been one, and one of a predicted stream is a
        function: they are seen under their own names only.
        """
        return [
            t
            for t in self.types.values()
            if t.has_events and name in self.ancestors(t.name) and (t.happens or t.name == name)
        ]

    def loadable(self, besides: Catalog) -> list[EventType]:
        """Streams with an archive of their own that the other catalog does not have."""
        return [t for n, t in self.types.items() if t.kind == "stream" and n not in besides.types]

    def heirs(self, name: str) -> list[str]:
        return [t.name for t in self.types.values() if name in t.parents]

    def inferred(self, name: str) -> list[str]:
        """The streams that are inferred from the readings of that stream, or with the model of that name."""
        made = [t for t in self.types.values() if t.inference is not None]
        return [t.name for t in made if t.inference is not None and name in (t.inference.over, t.inference.model)]


def merge_attributes(
    name: str, parents: list[EventType], own: tuple[Attribute, ...], span: Span | None = None
) -> tuple[Attribute, ...]:
    """Attributes of a type that inherits `parents`: theirs first, by name; two domains of one are refused."""
    merged: dict[str, Attribute] = {}
    owner: dict[str, str] = {}
    for source, attributes in [*((p.name, p.attributes) for p in parents), (name, own)]:
        for attribute in attributes:
            known = merged.setdefault(attribute.name, attribute)
            first_owner = owner.setdefault(attribute.name, source)
            if known.type != attribute.type:
                raise error(
                    "CONFLICTING_DOMAINS",
                    span,
                    name=name,
                    attribute=attribute.name,
                    first=known.type,
                    first_owner=f"'{first_owner}'",
                    second=attribute.type,
                    second_owner="its own list" if source == name else f"'{source}'",
                )
    return tuple(merged.values())
