"""The printer of a SELECT over history, on one line. The caller prints its terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from presage.lang.identifiers import spell_name
from presage.lang.recall_syntax import HistorySelect, HistorySource, OrderTerm
from presage.lang.syntax import Expr, SelectItem
from presage.model.time import format_duration

# A term in, its text out.
Spell = Callable[[Expr], str]


def print_select(select: HistorySelect, spell: Spell) -> str:
    """`SELECT … FROM … WHERE …`, without parentheses around it."""
    items = ", ".join([_item(item, spell) for item in select.select])
    parts = [f"SELECT {'DISTINCT ' if select.distinct else ''}{items}"]
    if select.sources:
        first, *others = [_source(source, spell) for source in select.sources]
        parts.append(f"FROM {first.removeprefix(', ')}" + "".join(others))
    for recall in select.recalls:
        back = f"LAST {format_duration(recall.last)} " if recall.last is not None else ""
        parts.append(f"RECALL {back}({print_select(recall.select, spell)}) AS {spell_name(recall.alias)}")
    if select.where is not None:
        parts.append(f"WHERE {spell(select.where)}")
    if select.group_by:
        parts.append(f"GROUP BY {', '.join([spell(key) for key in select.group_by])}")
    if select.having is not None:
        parts.append(f"HAVING {spell(select.having)}")
    if select.order_by:
        parts.append(print_order(select.order_by, spell))
    if select.limit is not None:
        parts.append(f"LIMIT {select.limit}")
    return " ".join(parts)


def _item(item: SelectItem, spell: Spell) -> str:
    return spell(item.expr) + (f" AS {spell_name(item.alias)}" if item.alias is not None else "")


def _source(source: HistorySource, spell: Spell) -> str:
    """A source with the comma or the JOIN before it."""
    text = f"({print_select(source.select, spell)})" if source.select is not None else spell_name(source.name)
    if source.alias is not None:
        text += f" AS {spell_name(source.alias)}"
    if source.window is not None:
        text += f" WINDOW {format_duration(source.window)}"
    if source.on is None:
        return f", {text}"
    return f" {'LEFT ' if source.outer else ''}JOIN {text} ON {spell(source.on)}"


def print_order(terms: Iterable[OrderTerm], spell: Spell) -> str:
    return f"ORDER BY {', '.join([_order(term, spell) for term in terms])}"


def _order(term: OrderTerm, spell: Spell) -> str:
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[term.nulls_first]
    return f"{spell(term.expr)}{' DESC' if term.descending else ''}{nulls}"
