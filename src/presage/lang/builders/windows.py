"""Builders of stream windows: `#win:time(5 min)`."""

from __future__ import annotations

from presage.errors import error
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Expr, WindowClause
from presage.model.text import Span

# EPL's namespaces of views. They say nothing that the name does not say.
NAMESPACES = ("win", "std")


def window(span: Span, name: Token, qualified: Token | None, args: tuple[Expr, ...] | None) -> WindowClause:
    if qualified is not None:
        namespace, name = name, qualified
        if namespace.text.lower() not in NAMESPACES:
            whole = f"{namespace.text}:{name.text}"
            raise error(
                "UNKNOWN_WINDOW",
                namespace.span.to(name.span),
                name=whole,
                fix="the namespaces are win and std, and both may be left out",
            )
    return WindowClause(read_name(name.text), args or (), span=span)


BUILDERS: dict[str, Builder] = {
    "window": window,
    "window_arguments": lambda span, *args: tuple(arg for arg in args if arg is not None),
}
