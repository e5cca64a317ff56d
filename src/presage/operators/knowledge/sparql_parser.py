"""The parser of SPARQL group graph patterns: groups, their elements, inline data and sub-selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.sparql_expressions import AGGREGATES, Expressions
from presage.operators.knowledge.sparql_lexer import END, MAX_LEVELS, VAR
from presage.operators.knowledge.sparql_printer import print_constraint, print_expression, print_values

_ELEMENT = "a triple, FILTER, OPTIONAL, UNION, MINUS, BIND, VALUES or '{'"
_MODIFIERS = ("HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")


def parse_group(text: str, prefixes: Mapping[str, str], start: int = 0) -> q.Group:
    """The tree of the text between the braces. Prefixes are without their colon; spans count from `start`."""
    parser = _Patterns(text, prefixes, start)
    group = parser.body()
    if parser.token.kind != END:
        parser.unexpected(_ELEMENT)
    _check_levels(group)
    return group


def _check_levels(root: q.Node) -> None:
    """A long `a + b + …` is a deep tree without any nesting in the text."""
    level = [root]
    for _ in range(MAX_LEVELS):
        level = [child for node in level for child in q.children(node)]
        if not level:
            return
    raise q.SparqlError(f"the pattern has more than {MAX_LEVELS} levels", level[0].span)


def _check_new(variable: q.Var, taken: Set[str], why: str) -> None:
    if variable.name in taken:
        raise q.SparqlError(f"the variable '?{variable.name}' {why}", variable.span)


class _Patterns(Expressions):
    """Parses groups, VALUES and SELECT. A sub-select has its group as a tree, the rest as text."""

    _last_pattern = 0

    def group(self) -> q.Group:
        start = self.token.start
        body = self.enclosed("{}", self._nested_body, f"{_ELEMENT}, or '}}'")
        self._begin_pattern()
        return q.Group(body.elements, span=self.span(start))

    def _nested_body(self) -> q.Group:
        self._begin_pattern()
        return self.body()

    def _begin_pattern(self) -> None:
        """Begin another basic graph pattern: a label of a blank node must not occur in two."""
        self._last_pattern += 1
        self.pattern = self._last_pattern

    def body(self) -> q.Group:
        """The elements of a group, without its braces."""
        start = self.token.start
        if self.token.is_word("SELECT"):
            return q.Group((self._select(),), span=self.span(start))
        elements: list[q.Element] = []
        filters: list[q.Filter] = []
        dotted = True  # whether a triple may follow
        while True:
            if self.at_triple():
                if not dotted:
                    self.unexpected("'.', ';' or ',' after a triple")
                elements += self.triples()
                dotted = self.accept_op(".")
                continue
            if self.token.is_word("FILTER"):
                filters.append(self._filter())
            elif self.token.is_op("{") or self.token.is_word("OPTIONAL", "MINUS", "BIND", "VALUES"):
                elements.append(self._element(elements))
                self._begin_pattern()
            else:
                return q.Group((*elements, *filters), span=self.span(start, max(start, self.ended)))
            self.accept_op(".")
            dotted = True

    def _filter(self) -> q.Filter:
        # A filter does not end a basic graph pattern, though a group inside of it is another one.
        pattern = self.pattern
        start = self.take().start
        expression = self.constraint("FILTER")
        self.pattern = pattern
        return q.Filter(expression, span=self.span(start))

    def _element(self, before: Iterable[q.Element]) -> q.Element:
        start = self.token.start
        if self.accept_word("OPTIONAL"):
            return q.Optional(self.group(), span=self.span(start))
        if self.accept_word("MINUS"):
            return q.Minus(self.group(), span=self.span(start))
        if self.accept_word("BIND"):
            return self._bind(start, before)
        if self.accept_word("VALUES"):
            return self._values(start)
        groups = [self.group()]
        while self.accept_word("UNION"):
            groups.append(self.group())
        if len(groups) == 1:
            return q.SubGroup(groups[0], span=self.span(start))
        return q.Union(tuple(groups), span=self.span(start))

    def _bind(self, start: int, before: Iterable[q.Element]) -> q.Bind:
        self.expect_op("(")
        expression, variable = self._named_value()
        bound = frozenset().union(*map(q.visible, before))
        _check_new(variable, bound, "is bound before this BIND; name a new one")
        return q.Bind(expression, variable, span=self.span(start))

    def _named_value(self) -> tuple[q.Expression, q.Var]:
        """`expression AS ?variable )`."""
        expression = self.expression()
        self.expect_word("AS", "an operator or AS")
        variable = self.var()
        self.expect_op(")")
        return expression, variable

    # -- inline data ---------------------------------------------------------------------------------

    def _values(self, start: int) -> q.Values:
        """Columns and rows after VALUES."""
        columns: list[q.Var] = []
        rows: list[tuple[q.Iri | q.Literal | None, ...]] = []
        single = self.token.kind == VAR
        if single:
            columns.append(self.var())
        else:
            self.expect_op("(")
            while not self.accept_op(")"):
                column = self.var("a variable or ')'")
                _check_new(column, {c.name for c in columns}, "is in this VALUES already")
                columns.append(column)
        self.expect_op("{")
        while not self.accept_op("}"):
            if single:
                rows.append((self._datum("'}'"),))
                continue
            at = self.expect_op("(", "'(' of a row, or '}'").start
            row: list[q.Iri | q.Literal | None] = []
            while not self.accept_op(")"):
                row.append(self._datum("')'"))
            if len(row) != len(columns):
                self.fail(f"a row of {len(row)} for {len(columns)} variables", at, self.ended)
            rows.append(tuple(row))
        return q.Values(tuple(columns), tuple(rows), span=self.span(start))

    def _datum(self, close: str) -> q.Iri | q.Literal | None:
        if self.accept_word("UNDEF"):
            return None
        return self.literal() if self.at_literal() else self.iri(f"an IRI, a literal, UNDEF or {close}")

    # -- sub-selects ---------------------------------------------------------------------------------

    def _select(self) -> q.SubSelect:
        start = self.take().start
        used: list[q.Node] = []  # the nodes of head and tail
        head = ["SELECT"]
        if self.token.is_word("DISTINCT", "REDUCED"):
            head.append(self.take().text.upper())
        star = self.token
        everything = self.accept_op("*")
        names, made = ([], []) if everything else self._projection(head, used)
        self.accept_word("WHERE")
        group = self.group()
        tail, grouped = self._modifiers(used)
        bound = q.visible(group).union(*(q.visible(node) for node in used if isinstance(node, q.Values)))
        # Aggregation hides the variables of the group.
        calls = (node for root in used for node in q.walk(root) if isinstance(node, q.Call))
        aggregated = grouped or any(call.name in AGGREGATES for call in calls)
        for variable in () if aggregated else made:
            _check_new(variable, bound, "is bound in this sub-select; name a new one")
        if everything:
            if grouped:
                self.reject(star, "SELECT * does not go with GROUP BY; name the variables")
            head.append("*")
            names = sorted(q.visible(group))
        mentioned = frozenset(names).union(*(node.variables() for node in used))
        projected = tuple(dict.fromkeys(names))
        return q.SubSelect(" ".join(head), group, " ".join(tail), projected, mentioned, span=self.span(start))

    def _projection(self, head: list[str], used: list[q.Node]) -> tuple[list[str], list[q.Var]]:
        """The selected names, and the variables that `( … AS ?x )` makes."""
        names: list[str] = []
        made: list[q.Var] = []
        while True:
            if self.token.kind == VAR:
                variable = self.var()
                _check_new(variable, {v.name for v in made}, "is defined by this SELECT already")
                head.append(f"?{variable.name}")
            elif self.accept_op("("):
                self.aggregates = True
                expression, variable = self._named_value()
                self.aggregates = False
                _check_new(variable, set(names), "is selected already")
                made.append(variable)
                head.append(f"({self._printed(expression, used)} AS ?{variable.name})")
            elif names:
                return names, made
            else:
                self.unexpected("'*', a variable or '(' after SELECT")
            names.append(variable.name)

    def _modifiers(self, used: list[q.Node]) -> tuple[list[str], bool]:
        """GROUP BY … HAVING … ORDER BY … LIMIT … OFFSET … VALUES …, and whether it groups."""
        tail: list[str] = []
        grouped = self.token.is_word("GROUP")
        for clause in ("GROUP BY", "HAVING", "ORDER BY"):
            word, _, by = clause.partition(" ")
            if not self.accept_word(word):
                continue
            if by:
                self.expect_word(by)
            self.aggregates = clause != "GROUP BY"
            conditions = [self._condition(clause, used)]
            while self.token.kind == VAR or (self.at_constraint() and not self.token.is_word(*_MODIFIERS)):
                conditions.append(self._condition(clause, used))
            self.aggregates = False
            tail.append(" ".join([clause, *conditions]))
        limits: dict[str, str] = {}
        while self.token.is_word("LIMIT", "OFFSET"):
            word = self.token.text.upper()
            if word in limits:
                self.unexpected(f"no second {word}")
            self.take()
            if not self.token.text.isdecimal():
                self.unexpected(f"a whole number after {word}")
            limits[word] = self.take().text
        tail += [f"{word} {limits[word]}" for word in ("LIMIT", "OFFSET") if word in limits]
        start = self.token.start
        if self.accept_word("VALUES"):
            values = self._values(start)
            used.append(values)
            tail.append(print_values(values))
        return tail, grouped

    def _condition(self, clause: str, used: list[q.Node]) -> str:
        """One condition of GROUP BY, HAVING or ORDER BY."""
        if clause == "ORDER BY" and self.token.is_word("ASC", "DESC"):
            direction = self.take().text.upper()
            return f"{direction}({self._printed(self.bracketed(), used)})"
        if clause != "HAVING" and self.token.kind == VAR:
            return self._printed(self.var(), used)
        if clause != "GROUP BY" or not self.token.is_op("("):
            return self._printed(self.constraint(clause), used, bare=False)
        self.take()
        printed = self._printed(self.expression(), used)
        if self.accept_word("AS"):
            printed += f" AS {self._printed(self.var(), used)}"
        self.expect_op(")")
        return f"({printed})"

    def _printed(self, expression: q.Expression, used: list[q.Node], bare: bool = True) -> str:
        """The text of an expression: bare for use in parentheses, or as a constraint that needs none."""
        _check_levels(expression)  # the printer is recursive
        used.append(expression)
        return print_expression(expression) if bare else print_constraint(expression)
