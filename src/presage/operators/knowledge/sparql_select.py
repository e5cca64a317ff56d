"""The parser of inline data and sub-selects. A sub-select has its group as a tree, the rest as text."""

from __future__ import annotations

from collections.abc import Callable, Set

from presage.operators.knowledge.sparql_expressions import AGGREGATES, Expressions
from presage.operators.knowledge.sparql_lexer import MAX_LEVELS, NUMBER, VAR, WORD
from presage.operators.knowledge.sparql_printer import print_constraint, print_expression, print_values
from presage.operators.knowledge.sparql_syntax import (
    Call,
    Expression,
    Iri,
    Literal,
    Node,
    SparqlError,
    SubSelect,
    Values,
    Var,
    children,
    visible,
    walk,
)

_MODIFIERS = ("HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")


def check_levels(root: Node) -> None:
    """A long `a + b + …` is a deep tree without any nesting in the text."""
    level = [root]
    for _ in range(MAX_LEVELS):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    raise SparqlError(f"the pattern has more than {MAX_LEVELS} levels", level[0].span)


class Selects(Expressions):
    """Reads VALUES and SELECT."""

    def named_value(self) -> tuple[Expression, Var]:
        """`expression AS ?variable )`."""
        expression = self.expression()
        if not self.token.is_word("AS"):
            self.unexpected("an operator or AS")
        self.take()
        variable = self.var()
        self.expect_op(")")
        return expression, variable

    @staticmethod
    def check_new(variable: Var, taken: Set[str], why: str) -> None:
        if variable.name in taken:
            raise SparqlError(f"the variable '?{variable.name}' {why}", variable.span)

    # -- inline data ---------------------------------------------------------------------------------

    def values(self, start: int) -> Values:
        """What stands after VALUES."""
        columns: list[Var] = []
        rows: list[tuple[Iri | Literal | None, ...]] = []
        single = self.token.kind == VAR
        if single:
            columns.append(self.var())
        else:
            self.expect_op("(")
            while not self.accept_op(")"):
                column = self.var("a variable or ')'")
                self.check_new(column, {c.name for c in columns}, "stands in this VALUES already")
                columns.append(column)
        self.expect_op("{")
        while not self.accept_op("}"):
            if single:
                rows.append((self._datum("'}'"),))
                continue
            at = self.token.start
            if not self.token.is_op("("):
                self.unexpected("'(' of a row, or '}'")
            self.take()
            row: list[Iri | Literal | None] = []
            while not self.accept_op(")"):
                row.append(self._datum("')'"))
            if len(row) != len(columns):
                self.fail(f"a row of {len(row)} for {len(columns)} variables", at, self.ended)
            rows.append(tuple(row))
        return Values(tuple(columns), tuple(rows), span=self.span(start))

    def _datum(self, close: str) -> Iri | Literal | None:
        if self.accept_word("UNDEF"):
            return None
        if self.at_iri():
            return self.iri()
        if not self.at_literal():
            self.unexpected(f"an IRI, a literal, UNDEF or {close}")
        return self.literal()

    # -- sub-selects ---------------------------------------------------------------------------------

    def select(self) -> SubSelect:
        start = self.take().start
        used: list[Node] = []  # what head and tail speak of
        head = ["SELECT"]
        if self.token.is_word("DISTINCT", "REDUCED"):
            head.append(self.take().text.upper())
        star = self.token
        everything = self.accept_op("*")
        names, made = ([], []) if everything else self._projection(head, used)
        self.accept_word("WHERE")
        group = self.group()
        tail, grouped = self._modifiers(used)
        bound = visible(group).union(*(visible(node) for node in used if isinstance(node, Values)))
        # Where rows are summed up, what their group bound is not seen any more.
        summed = grouped or any(isinstance(n, Call) and n.name in AGGREGATES for node in used for n in walk(node))
        for variable in () if summed else made:
            self.check_new(variable, bound, "is bound in this sub-select; name a new one")
        if everything:
            if grouped:
                self.fail("SELECT * does not go with GROUP BY; name the variables", star.start, star.end)
            head.append("*")
            names = sorted(visible(group))
        mentioned = frozenset(names).union(*(node.variables() for node in used))
        projected = tuple(dict.fromkeys(names))
        return SubSelect(" ".join(head), group, " ".join(tail), projected, mentioned, span=self.span(start))

    def _projection(self, head: list[str], used: list[Node]) -> tuple[list[str], list[Var]]:
        """The names that it selects, and the variables that it makes by `( … AS ?x )`."""
        names: list[str] = []
        made: list[Var] = []
        while True:
            if self.token.kind == VAR:
                variable = self.var()
                self.check_new(variable, {v.name for v in made}, "is made by this SELECT already")
                head.append(f"?{variable.name}")
            elif self.accept_op("("):
                self.aggregates = True
                expression, variable = self.named_value()
                self.aggregates = False
                self.check_new(variable, set(names), "is selected already")
                made.append(variable)
                head.append(f"({self._printed(expression, used)} AS ?{variable.name})")
            elif names:
                return names, made
            else:
                self.unexpected("'*', a variable or '(' after SELECT")
            names.append(variable.name)

    def _modifiers(self, used: list[Node]) -> tuple[list[str], bool]:
        """GROUP BY … HAVING … ORDER BY … LIMIT … OFFSET … VALUES …, and whether it groups."""
        tail: list[str] = []
        grouped = self.accept_word("GROUP")
        if grouped:
            self.expect_word("BY")
            tail.append("GROUP BY " + self._conditions(self._grouping, used))
        self.aggregates = True
        if self.accept_word("HAVING"):
            tail.append("HAVING " + self._conditions(self._having, used))
        if self.accept_word("ORDER"):
            self.expect_word("BY")
            tail.append("ORDER BY " + self._conditions(self._order, used))
        self.aggregates = False
        limits: dict[str, str] = {}
        while self.token.is_word("LIMIT", "OFFSET"):
            word = self.token.text.upper()
            if word in limits:
                self.unexpected(f"no second {word}")
            self.take()
            if self.token.kind != NUMBER or not self.token.text.isdecimal():
                self.unexpected(f"a whole number after {word}")
            limits[word] = self.take().text
        tail += [f"{word} {limits[word]}" for word in ("LIMIT", "OFFSET") if word in limits]
        start = self.token.start
        if self.accept_word("VALUES"):
            values = self.values(start)
            used.append(values)
            tail.append(print_values(values))
        return tail, grouped

    def _conditions(self, condition: Callable[[list[Node]], str], used: list[Node]) -> str:
        conditions = [condition(used)]
        while (
            self.token.kind == VAR
            or self.token.is_op("(")
            or self.at_iri()
            or (self.token.kind == WORD and not self.token.is_word(*_MODIFIERS))
        ):
            conditions.append(condition(used))
        return " ".join(conditions)

    def _printed(self, expression: Expression, used: list[Node], bare: bool = True) -> str:
        """As text that may stand alone between parentheses, or that needs none."""
        check_levels(expression)  # the printer descends into it
        used.append(expression)
        return print_expression(expression) if bare else print_constraint(expression)

    def _grouping(self, used: list[Node]) -> str:
        if self.token.kind == VAR:
            return self._printed(self.var(), used)
        if not self.token.is_op("("):
            return self._printed(self.constraint("GROUP BY"), used, bare=False)
        self.take()
        printed = self._printed(self.expression(), used)
        if self.accept_word("AS"):
            printed += f" AS {self._printed(self.var(), used)}"
        self.expect_op(")")
        return f"({printed})"

    def _having(self, used: list[Node]) -> str:
        return self._printed(self.constraint("HAVING"), used, bare=False)

    def _order(self, used: list[Node]) -> str:
        if self.token.is_word("ASC", "DESC"):
            direction = self.take().text.upper()
            return f"{direction}({self._printed(self.bracketed(), used)})"
        if self.token.kind == VAR:
            return self._printed(self.var(), used)
        return self._printed(self.constraint("ORDER BY"), used, bare=False)
