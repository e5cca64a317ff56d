"""The printer of RECALL clauses, EVENT ID and the commands to recalls."""

from __future__ import annotations

from presage.lang.identifiers import spell_name, spell_string
from presage.lang.print_terms import print_expression, print_select
from presage.lang.recall_syntax import Pace, RecallClause, RecallCommand, SimilarClause
from presage.lang.syntax import FromItem
from presage.model.time import format_duration


def print_recalls(item: FromItem) -> str:
    """The end of an item of FROM: EVENT ID on its line, each RECALL on a line of its own."""
    event_id = ", ".join(print_expression(term) for term in item.event_id)
    lines = [_recall(clause) for clause in item.recalls]
    return "\n".join([f" EVENT ID ({event_id})" if item.event_id else "", *lines])


def print_recall_command(command: RecallCommand) -> str:
    of = f" OF {spell_name(command.of)}" if command.of is not None else ""
    return f"{command.action.upper()} RECALL {spell_string(command.event_id)}{of}"


def _recall(clause: RecallClause | SimilarClause) -> str:
    words = ["FINAL RECALL" if clause.final else "RECALL"]
    if clause.last is not None:
        words.append(f"LAST {format_duration(clause.last)}")
    if isinstance(clause, SimilarClause):
        words += [f"SIMILAR {clause.count}", f"({', '.join(_parts(clause))})"]
    else:
        words.append(f"({print_select(clause.select)})")
    words.append(f"AS {spell_name(clause.alias)}")
    return " ".join([*words, *_pace(clause.pace)])


def _parts(clause: SimilarClause) -> list[str]:
    parts = [f"CONTEXT {print_select(context)}" for context in clause.contexts]
    parts += [f"WITH {spell_name(named.name)} AS {print_select(named.select)}" for named in clause.returned]
    if clause.before is not None:
        parts.append(f"BEFORE {format_duration(clause.before)}")
    if clause.after is not None:
        parts.append(f"AFTER {format_duration(clause.after)}")
    if clause.bandwidths:
        widths = ", ".join(f"{spell_name(width.attribute)} = {width.width!r}" for width in clause.bandwidths)
        parts.append(f"BANDWIDTH ({widths})")
    return parts


def _pace(pace: Pace) -> list[str]:
    words = []
    if pace.report_every is not None:
        words.append(f"REPORT EVERY {format_duration(pace.report_every)}")
    if pace.pause_every is not None:
        words.append(f"PAUSE EVERY {pace.pause_every} CHUNKS")
    if pace.drop_after is not None:
        words.append(f"DROP AFTER {format_duration(pace.drop_after)}")
    return words
