"""The parser of terms, property paths and triples: the part of the SPARQL grammar below the groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import count

from presage.model.text import Span
from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q
from presage.operators.knowledge.sparql_lexer import (
    BLANK,
    IRI,
    LANG,
    NAME,
    NUMBER,
    STRING,
    VAR,
    Cursor,
    Token,
    labels_in,
)

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# Characters that no IRI may hold, whether written as an escape, in a prefix or as themselves.
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20]|%(?![0-9A-Fa-f]{2})')
_REPEATS: dict[str, type[q.ZeroOrMore | q.OneOrMore | q.ZeroOrOne]] = {
    "*": q.ZeroOrMore,
    "+": q.OneOrMore,
    "?": q.ZeroOrOne,
}


class Terms(Cursor):
    """Parses terms, paths and triples."""

    def __init__(self, text: str, prefixes: Mapping[str, str], start: int) -> None:
        super().__init__(text, prefixes, start)
        self._labels = labels_in(text)
        self._numbers = count()
        # A label belongs to one basic graph pattern: `pattern` numbers the current one.
        self.pattern = 0
        self._pattern_of_label: dict[str, int] = {}

    # -- terms ---------------------------------------------------------------------------------------

    def fresh(self, start: int, end: int) -> q.Blank:
        label = next(label for number in self._numbers if (label := f"b{number}") not in self._labels)
        return q.Blank(label, span=self.span(start, end))

    def var(self, expected: str = "a variable") -> q.Var:
        token = self.expect_kind(VAR, expected)
        return q.Var(token.text[1:], span=self.span(token.start))

    def at_iri(self) -> bool:
        return self.token.kind in (IRI, NAME)

    def iri(self, expected: str = "an IRI") -> q.Iri:
        """An IRI in full, or a prefixed name."""
        token = self.token
        if token.kind == NAME:
            value = self._completed(token)
        elif token.kind == IRI:
            value = self.unescape(token.text[1:-1], token.start + 1)
            if not _ABSOLUTE.match(value):
                self.reject(token, f"'{token.text}' is relative; write the IRI in full or with a prefix")
        else:
            self.unexpected(expected)
        wrong = _NOT_IN_IRI.search(value)
        if wrong:
            self.reject(token, f"the IRI '{value}' holds '{wrong.group()}', which no IRI may")
        self.take()
        return q.Iri(value, span=self.span(token.start))

    def _completed(self, token: Token) -> str:
        prefix, _, local = token.text.partition(":")
        base = self.prefixes.get(prefix)
        if base is None:
            self.fail(f"the prefix '{prefix}:' is not declared", token.start, token.start + len(prefix) + 1)
        value = base + re.sub(r"\\(.)", r"\1", local)
        if not _ABSOLUTE.match(value):
            self.reject(token, f"the prefix '{prefix}:' stands for '{base}', which is no IRI")
        return value

    def at_literal(self) -> bool:
        return self.token.kind in (STRING, NUMBER) or self.token.is_word("TRUE", "FALSE")

    def literal(self) -> q.Literal:
        token = self.take()
        lexical, datatype, language = token.text.lower(), ns.XSD_BOOLEAN, None
        if token.kind == NUMBER:
            lexical = token.text
            decimal = ns.XSD_DECIMAL if "." in lexical else ns.XSD_INTEGER
            datatype = ns.XSD_DOUBLE if re.search("[eE]", lexical) else decimal
        elif token.kind == STRING:
            lexical, datatype = self._content(token), ns.XSD_STRING
            if self.token.kind == LANG:
                datatype, language = ns.LANG_STRING, self.take().text[1:].lower()
            elif self.accept_op("^^"):
                datatype = self.iri().value
        return q.Literal(lexical, datatype, language, span=self.span(token.start))

    def _content(self, token: Token) -> str:
        quotes = 3 if token.text[:3] in ('"""', "'''") else 1
        return self.unescape(token.text[quotes:-quotes], token.start + quotes)

    def string(self) -> str:
        """A string without language and type."""
        return self._content(self.expect_kind(STRING, "a string"))

    def term(self, expected: str) -> q.Term:
        """A variable, an IRI, a literal or the label of a blank node."""
        if self.token.kind == VAR:
            return self.var()
        if self.at_iri():
            return self.iri()
        if self.at_literal():
            return self.literal()
        token = self.token
        if token.kind != BLANK:
            self.unexpected(expected)
        if self._pattern_of_label.setdefault(token.text, self.pattern) != self.pattern:
            why = "is used in another part of the pattern; use a variable"
            self.reject(token, f"the blank node '{token.text}' {why}")
        self.take()
        return q.Blank(token.text[2:], span=self.span(token.start))

    # -- triples -------------------------------------------------------------------------------------

    def at_triple(self) -> bool:
        token = self.token
        return token.kind in (VAR, BLANK) or self.at_iri() or self.at_literal() or token.is_op("[", "(")

    def triples(self) -> list[q.Triple]:
        """One subject with its properties."""
        out: list[q.Triple] = []
        subject = self.node(out, "a subject")
        # `[ p o ]` and `( x )` are triples by themselves; `[]` and `()` need a property.
        if not out or self._at_verb():
            self._properties(subject, out, self.span(subject.span.start - self.start))
        return out

    def node(self, out: list[q.Triple], expected: str) -> q.Term:
        """A term, or `[ … ]` or `( … )`, whose own triples are appended to `out` first."""
        start = self.token.start
        if self.token.is_op("("):
            return self._collection(out)
        if not self.accept_op("["):
            return self.term(expected)
        blank = self.fresh(start, self.ended)
        if not self.accept_op("]"):
            self.deeper()
            self._properties(blank, out, None)
            self.nesting -= 1
            self.expect_op("]")
        return blank

    def _collection(self, out: list[q.Triple]) -> q.Term:
        start = self.token.start
        items = self.enclosed("()", lambda: self._members(out))
        span = self.span(start)
        rest: q.Term = q.Iri(ns.RDF_NIL, span=span)
        cells: list[q.Triple] = []
        for item in reversed(items):
            cell = self.fresh(start, self.ended)
            cells.append(q.Triple(cell, q.Iri(ns.RDF_REST, span=span), rest, span=span))
            cells.append(q.Triple(cell, q.Iri(ns.RDF_FIRST, span=span), item, span=item.span))
            rest = cell
        out.extend(reversed(cells))
        return rest

    def _members(self, out: list[q.Triple]) -> list[q.Term]:
        items = []
        while not self.token.is_op(")"):
            items.append(self.node(out, "a member of the list, or ')'"))
        return items

    def _at_verb(self) -> bool:
        return self.token.kind == VAR or self.at_iri() or self.token.text == "a" or self.token.is_op("^", "!", "(")

    def _properties(self, subject: q.Term, out: list[q.Triple], whole: Span | None) -> None:
        """`verb object, object; verb object …`; `whole` is the subject's place, if it comes right before."""
        while True:
            verb = self.var() if self.token.kind == VAR else self.path()
            while True:
                node = self.node(out, "an object: a variable, an IRI, a literal or a blank node")
                # The object of `[ … ]` is its bracket; the triple ends at the last token taken.
                span = (whole or verb.span).to(self.span(self.ended))
                out.append(q.Triple(subject, verb, node, span=span))
                whole = None
                if not self.accept_op(","):
                    break
            if not self.token.is_op(";"):
                return
            while self.accept_op(";"):
                pass
            if not self._at_verb():
                return

    # -- property paths ------------------------------------------------------------------------------

    def path(self) -> q.Path:
        return self._chain("|", q.Alternative, self._sequence)

    def _sequence(self) -> q.Path:
        return self._chain("/", q.Sequence, self._step)

    def _chain(self, op: str, node: type[q.Alternative | q.Sequence], read: Callable[[], q.Path]) -> q.Path:
        start = self.token.start
        parts = [read()]
        while self.accept_op(op):
            parts.append(read())
        return parts[0] if len(parts) == 1 else node(tuple(parts), span=self.span(start))

    def _step(self) -> q.Path:
        start = self.token.start
        inverse = self.accept_op("^")
        inner = self.token.start
        path: q.Path
        if self.token.is_op("("):
            path = self.enclosed("()", self.path)
        elif self.accept_op("!"):
            path = self._negated(inner)
        else:
            path = self._property("a property: a variable, an IRI or a property path")
        if self.token.is_op(*_REPEATS):
            path = _REPEATS[self.take().text](path, span=self.span(inner))
        return q.Inverse(path, span=self.span(start)) if inverse else path

    def _property(self, expected: str) -> q.Iri:
        if self.token.text != "a":
            return self.iri(expected)
        return q.Iri(ns.RDF_TYPE, span=self.span(self.take().start))

    def _negated(self, start: int) -> q.NegatedSet:
        forward: list[q.Iri] = []
        inverse: list[q.Iri] = []
        several = self.accept_op("(")
        while True:
            side = inverse if self.accept_op("^") else forward
            side.append(self._property("an IRI to exclude"))
            if not several or not self.accept_op("|"):
                break
        if several:
            self.expect_op(")")
        return q.NegatedSet(tuple(forward), tuple(inverse), span=self.span(start))
