"""Clauses that a plain SELECT refuses over probabilistic and predicted streams, with what to use instead.

Rows of such streams are alternatives or functions, not events. A plain SELECT may show them as stored; a window, a
join or a pattern would treat each of them as an event that happened.
"""

from __future__ import annotations

from presage.analyze.problems import Problems
from presage.errors import PresageError, error
from presage.lang import syntax as s
from presage.lang.tree_walk import nodes_of
from presage.model.catalog import PROBABILITY, Catalog, EventType
from presage.model.text import Span


def refuse_uncertain_items(query: s.Query, catalog: Catalog, problems: Problems) -> None:
    """Refuse windows, joins and MATCH_RECOGNIZE over such streams, and INSERT INTO of alternatives without their
    probability."""
    streams = [item for item in query.items if item.name not in catalog.relations]
    for item in query.items:
        event_type = catalog.types.get(item.name)
        if event_type is None or not _has_no_events(event_type):
            continue
        if item.windows:
            problems.errors.append(_refusal(event_type, "a window", item.windows[0].span))
        elif item.match is not None:
            problems.errors.append(_refusal(event_type, "MATCH_RECOGNIZE", item.match.span))
        elif len(streams) > 1:
            problems.errors.append(_refusal(event_type, "a join", item.name_span))
        elif query.insert_into is not None and event_type.probabilistic is not None and not _uses_probability(query):
            problems.errors.append(_refusal(event_type, "INSERT INTO without the probability", item.name_span))


def refuse_uncertain(event_type: EventType, what: str, span: Span) -> None:
    if _has_no_events(event_type):
        raise _refusal(event_type, what, span)


def _uses_probability(query: s.Query) -> bool:
    """Whether the query selects or tests the probability: each row is then a statement about an alternative."""
    if any(isinstance(item.expr, s.Star) for item in query.select):
        return True
    return any(
        isinstance(n, s.Name | s.Member) and n.name == PROBABILITY for n in nodes_of((query.select, query.where))
    )


def _has_no_events(event_type: EventType) -> bool:
    return event_type.probabilistic is not None or event_type.predicted is not None


def _refusal(event_type: EventType, what: str, span: Span) -> PresageError:
    if event_type.predicted is not None:
        name, value = event_type.name, event_type.predicted.attributes[0]
        fix = f"ask FROM PREDICTED {name}, which knows {value} at every moment, and INSERT its rows INTO a stream"
        return error("UNSUPPORTED", span, what=what, where=f"over the predicted stream '{name}'", fix=fix)
    terms = ", ".join(a.name for a in event_type.positional)
    fix = f"ask FROM SEQUENCE [ {event_type.name}({terms}) ; … ], which counts the probability of every alternative"
    return error("UNSUPPORTED", span, what=what, where=f"over the probabilistic stream '{event_type.name}'", fix=fix)
