"""CREATE of a name that is declared already: accepted if the declarations are equal, else an error names the
differences."""

from __future__ import annotations

from collections.abc import Mapping

from presage.errors import error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import CreateKnowledge
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Catalog, EventType, Model, Relation, Sink
from presage.model.semantics import Knowledge
from presage.model.time import format_duration, parse_duration

CREATES = s.CreateType | s.CreateRelation | s.CreateSink | CreateModel | CreateKnowledge
Declared = EventType | Relation | Model | Knowledge | Sink
# The label of a file's content in messages, which do not quote it.
FILE = "what its file says"
MOST_NAMED = 5
DEFAULTS = {"source": "memory", "max_delay": format_duration(0), "archive": "true"}


def declared_as(node: CREATES, catalog: Catalog) -> Declared | None:
    """What is declared under the name and the kind of a CREATE; None if nothing is."""
    if isinstance(node, s.CreateType):
        known = catalog.types.get(node.name)
        return known if known is not None and known.kind == node.kind else None
    objects: dict[type, Mapping[str, Declared]] = {
        s.CreateRelation: catalog.relations,
        CreateModel: catalog.models,
        CreateKnowledge: catalog.knowledge,
        s.CreateSink: catalog.sinks,
    }
    return objects[type(node)].get(node.name)


def refuse_different(node: CREATES, known: Declared, made: Declared, kind: str) -> None:
    """`made`: what the CREATE would declare if the name were free."""
    old, new = _parts(known), _parts(made)
    changed = [label for label in {**old, **new} if old.get(label) != new.get(label)]
    differences = [_difference(label, old.get(label), new.get(label)) for label in changed]
    if not differences and [*old] != [*new]:
        differences = [f"the order is {', '.join(_attributes(old))}, here {', '.join(_attributes(new))}"]
    if differences:
        more = f" and {len(differences) - MOST_NAMED} more" if len(differences) > MOST_NAMED else ""
        named = "; ".join(differences[:MOST_NAMED])
        fix, difference = _fix(known, changed), f", and this says something else: {named}{more}"
        raise error("ALREADY_DECLARED", node.span, name=node.name, kind=kind, fix=fix, difference=difference)


def _difference(label: str, old: str | None, new: str | None) -> str:
    if label == FILE:
        return "its file says something else now than when it was declared"
    if old is None:
        return f"{label} ({new}) is new"
    return f"{label} is {old}, here {new}" if new is not None else f"{label} ({old}) is left out"


def _fix(known: Declared, changed: list[str]) -> str:
    # Never suggest DROP for a stream: its events would be lost.
    if changed == [FILE] and isinstance(known, Knowledge):
        return f"REFRESH KNOWLEDGE {known.name} reads its files again"
    if isinstance(known, EventType):
        return f"write it as it is declared, which DESCRIBE {known.name} shows, or choose another name; its events stay"
    kind = "knowledge" if isinstance(known, Knowledge) else type(known).__name__.lower()
    return f"choose another name, or DROP {kind.upper()} {known.name} and declare it again: no event is lost"


def _parts(thing: Declared) -> dict[str, str]:
    """The parts of a declaration, by their labels in messages."""
    match thing:
        case EventType():
            return _parts_of_type(thing)
        case Relation():
            rows = {} if thing.rows is None else {"the list of VALUES": f"{len(thing.rows)} rows {thing.rows!r:.200}"}
            return {**_columns(thing), **_given("FROM", thing.path), **rows, **_options(thing.options)}
        case Model():
            return {"FROM": f"'{thing.path}'", FILE: thing.text}
        case Knowledge():
            files = ", ".join(f"'{path}'" for path in thing.paths)
            return {"FROM": files, **_given("REASONING", thing.reasoning), FILE: " ".join(thing.files)}
        case Sink():
            return {"FROM": thing.statement, **_options(thing.options)}


def _parts_of_type(made: EventType) -> dict[str, str]:
    clauses = {
        "INHERITS": ", ".join(made.parents) or None,
        "EVENT TIME": made.event_time,
        "KEY": ", ".join(made.key) or None,
        "PROBABILISTIC": made.probabilistic and _shown(made.probabilistic),
        "INFERENCE": made.inference and _shown(made.inference),
        "PREDICTED": made.predicted and _shown(made.predicted),
        FILE: None if made.context is None else made.context.text,
    }
    given = {label: str(value) for label, value in clauses.items() if value is not None}
    return {**_columns(made), **given, **_options(made.options)}


def _shown(clause: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in vars(clause).items() if value not in (None, False, ()))


def _columns(of: EventType | Relation) -> dict[str, str]:
    return {f"attribute {a.name}": str(a.type) for a in of.attributes}


def _attributes(parts: Mapping[str, str]) -> list[str]:
    return [label.removeprefix("attribute ") for label in parts if label.startswith("attribute ")]


def _given(label: str, value: str | None) -> dict[str, str]:
    return {} if value is None else {label: f"'{value}'"}


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """Sorted by name, without those that equal the default."""
    plain = {name: _plain(options[name]) for name in sorted(options)}
    return {name: f"'{value}'" for name, value in plain.items() if value != DEFAULTS.get(name)}


def _plain(value: str) -> str:
    """One spelling for equal durations and truth values."""
    micros = parse_duration(value)
    if micros is not None:
        return format_duration(micros)
    return value.lower() if value.lower() in ("true", "false") else value
