"""Builders of prediction: PREDICTED in FROM and in declarations, WINDOW and VALIDATE EVERY."""

from __future__ import annotations

from presage.lang.builders.clause import Clause
from presage.lang.builders.declare import names
from presage.lang.builders.query import StreamSource, ValidWindow
from presage.lang.builders.terms import read_duration, read_fixed
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.prediction_syntax import Predicted
from presage.lang.syntax import Expr
from presage.model.text import Span


def predicted_source(span: Span, word: Token, name: Token, condition: Expr | None) -> StreamSource:
    return StreamSource(name, condition, predicted=True)


BUILDERS: dict[str, Builder] = {
    "predicted_source": predicted_source,
    "valid_window": lambda span, token: ValidWindow(read_duration(token), span),
    "validate": lambda span, every: Clause("VALIDATE EVERY", "validate", read_fixed(every, "VALIDATE EVERY"), span),
    "predicted": lambda span, *attributes: Clause(
        "PREDICTED", "predicted", Predicted(names(*attributes), span=span), span
    ),
}
