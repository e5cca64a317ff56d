"""Looking: EXPLAIN, SHOW, DESCRIBE and DROP in, their nodes out."""

from __future__ import annotations

from presage.lang.lalr import Builder
from presage.lang.syntax import Describe, Drop, Explain, Show
from presage.lang.words import read_name

BUILDERS: dict[str, Builder] = {
    "explain": lambda span, query: Explain(query, span=span),
    "show": lambda span, what: Show(what.text.lower(), span=span),
    "describe": lambda span, name: Describe(read_name(name.text), span=span),
    "drop": lambda span, kind, name: Drop(kind.text.lower(), read_name(name.text), span=span),
}
