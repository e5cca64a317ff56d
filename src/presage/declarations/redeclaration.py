"""CREATE of a name that is declared already: nothing happens where it says the same, else the difference is named.

Apart from `declare`, which makes what is compared here.
"""

from __future__ import annotations

from collections.abc import Mapping

from presage.errors import error
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import CreateKnowledge
from presage.lang.sequence_syntax import CreateModel
from presage.model.catalog import Catalog, EventType, Model, Relation, Sink
from presage.model.semantics import Context, Knowledge
from presage.model.time import format_duration, parse_duration

CREATES = s.CreateType | s.CreateRelation | s.CreateSink | CreateModel | CreateKnowledge
Declared = EventType | Relation | Model | Knowledge | Sink
# What a file said, in a message: it is not quoted there.
FILE = "what its file says"
MOST_NAMED = 5
DEFAULTS = {"source": "memory", "max_delay": format_duration(0), "archive": "true"}


def declared_as(node: CREATES, catalog: Catalog) -> Declared | None:
    """What is declared under the name and the kind of a CREATE; None if nothing is."""
    known: Declared | None
    if isinstance(node, s.CreateType):
        known = catalog.types.get(node.name)
        return known if known is not None and known.kind == node.kind else None
    several: Mapping[str, Declared] = (
        catalog.relations
        if isinstance(node, s.CreateRelation)
        else catalog.models
        if isinstance(node, CreateModel)
        else catalog.knowledge
        if isinstance(node, CreateKnowledge)
        else catalog.sinks
    )
    return several.get(node.name)


def refuse_different(node: CREATES, known: Declared, made: Declared, kind: str) -> None:
    """`made`: what the CREATE would declare if the name were free."""
    was, says = _told(known), _told(made)
    found = [_difference(label, was.get(label), says.get(label)) for label in {**was, **says}]
    told = [each for each in found if each]
    if not told and [*was] != [*says]:
        told = [f"the order is {', '.join(_attributes(was))}, here {', '.join(_attributes(says))}"]
    if told:
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        changed = [label for label in {**was, **says} if was.get(label) != says.get(label)]
        fix, difference = _fix(known, changed), f", and this says something else: {'; '.join(told[:MOST_NAMED])}{more}"
        raise error("ALREADY_DECLARED", node.span, name=node.name, kind=kind, fix=fix, difference=difference)


def _difference(label: str, was: str | None, says: str | None) -> str:
    if was == says:
        return ""
    if label == FILE:
        return "its file says something else now than when it was declared"
    if was is None:
        return f"{label} ({says}) is new"
    return f"{label} is {was}, here {says}" if says is not None else f"{label} ({was}) is left out"


def _fix(known: Declared, changed: list[str]) -> str:
    # Never DROP for what holds events: whoever follows the advice would lose them.
    if changed == [FILE] and isinstance(known, Knowledge):
        return f"REFRESH KNOWLEDGE {known.name} reads its files again"
    if isinstance(known, EventType):
        return f"write it as it is declared, which DESCRIBE {known.name} shows, or choose another name; its events stay"
    kind = "knowledge" if isinstance(known, Knowledge) else type(known).__name__.lower()
    return f"choose another name, or DROP {kind.upper()} {known.name} and declare it again: no event is lost"


def _told(thing: Declared) -> dict[str, str]:
    """What a declaration says, by what it is called in a message."""
    match thing:
        case EventType():
            return _told_of_type(thing)
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


def _told_of_type(made: EventType) -> dict[str, str]:
    clauses = {
        "INHERITS": ", ".join(made.parents) or None,
        "EVENT TIME": made.event_time,
        "KEY": ", ".join(made.key) or None,
        "PROBABILISTIC": made.probabilistic and _shown(made.probabilistic),
        "INFERENCE": made.inference and _shown(made.inference),
        "PREDICTED": made.predicted and _shown(made.predicted),
        FILE: _meaning(made.context),
    }
    given = {label: str(value) for label, value in clauses.items() if value is not None}
    return {**_columns(made), **given, **_options(made.options)}


def _meaning(context: Context | None) -> str | None:
    return None if context is None else context.text


def _shown(clause: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in vars(clause).items() if value not in (None, False, ()))


def _columns(of: EventType | Relation) -> dict[str, str]:
    return {f"attribute {a.name}": str(a.type) for a in of.attributes}


def _attributes(told: Mapping[str, str]) -> list[str]:
    return [label.removeprefix("attribute ") for label in told if label.startswith("attribute ")]


def _given(label: str, value: str | None) -> dict[str, str]:
    return {} if value is None else {label: f"'{value}'"}


def _options(options: Mapping[str, str]) -> dict[str, str]:
    """In one order, without those that say what holds anyway."""
    said = {name: _plain(options[name]) for name in sorted(options)}
    return {name: f"'{value}'" for name, value in said.items() if value != DEFAULTS.get(name)}


def _plain(value: str) -> str:
    """The same for two spellings of a duration or of a truth value."""
    micros = parse_duration(value)
    if micros is not None:
        return format_duration(micros)
    return value.lower() if value.lower() in ("true", "false") else value
