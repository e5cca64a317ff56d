"""The catalog: declared event types, relations, models, knowledge bases, sinks. Immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from presage.errors import error
from presage.model.semantics import Context, Knowledge
from presage.model.text import Span
from presage.model.types import DataType

# The root schema: every event type inherits it; it has no attributes.
EVENT = "Event"
# Columns that a probabilistic stream adds: the probability of the row, and the values of the previous step.
PROBABILITY = "probability"
BEFORE = "prev_"


@dataclass(frozen=True)
class Attribute:
    name: str
    type: DataType


@dataclass(frozen=True)
class Moment:
    """Where a deployed statement starts or ends in the log: an offset, and the watermarks of the streams there."""

    position: int
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    known: int | None = None  # the watermark of the statement over all its inputs

    def watermark(self, streams: Iterable[str]) -> int | None:
        """The watermark of these streams together; None while one of them has none."""
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
    """A statement that fills a derived stream, by its text. A deployed one has a number; it reads events that arrived
    after `since` and, once stopped, up to `until`. One that is only declared reads all events."""

    text: str
    since: Moment | None = None
    until: Moment | None = None
    number: int | None = None


@dataclass(frozen=True)
class Uncertain:
    """The uncertain attributes of a probabilistic stream: a row is one alternative of them for its key and step.
    `markov`: conditional on the values of the previous step, which the row has in further columns."""

    attributes: tuple[str, ...]
    markov: bool = False

    @property
    def before(self) -> tuple[str, ...]:
        """The columns of the previous step, one for each attribute; none if steps are independent."""
        return tuple(BEFORE + name for name in self.attributes) if self.markov else ()


@dataclass(frozen=True)
class InferredFrom:
    """The inference of a probabilistic stream: stream of readings, model, method (filter, smooth, viterbi, particles)
    and, for particles, their number."""

    over: str
    model: str
    method: str
    particles: int | None = None


@dataclass(frozen=True)
class Predicted:
    """The attributes of a predicted stream, whose rows are functions of time: for each attribute its value at the row's
    time, its rate per second, and optionally a threshold (else that of `thresholds`). `period`: how long a function is
    valid at most, in microseconds. `errors`: the distribution of the real value within the threshold; `sigma`: of the
    normal one, as a fraction of the threshold. `buffer`: the most tuples that are kept, by `policy`."""

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
    """An attribute that a query adds to a type whose streams name it differently. By stream: its attribute, or a
    constant; NULL for the others."""

    name: str
    type: DataType
    attributes: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class EventType:
    """An event type. `attributes` are all of them, inherited ones first; `kind` is schema, stream or derived.

    INSERT INTO fills a derived stream; `producers` are its statements. The attributes of a `probabilistic` stream end
    with the columns that it adds to the declared ones.
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
        """The attributes without the columns that a probabilistic stream adds."""
        if self.probabilistic is None:
            return self.attributes
        return self.attributes[: -1 - len(self.probabilistic.before)]

    @property
    def positional(self) -> tuple[Attribute, ...]:
        """The attributes of a subgoal's terms, in order: those declared, without the time."""
        return tuple(a for a in self.declared if a.name != self.event_time)

    @property
    def hidden(self) -> tuple[tuple[str, DataType], ...]:
        """Attributes that a query may name, but are not part of `*`."""
        return tuple((v.name, v.type) for v in self.virtual)

    @property
    def has_events(self) -> bool:
        return self.kind in ("stream", "derived")

    @property
    def has_source(self) -> bool:
        """Whether an external source fills it, and not only `load`."""
        outside = self.options.get("source", "memory") != "memory"
        return outside and self.kind == "stream" and self.inference is None

    @property
    def happens(self) -> bool:
        """Whether its rows are events, not alternatives or functions."""
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
    """A hidden Markov model: its file, and the content of the file when declared."""

    name: str
    path: str
    text: str = ""


@dataclass(frozen=True)
class Sink:
    """A sink for the rows of the deployed statements of a name. `version`: that of the catalog when it was declared,
    which distinguishes it from an earlier sink of its name; `begin`: number of the first statement and of its first
    row."""

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
        """Names that a query can read: types and relations."""
        return [*self.types, *self.relations]

    def taken(self) -> list[str]:
        """All names, including models, knowledge bases and sinks."""
        return [*self.names(), *self.models, *self.knowledge, *self.sinks]

    def kind(self, name: str) -> str:
        """The kind of a declared object: schema, stream, derived, relation, model, sink or knowledge base."""
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
        kinds = {kind: {n: x for n, x in objects.items() if n != name} for kind, objects in vars(self).items()}
        return replace(self, **kinds)

    def ancestors(self, name: str) -> set[str]:
        """The type itself and all that it inherits, including the root schema."""
        found: set[str] = {EVENT}
        todo = [name]
        while todo:
            current = todo.pop()
            if current not in found or current == EVENT:
                found.add(current)
                todo.extend(p for p in self.types[current].parents if p not in found)
        return found

    def streams_of(self, name: str) -> list[EventType]:
        """Every stream whose events `FROM name` reads, in the order of declaration.

        Rows of probabilistic and predicted streams are not events: they are read under their own names only.
        """
        return [
            t
            for t in self.types.values()
            if t.has_events and name in self.ancestors(t.name) and (t.happens or t.name == name)
        ]

    def loadable(self, besides: Catalog) -> list[EventType]:
        """Streams with an archive that are not in the other catalog."""
        return [t for n, t in self.types.items() if t.kind == "stream" and n not in besides.types]

    def heirs(self, name: str) -> list[str]:
        return [t.name for t in self.types.values() if name in t.parents]

    def inferred(self, name: str) -> list[str]:
        """The streams that are inferred from that stream, or with that model."""
        made = [t for t in self.types.values() if t.inference is not None]
        return [t.name for t in made if t.inference is not None and name in (t.inference.over, t.inference.model)]


def merge_attributes(
    name: str, parents: list[EventType], own: tuple[Attribute, ...], span: Span | None = None
) -> tuple[Attribute, ...]:
    """The attributes of a type that inherits `parents`, theirs first; one name with two types is an error."""
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
