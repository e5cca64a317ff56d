"""The printer of syntax trees: canonical text, from which parsing gives the same tree.

Queries have one clause on a line. Parentheses are printed only where the tree needs them; names are in back-ticks if
they are reserved or irregular; strings are in single quotes.
"""

from __future__ import annotations

from presage.errors import error
from presage.lang import knowledge_syntax as k
from presage.lang import syntax as s
from presage.lang.identifiers import spell_name, spell_new, spell_string
from presage.lang.print_commands import COMMANDS, print_command
from presage.lang.print_patterns import print_match, print_pattern
from presage.lang.print_recall import print_recall_command, print_recalls
from presage.lang.print_sequences import print_inference, print_model, print_probabilistic, print_sequence
from presage.lang.print_terms import print_duration, print_expression, print_item, print_options, print_type
from presage.lang.recall_syntax import RecallCommand
from presage.lang.sequence_syntax import CreateModel
from presage.model.time import format_duration, format_timestamp

# Words that begin an item of FROM of their own.
ITEMS = frozenset({"PATTERN", "PREDICTED"})

__all__ = ["print_expression", "print_script", "print_statement", "print_type"]


def print_script(script: s.Script) -> str:
    """All statements, each ended by `;`."""
    return "\n\n".join(f"{print_statement(statement)};" for statement in script.statements) + "\n"


def print_statement(statement: s.Statement) -> str:
    """One statement, without the `;` at its end."""
    if isinstance(statement, s.Query):
        return _query(statement)
    if isinstance(statement, s.CreateType):
        return _create_type(statement)
    if isinstance(statement, s.CreateRelation):
        return _create_relation(statement)
    if isinstance(statement, CreateModel):
        return print_model(statement)
    if isinstance(statement, s.CreateSink):
        head = (
            f"CREATE SINK {spell_new(statement.name, statement.if_not_exists)} FROM {spell_name(statement.statement)}"
        )
        return f"{head} {print_options(statement.options)}" if statement.options else head
    if isinstance(statement, k.CreateKnowledge):
        paths = ", ".join(spell_string(path) for path in statement.paths)
        reasoning = f" REASONING {statement.reasoning}" if statement.reasoning is not None else ""
        name = spell_new(statement.name, statement.if_not_exists)
        return f"CREATE KNOWLEDGE {name} FROM {paths}{reasoning}"
    if isinstance(statement, k.RefreshKnowledge):
        return f"REFRESH KNOWLEDGE {spell_name(statement.name)}"
    if isinstance(statement, s.Explain):
        form = f"\nFORMAT {statement.format}" if statement.format != "text" else ""
        return f"EXPLAIN\n{_query(statement.statement)}{form}"
    if isinstance(statement, s.Show):
        return f"SHOW {statement.what.upper()}"
    if isinstance(statement, s.Describe):
        return f"DESCRIBE {spell_name(statement.name)}"
    if isinstance(statement, s.Drop):
        cascade = " CASCADE" if statement.cascade else ""
        return f"DROP {statement.kind.upper()} {spell_name(statement.name)}{cascade}"
    if isinstance(statement, RecallCommand):
        return print_recall_command(statement)
    if isinstance(statement, COMMANDS):
        return print_command(statement, _query)
    raise error("INTERNAL", what=f"a {type(statement).__name__} has no text")


def _query(query: s.Query) -> str:
    lines = [f"PREFIX {prefix.name}: <{prefix.iri}>" for prefix in query.prefixes]
    if query.insert_into is not None:
        lines.append(f"INSERT INTO {spell_name(query.insert_into)}")
    modifiers = ("TENTATIVE " if query.tentative else "") + ("DISTINCT " if query.distinct else "")
    lines.append(f"SELECT {modifiers}{', '.join(print_item(item) for item in query.select)}")
    first, *others = query.items
    lines.append(f"FROM {_from_item(first)}" + "".join(_further_item(item) for item in others))
    if query.within is not None:
        lines.append(_within(query.within))
    if query.where is not None:
        lines.append(f"WHERE {print_expression(query.where)}")
    lines.extend(_clause_parts(query))
    if query.group_by:
        lines.append(f"GROUP BY {', '.join(print_expression(key) for key in query.group_by)}")
    if query.having is not None:
        lines.append(f"HAVING {print_expression(query.having)}")
    if query.output is not None:
        every = "" if query.output.every is None else f" EVERY {format_duration(query.output.every)}"
        lines.append(f"OUTPUT {query.output.mode.upper()}{every}")
    if query.probability is not None:
        mark = ">" if query.probability.strict else ">="
        lines.append(f"WITH PROBABILITY {mark} {query.probability.threshold!r}")
    if query.approximate is not None:
        lines.append(f"APPROXIMATE (ERROR {query.approximate.error!r}, CONFIDENCE {query.approximate.confidence!r})")
    if query.validate is not None:
        lines.append(f"VALIDATE EVERY {format_duration(query.validate)}")
    return "\n".join(lines)


