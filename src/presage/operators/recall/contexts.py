"""The binder of a CONTEXT, with the RECALLs of the event that it names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from presage.analyze.names import refuse_same_name
from presage.analyze.scope import ScopeItem
from presage.errors import unsupported
from presage.lang.recall_syntax import HistorySelect, RecallClause, SimilarClause
from presage.model.text import Span
from presage.operators.recall.nodes import Recalled, Select, Similar
from presage.operators.recall.selects import Histories, bind_select


@dataclass(frozen=True)
class Names:
    """What a CONTEXT may name: names of the event, and the RECALLs before it, with theirs."""

    event: tuple[ScopeItem, ...]
    recalls: tuple[tuple[Recalled | Similar, ScopeItem], ...]

    @property
    def plain(self) -> tuple[tuple[Recalled, ScopeItem], ...]:
        """The plain RECALLs: the similar events of a past event are not stored."""
        return tuple((recall, scope) for recall, scope in self.recalls if isinstance(recall, Recalled))


def bind_recalled(
    clause: RecallClause, scopes: tuple[ScopeItem, ...], histories: Histories
) -> tuple[Recalled, ScopeItem]:
    """A RECALL of an event with the names in `scopes`, and the names of its columns."""
    select = bind_select(clause.select, scopes, histories)
    columns = tuple((o.name, o.expr.type) for o in select.outputs)
    return Recalled(clause.alias, select, clause.last), ScopeItem(clause.alias, f"RECALL '{clause.alias}'", columns)


def refuse_same_alias(clause: RecallClause | SimilarClause, scopes: Iterable[ScopeItem]) -> None:
    known = [scope.alias for scope in scopes]
    refuse_same_name(clause.alias, known, "FROM", clause.span, "give one of them another name with AS")


def bind_context(written: HistorySelect, names: Names, histories: Histories) -> Select:
    """The select of a CONTEXT. It runs for every row of its own RECALLs, and of those before it whose columns it
    names."""
    plain = names.plain
    scopes = (*names.event, *(scope for _, scope in plain))
    own: list[Recalled] = []
    for clause in written.recalls:
        refuse_same_alias(clause, (*scopes, *(scope for _, scope in names.recalls)))
        recall, scope = bind_recalled(clause, scopes, histories)
        own.append(recall)
        scopes = (*scopes, scope)
    select = bind_select(replace(written, recalls=()), scopes, histories, windowed=True)
    named = select.parameters.union(*(recall.select.parameters for recall in own))
    earlier: list[Recalled] = []
    for recall, _ in reversed(plain):
        if named & {column.name for column in recall.columns}:
            earlier.insert(0, recall)
            named |= recall.select.parameters
    _refuse_similar(named, names, written.span)
    return replace(select, recalled=(*earlier, *own))


def _refuse_similar(named: frozenset[str], names: Names, span: Span) -> None:
    for recall, _ in names.recalls:
        if isinstance(recall, Similar) and named & {column.name for column in recall.columns}:
            what = f"a CONTEXT that speaks of what '{recall.alias}' found"
            where = "since similar events of past ones are not known"
            raise unsupported(span, what, where, "name columns of a plain RECALL only")
