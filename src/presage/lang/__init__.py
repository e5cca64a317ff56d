"""The parser and the printer of the language: `parse`, `parse_statement`, `parse_expression`, and their inverses."""

from __future__ import annotations

from presage.lang.parser import parse, parse_expression, parse_statement
from presage.lang.printer import print_expression, print_script, print_statement

__all__ = ["parse", "parse_expression", "parse_statement", "print_expression", "print_script", "print_statement"]