def _clause_parts(query: s.Query) -> list[str]:
    """The clause form. A JOIN in front needs a WHERE before it, to be no JOIN of FROM."""
    lines = [_clause_part(part) for part in query.parts]
    if query.parts and isinstance(query.parts[0], k.JoinPart) and query.where is None:
        lines[0] = f"WHERE {lines[0]}"
    return lines


def _clause_part(part: k.ClausePart) -> str:
    match part:
        case k.FilterPart(condition=condition):
            return f"FILTER ({print_expression(condition)})"
        case k.JoinPart(condition=condition):
            return f"JOIN ({print_expression(condition)})"
        case k.SequencePart(events=events):
            return f"SEQ ({', '.join(f'?{name}' for name in events)})"
        case k.WindowPart(events=events, form=form, size=size):
            return f"WINDOW ({', '.join(f'?{name}' for name in events)}, {form}, {print_expression(size)})"
        case k.PathPart(condition=condition):
            return print_expression(condition)
    raise error("INTERNAL", what=f"a {type(part).__name__} has no text")


def _further_item(item: s.FromItem) -> str:
    if item.on is None:
        return f", {_from_item(item)}"
    analysis = f" ANALYSIS {item.analysis.upper()}" if item.analysis is not None else ""
    return f" JOIN {_from_item(item)} ON {print_expression(item.on)}{analysis}"


def _from_item(item: s.FromItem) -> str:
    condition = f"({print_expression(item.condition)})" if item.condition is not None else ""
    windows = "".join(
        f"#{spell_name(window.name)}"
        + (f"({', '.join(print_expression(arg) for arg in window.args)})" if window.args else "")
        for window in item.windows
    )
    alias = f" AS {spell_name(item.alias)}" if item.alias is not None else ""
    if item.pattern is not None:
        source = print_pattern(item.pattern)
    elif item.sequence is not None:
        source = print_sequence(item.sequence)
    else:
        word = "PREDICTED " if item.predicted else ""
        source = f"{word}{spell_name(item.name, ITEMS)}{condition}"
    match = f" {print_match(item.match)}" if item.match is not None else ""
    valid = f" WINDOW {format_duration(item.valid_window)}" if item.valid_window is not None else ""
    return f"{source}{windows}{match}{alias}{valid}{print_recalls(item)}"


def _within(within: s.WithinClause) -> str:
    opening = "[" if within.low is not None and within.low.inclusive else "("
    closing = "]" if within.high is not None and within.high.inclusive else ")"
    return f"WITHIN {opening}{_bound(within.low)}, {_bound(within.high)}{closing}"


def _bound(bound: s.Bound | None) -> str:
    if bound is None:
        return ""
    if bound.micros is not None:
        return format_timestamp(bound.micros)
    if bound.offset:
        return f"now {'-' if bound.offset < 0 else '+'} {print_duration(abs(bound.offset), abs(bound.months))}"
    return "now"


def _create_type(statement: s.CreateType) -> str:
    parts = [f"CREATE {statement.kind.upper()} {spell_new(statement.name, statement.if_not_exists)}"]
    if statement.columns:
        parts.append(f"({', '.join(f'{spell_name(c.name)} {print_type(c.type)}' for c in statement.columns)})")
    if statement.inherits:
        parts.append(f"INHERITS {', '.join(spell_name(base) for base in statement.inherits)}")
    if statement.event_time is not None:
        parts.append(f"EVENT TIME {spell_name(statement.event_time)}")
    if statement.key:
        parts.append(f"KEY ({', '.join(spell_name(name) for name in statement.key)})")
    if statement.probabilistic is not None:
        parts.append(print_probabilistic(statement.probabilistic))
    if statement.inference is not None:
        parts.append(print_inference(statement.inference))
    if statement.predicted is not None:
        parts.append(f"PREDICTED ({', '.join(spell_name(name) for name in statement.predicted.attributes)})")
    if statement.context is not None:
        parts.append(f"CONTEXT {spell_string(statement.context)}")
    if statement.options:
        parts.append(print_options(statement.options))
    return " ".join(parts)


def _create_relation(statement: s.CreateRelation) -> str:
    columns = ", ".join(f"{spell_name(column.name)} {print_type(column.type)}" for column in statement.columns)
    head = f"CREATE RELATION {spell_new(statement.name, statement.if_not_exists)} ({columns})"
    if statement.rows is None:
        given = f" {print_options(statement.options)}" if statement.options else ""
        return f"{head} FROM {spell_string(statement.path or '')}{given}"
    rows = [f"({', '.join(print_expression(value) for value in row)})" for row in statement.rows]
    return f"{head} VALUES {', '.join(rows)}"
