"""The parser of expressions in FILTER, BIND and SELECT, with the precedence of SPARQL 1.1."""

from __future__ import annotations

from typing import NoReturn

from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.sparql_lexer import NUMBER, OP, VAR, WORD, Token
from presage.operators.knowledge.sparql_terms import Terms

# The least and the greatest number of arguments of each built-in; None: no limit.
BUILT_INS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    "BNODE": (0, 1),
    **dict.fromkeys(("CONCAT", "COALESCE"), (0, None)),
    **dict.fromkeys(("STR", "LANG", "DATATYPE", "BOUND", "IRI", "ABS", "CEIL", "FLOOR", "ROUND", "STRLEN"), (1, 1)),
    **dict.fromkeys(("UCASE", "LCASE", "ENCODE_FOR_URI", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES"), (1, 1)),
    **dict.fromkeys(("SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512"), (1, 1)),
    **dict.fromkeys(("ISIRI", "ISBLANK", "ISLITERAL", "ISNUMERIC"), (1, 1)),
    **dict.fromkeys(("LANGMATCHES", "CONTAINS", "STRSTARTS", "STRENDS", "STRBEFORE", "STRAFTER"), (2, 2)),
    **dict.fromkeys(("STRLANG", "STRDT", "SAMETERM"), (2, 2)),
    **dict.fromkeys(("SUBSTR", "REGEX"), (2, 3)),
    "IF": (3, 3),
    "REPLACE": (3, 4),
}
_SAME = {"URI": "IRI", "ISURI": "ISIRI"}
AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
# The casts that the evaluator knows; any other function named by an IRI would fail in the middle of a query.
_CASTS = {
    *("string", "boolean", "integer", "decimal", "float", "double", "dateTime", "date", "time", "duration"),
    *("yearMonthDuration", "dayTimeDuration", "gYear", "gYearMonth", "gMonth", "gDay", "gMonthDay"),
}
_UNARY: dict[str, type[q.Not | q.Neg | q.Pos]] = {"!": q.Not, "-": q.Neg, "+": q.Pos}
_OR, _AND, _RELATION, _SUM, _PRODUCT = range(5)
_LEVELS = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(("=", "!=", "<", ">", "<=", ">="), _RELATION),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}
_VALUE = "a value: a variable, a term, a function or '('"


