"""The parser of group graph patterns: groups and their elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from presage.operators.knowledge.sparql_lexer import END
from presage.operators.knowledge.sparql_select import Selects, check_levels
from presage.operators.knowledge.sparql_syntax import (
    Bind,
    Element,
    Filter,
    Group,
    Minus,
    Optional,
    SubGroup,
    Triple,
    Union,
    visible,
)

_ELEMENT = "a triple, FILTER, OPTIONAL, UNION, MINUS, BIND, VALUES or '{'"


def parse_group(text: str, prefixes: Mapping[str, str], start: int = 0) -> Group:
    """The tree of what stands between the braces. Prefixes are given without colon; spans count from `start`."""
    parser = _Patterns(text, prefixes, start)
    group = parser.body()
    if parser.token.kind != END:
        parser.unexpected(_ELEMENT)
    check_levels(group)
    return group


class _Patterns(Selects):
    """Reads groups."""

    _patterns_seen = 0

    def group(self) -> Group:
        start = self.token.start
        if not self.token.is_op("{"):
            self.unexpected("'{'")
        self.take()
        self.deeper()
        self.pattern = self._next_pattern()
        body = self.body()
        self.nesting -= 1
        if not self.token.is_op("}"):
            self.unexpected(f"{_ELEMENT}, or '}}'")
        self.take()
        self.pattern = self._next_pattern()
        return Group(body.elements, span=self.span(start))

    def _next_pattern(self) -> int:
        """Another basic graph pattern begins, in which the labels of blank nodes are others."""
        self._patterns_seen += 1
        return self._patterns_seen

    def body(self) -> Group:
        """What stands between braces, which are not read here."""
        start = self.token.start
        if self.token.is_word("SELECT"):
            return Group((self.select(),), span=self.span(start))
        elements: list[Element] = []
        filters: list[Filter] = []
        dotted = True  # whether a triple may stand here
        while True:
            if self.at_triple():
                if not dotted:
                    self.unexpected("'.', ';' or ',' after a triple")
                triples: list[Triple] = []
                self.triples(triples)
                elements += triples
                dotted = self.accept_op(".")
            elif self.token.is_word("FILTER"):
                filters.append(self._filter())
                self.accept_op(".")
                dotted = True
            elif self.token.is_op("{") or self.token.is_word("OPTIONAL", "MINUS", "BIND", "VALUES"):
                elements.append(self._element(elements))
                self.pattern = self._next_pattern()
                self.accept_op(".")
                dotted = True
            else:
                return Group((*elements, *filters), span=self.span(start, max(start, self.ended)))

    def _filter(self) -> Filter:
        # A filter does not end a basic graph pattern, though a group inside of it is another one.
        pattern = self.pattern
        start = self.take().start
        expression = self.constraint("FILTER")
        self.pattern = pattern
        return Filter(expression, span=self.span(start))

    def _element(self, before: Iterable[Element]) -> Element:
        start = self.token.start
        if self.accept_word("OPTIONAL"):
            return Optional(self.group(), span=self.span(start))
        if self.accept_word("MINUS"):
            return Minus(self.group(), span=self.span(start))
        if self.accept_word("BIND"):
            return self._bind(start, before)
        if self.accept_word("VALUES"):
            return self.values(start)
        groups = [self.group()]
        while self.accept_word("UNION"):
            groups.append(self.group())
        if len(groups) == 1:
            return SubGroup(groups[0], span=self.span(start))
        return Union(tuple(groups), span=self.span(start))

    def _bind(self, start: int, before: Iterable[Element]) -> Bind:
        self.expect_op("(")
        expression, variable = self.named_value()
        bound = frozenset().union(*map(visible, before))
        self.check_new(variable, bound, "is bound before this BIND; name a new one")
        return Bind(expression, variable, span=self.span(start))
