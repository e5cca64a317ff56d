"""The printer of commands and of the statements of scenarios."""

from __future__ import annotations

from collections.abc import Callable

from presage.lang.command_syntax import Advance, Assertion, CreateStatement, Include, InsertValues, Scenario
from presage.lang.identifiers import spell_name, spell_new, spell_string
from presage.lang.print_terms import print_expression, print_options
from presage.lang.syntax import Expr, Query

COMMANDS = CreateStatement | InsertValues | Advance | Scenario | Include | Assertion


def print_command(statement: COMMANDS, print_query: Callable[[Query], str]) -> str:
    match statement:
        case CreateStatement(name=name, query=query, replace=replaces, options=options, if_not_exists=absent):
            given = f" {print_options(options)}" if options else ""
            head = f"CREATE {'OR REPLACE ' if replaces else ''}STATEMENT {spell_new(name, absent)}{given}"
            return f"{head} AS\n{print_query(query)}"
        case InsertValues(stream=stream, attributes=attributes, rows=rows):
            return f"INSERT INTO {spell_name(stream)}{_names(attributes)} {_values(rows)}"
        case Advance(stream=of, to=to):
            one = "" if of is None else f"{spell_name(of, keywords=frozenset({'TO'}))} "
            return f"ADVANCE {one}TO {spell_string(to)}"
        case Scenario(title=title):
            return f"SCENARIO {spell_string(title)}"
        case Include(path=path):
            return f"INCLUDE {spell_string(path)}"
        case Assertion():
            return _assertion(statement)


def _assertion(statement: Assertion) -> str:
    begin = f"ASSERT {spell_name(statement.statement)}{_names(statement.columns)}"
    if statement.rows is None:
        return f"{begin} {f'COUNT {statement.count}' if statement.count else 'EMPTY'}"
    order = " IN ANY ORDER" if statement.any_order else ""
    tolerance = f" TOLERANCE {statement.tolerance!r}" if statement.tolerance is not None else ""
    return f"{begin} {_values(statement.rows)}{order}{tolerance}"


def _names(names: tuple[str, ...] | None) -> str:
    return f" ({', '.join(map(spell_name, names))})" if names is not None else ""


def _values(rows: tuple[tuple[Expr, ...], ...]) -> str:
    return "VALUES " + ", ".join(f"({', '.join(map(print_expression, row))})" for row in rows)