class Expressions(Terms):
    """Parses expressions, with few frames per level of nesting: MAX_NESTING is far from Python's own limit."""

    aggregates = False  # whether aggregates are allowed here

    def group(self) -> q.Group:
        raise NotImplementedError

    def expression(self) -> q.Expression:
        return self._operation(_OR)

    def bracketed(self) -> q.Expression:
        return self.enclosed("()", self.expression, "an operator or ')'")

    def at_constraint(self) -> bool:
        """Whether a bracketed expression or a call begins here."""
        return self.token.is_op("(") or self.token.kind == WORD or self.at_iri()

    def constraint(self, after: str) -> q.Expression:
        """A bracketed expression or a call, as FILTER, HAVING, ORDER BY and GROUP BY take."""
        expected = f"'(' or a function after {after}"
        if self.token.is_op("("):
            return self.bracketed()
        if self.at_iri():
            call = self._named()
            if isinstance(call, q.Iri):
                self.unexpected(f"'(' after the function <{call.value}>")
            return call
        if self.token.kind != WORD or self.at_literal():
            self.unexpected(expected)
        return self._word(expected)

    def _operation(self, level: int, left: q.Expression | None = None) -> q.Expression:
        """Operators of this level or a tighter one with their operands. `left` is given if it is parsed already."""
        start = self.token.start if left is None else left.span.start - self.start
        left = self._unary() if left is None else left
        while True:
            self.split_less()
            token = self.token
            found = self._level(token)
            if found is None or found < level:
                return left
            if found <= _AND:
                operands = [left]
                while self.accept_op(token.text):
                    operands.append(self._operation(found + 1))
                left = (q.Or if found == _OR else q.And)(tuple(operands), span=self.span(start))
            elif found == _RELATION:
                left = self._relation(left, start)
                self.split_less()
                if self._level(self.token) == _RELATION:
                    self.unexpected("no second comparison; put the first one in parentheses")
            elif token.kind == NUMBER:
                # `?x -1`: the grammar reads a signed number here as a summand.
                right = self._operation(_PRODUCT, self.literal())
                left = q.Arith("+", left, right, span=self.span(start))
            else:
                self.take()
                left = q.Arith(token.text, left, self._operation(found + 1), span=self.span(start))

    @staticmethod
    def _level(token: Token) -> int | None:
        if token.kind == NUMBER:
            return _SUM if token.text[0] in "+-" else None
        if token.is_word("IN", "NOT"):
            return _RELATION
        return _LEVELS.get(token.text) if token.kind == OP else None

    def _relation(self, left: q.Expression, start: int) -> q.Expression:
        token = self.take()
        if token.kind != WORD:
            return q.Compare(token.text, left, self._operation(_SUM), span=self.span(start))
        negated = token.is_word("NOT")
        if negated:
            self.expect_word("IN")
        choices = self._arguments()
        return q.In(left, choices, negated, span=self.span(start))

    def _unary(self) -> q.Expression:
        token = self.token
        if not token.is_op(*_UNARY):
            return self._primary()
        self.take()
        self.deeper()
        operand = self._unary() if token.text == "!" else self._primary()
        self.nesting -= 1
        return _UNARY[token.text](operand, span=self.span(token.start))

    def _primary(self) -> q.Expression:
        if self.token.is_op("("):
            return self.bracketed()
        if self.token.kind == VAR:
            return self.var()
        if self.at_literal():
            return self.literal()
        if self.at_iri():
            return self._named()
        if self.token.kind == WORD:
            return self._word(_VALUE)
        self.unexpected(_VALUE)

    def _named(self) -> q.Iri | q.Call:
        """An IRI, or a cast by its IRI."""
        token = self.token
        name = self.iri()
        if not self.token.is_op("("):
            return name
        if not name.value.startswith(ns.XSD) or name.value.removeprefix(ns.XSD) not in _CASTS:
            self.reject(token, f"there is no function <{name.value}>; by an IRI are called the casts of xsd:")
        args = self._arguments()
        if len(args) != 1:
            self.fail(f"a cast takes 1 argument, not {len(args)}", token.start, self.ended)
        return q.Call(name, args, span=self.span(token.start))

    def _arguments(self) -> tuple[q.Expression, ...]:
        return tuple(self.enclosed("()", self._listed))

    def _listed(self) -> list[q.Expression]:
        args: list[q.Expression] = []
        while not self.token.is_op(")"):
            if args:
                self.expect_op(",", "',' or ')'")
            args.append(self.expression())
        return args

    def _word(self, expected: str) -> q.Expression:
        """A built-in call, an aggregate, or EXISTS."""
        token = self.token
        name = _SAME.get(token.text.upper(), token.text.upper())
        if name in ("EXISTS", "NOT"):
            self.take()
            if name == "NOT":
                self.expect_word("EXISTS")
            aggregates, self.aggregates = self.aggregates, False
            group = self.group()
            self.aggregates = aggregates
            return q.Exists(group, name == "NOT", span=self.span(token.start))
        if name in AGGREGATES:
            return self._aggregate(name)
        if name not in BUILT_INS:
            self._no_function(expected)
        self.take()
        args: tuple[q.Expression, ...]
        if name == "BOUND":
            self.expect_op("(")
            args = (self.var(),)
            self.expect_op(")")
        else:
            args = self._arguments()
        low, high = BUILT_INS[name]
        if len(args) < low or (high is not None and len(args) > high):
            wanted = f"{low}" if low == high else f"{low} or {high}"
            plural = "argument" if wanted == "1" else "arguments"
            self.fail(f"{token.text} takes {wanted} {plural}, not {len(args)}", token.start, self.ended)
        return q.Call(name, args, span=self.span(token.start))

    def _no_function(self, expected: str) -> NoReturn:
        """Reject a word that is no function: by its name, if it is called."""
        token = self.token
        if self.text[token.end :].lstrip().startswith("(") and token.text.upper() not in ("FILTER", "BIND", "VALUES"):
            self.reject(token, f"SPARQL 1.1 has no function {token.text}")
        self.unexpected(expected)

    def _aggregate(self, name: str) -> q.Call:
        token = self.take()
        if not self.aggregates:
            self.reject(token, f"{token.text} sums up rows, which only a sub-select does")
        self.expect_op("(")
        self.aggregates = False
        distinct = self.accept_word("DISTINCT")
        args: tuple[q.Expression, ...] = ()
        if not (name == "COUNT" and self.accept_op("*")):
            self.deeper()
            args = (self.expression(),)
            self.nesting -= 1
        if name == "GROUP_CONCAT" and self.accept_op(";"):
            self.expect_word("SEPARATOR")
            self.expect_op("=")
            args = (*args, q.Literal(self.string()))
        self.expect_op(")")
        self.aggregates = True
        return q.Call(name, args, distinct, span=self.span(token.start))
