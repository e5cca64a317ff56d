"""The parser of terms, property paths and triples: the part of the SPARQL grammar below the groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count

from presage.model.text import Span
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
from presage.operators.knowledge.sparql_syntax import (
    LANG_STRING,
    RDF_FIRST,
    RDF_NIL,
    RDF_REST,
    RDF_TYPE,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    Alternative,
    Blank,
    Inverse,
    Iri,
    Literal,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    Term,
    Triple,
    Var,
    ZeroOrMore,
    ZeroOrOne,
)

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# What no IRI may hold, whether it came by an escape, by a prefix or as itself.
NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20]|%(?![0-9A-Fa-f]{2})')
_REPEATS: dict[str, type[ZeroOrMore | OneOrMore | ZeroOrOne]] = {"*": ZeroOrMore, "+": OneOrMore, "?": ZeroOrOne}
_PREDICATE = "a property: a variable, an IRI or a property path"


class Terms(Cursor):
    """Reads terms, paths and triples."""

    def __init__(self, text: str, prefixes: Mapping[str, str], start: int) -> None:
        super().__init__(text, prefixes, start)
        self._taken = labels_in(text)
        self._numbers = count()
        # A label belongs to one basic graph pattern: which one, by its number.
        self.pattern = 0
        self._patterns: dict[str, int] = {}

    # -- terms ---------------------------------------------------------------------------------------

    def fresh(self, start: int, end: int) -> Blank:
        label = next(label for number in self._numbers if (label := f"b{number}") not in self._taken)
        return Blank(label, span=self.span(start, end))

    def var(self, expected: str = "a variable") -> Var:
        if self.token.kind != VAR:
            self.unexpected(expected)
        token = self.take()
        return Var(token.text[1:], span=self.span(token.start))

    def at_iri(self) -> bool:
        return self.token.kind in (IRI, NAME)

    def iri(self) -> Iri:
        """An IRI in full, or a prefixed name."""
        token = self.token
        if token.kind == NAME:
            value = self._completed(token)
        elif token.kind == IRI:
            value = self.unescape(token.text[1:-1], token.start + 1)
            if not _ABSOLUTE.match(value):
                self.fail(f"'{token.text}' is relative; write the IRI in full or with a prefix", token.start, token.end)
        else:
            self.unexpected("an IRI")
        wrong = NOT_IN_IRI.search(value)
        if wrong:
            self.fail(f"the IRI '{value}' holds '{wrong.group()}', which no IRI may", token.start, token.end)
        self.take()
        return Iri(value, span=self.span(token.start))

    def _completed(self, token: Token) -> str:
        prefix, _, local = token.text.partition(":")
        base = self.prefixes.get(prefix)
        if base is None:
            self.fail(f"the prefix '{prefix}:' is not declared", token.start, token.start + len(prefix) + 1)
        value = base + re.sub(r"\\(.)", r"\1", local)
        if not _ABSOLUTE.match(value):
            self.fail(f"the prefix '{prefix}:' stands for '{base}', which is no IRI", token.start, token.end)
        return value

    def at_literal(self) -> bool:
        return self.token.kind in (STRING, NUMBER) or self.token.is_word("TRUE", "FALSE")

    def literal(self) -> Literal:
        token = self.take()
        if token.kind == NUMBER:
            exponent, point = re.search("[eE]", token.text), "." in token.text
            kind = XSD_DOUBLE if exponent else XSD_DECIMAL if point else XSD_INTEGER
            return Literal(token.text, kind, span=self.span(token.start))
        if token.kind != STRING:
            return Literal(token.text.lower(), XSD_BOOLEAN, span=self.span(token.start))
        lexical = self._content(token)
        if self.token.kind == LANG:
            language = self.take().text[1:].lower()
            return Literal(lexical, LANG_STRING, language, span=self.span(token.start))
        if self.accept_op("^^"):
            return Literal(lexical, self.iri().value, span=self.span(token.start))
        return Literal(lexical, span=self.span(token.start))

    def _content(self, token: Token) -> str:
        quotes = 3 if token.text[:3] in ('"""', "'''") else 1
        return self.unescape(token.text[quotes:-quotes], token.start + quotes)

    def string(self) -> str:
        """A string without language and type."""
        if self.token.kind != STRING:
            self.unexpected("a string")
        return self._content(self.take())

    def term(self, expected: str) -> Term:
        """A variable, an IRI, a literal or a blank node's label."""
        token = self.token
        if token.kind == VAR:
            return self.var()
        if self.at_iri():
            return self.iri()
        if self.at_literal():
            return self.literal()
        if token.kind != BLANK:
            self.unexpected(expected)
        label = token.text[2:]
        if self._patterns.setdefault(label, self.pattern) != self.pattern:
            self.fail(
                f"the blank node '{token.text}' stands in another part of the pattern already; use a variable",
                token.start,
                token.end,
            )
        self.take()
        return Blank(label, span=self.span(token.start))

    # -- triples -------------------------------------------------------------------------------------

    def at_triple(self) -> bool:
        token = self.token
        return token.kind in (VAR, BLANK) or self.at_iri() or self.at_literal() or token.is_op("[", "(")

    def triples(self, out: list[Triple]) -> None:
        """All that is said of one subject."""
        closed = self.token.is_op("[", "(")
        said = len(out)
        subject = self.node(out, "a subject")
        # `[ p o ]` and `( x )` say something alone; `[]` and `()` do not.
        if not (closed and len(out) > said) or self._at_verb():
            self._properties(subject, out, self.span(subject.span.start - self.start))

    def node(self, out: list[Triple], expected: str) -> Term:
        """A term, or `[ … ]` or `( … )`, whose own triples go out first."""
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

    def _collection(self, out: list[Triple]) -> Term:
        start = self.take().start
        self.deeper()
        items = []
        while not self.token.is_op(")"):
            items.append(self.node(out, "a member of the list, or ')'"))
        self.take()
        self.nesting -= 1
        span = self.span(start)
        rest: Term = Iri(RDF_NIL, span=span)
        cells: list[Triple] = []
        for item in reversed(items):
            cell = self.fresh(start, self.ended)
            cells.append(Triple(cell, Iri(RDF_REST, span=span), rest, span=span))
            cells.append(Triple(cell, Iri(RDF_FIRST, span=span), item, span=item.span))
            rest = cell
        out.extend(reversed(cells))
        return rest

    def _at_verb(self) -> bool:
        token = self.token
        return token.kind == VAR or self.at_iri() or token.text == "a" or token.is_op("^", "!", "(")

    def _properties(self, subject: Term, out: list[Triple], whole: Span | None) -> None:
        """`verb object, object; verb object …`; `whole` is the subject's place, if it stands right before."""
        while True:
            verb = self.var() if self.token.kind == VAR else self.path()
            while True:
                node = self.node(out, "an object: a variable, an IRI, a literal or a blank node")
                # The object of `[ … ]` is its bracket; the triple ends where we are.
                span = (whole or verb.span).to(self.span(self.ended))
                out.append(Triple(subject, verb, node, span=span))
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

    def path(self) -> Path:
        start = self.token.start
        choices = [self._sequence()]
        while self.accept_op("|"):
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else Alternative(tuple(choices), span=self.span(start))

    def _sequence(self) -> Path:
        start = self.token.start
        steps = [self._step()]
        while self.accept_op("/"):
            steps.append(self._step())
        return steps[0] if len(steps) == 1 else Sequence(tuple(steps), span=self.span(start))

    def _step(self) -> Path:
        start = self.token.start
        inverse = self.accept_op("^")
        inner = self.token.start
        path: Path
        if self.accept_op("("):
            self.deeper()
            path = self.path()
            self.nesting -= 1
            self.expect_op(")")
        elif self.accept_op("!"):
            path = self._negated(inner)
        else:
            path = self._property(_PREDICATE)
        if self.token.is_op(*_REPEATS):
            path = _REPEATS[self.take().text](path, span=self.span(inner))
        return Inverse(path, span=self.span(start)) if inverse else path

    def _property(self, expected: str) -> Iri:
        if self.token.text == "a":
            token = self.take()
            return Iri(RDF_TYPE, span=self.span(token.start))
        if not self.at_iri():
            self.unexpected(expected)
        return self.iri()

    def _negated(self, start: int) -> NegatedSet:
        forward: list[Iri] = []
        inverse: list[Iri] = []
        several = self.accept_op("(")
        while True:
            side = inverse if self.accept_op("^") else forward
            side.append(self._property("an IRI to exclude"))
            if not several or not self.accept_op("|"):
                break
        if several:
            self.expect_op(")")
        return NegatedSet(tuple(forward), tuple(inverse), span=self.span(start))
