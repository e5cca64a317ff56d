"""Builder of CREATE SINK."""

from __future__ import annotations

from presage.lang.builders.clause import Clause
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import CreateSink
from presage.model.text import Span


def create_sink(span: Span, absent: Token | None, name: Token, statement: Token, options: Clause | None) -> CreateSink:
    given = options.value if options is not None else ()
    return CreateSink(read_name(name.text), read_name(statement.text), given, absent is not None, span=span)


BUILDERS: dict[str, Builder] = {"create_sink": create_sink}
