"""Limits on RDF files, checked before parsing: Oxigraph's parsers end the process when stack or memory run out.

A small file can grow without limit by XML entities that contain each other, by levels of XML and JSON, by triples as
terms of triples, and by JSON-LD contexts, which are held for every level below them and read at every use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from xml.parsers import expat

import pyoxigraph as ox

from presage.errors import PresageError, error

MAX_BYTES = 512 << 20
MAX_JSON_BYTES = 32 << 20  # an empty object takes thirty times its text
MAX_LEVELS = 250  # of XML elements, of JSON objects and arrays, of nested triples
MAX_ENTITY_BYTES = 64 << 20  # after entities are replaced
MAX_CHAIN = 100  # terms of a context that are defined through each other
MAX_HELD = 500_000  # terms of contexts, counted at every level that holds them
MAX_READ = 2_000_000  # terms of contexts, counted at every use

_CONTEXT = "@context"
# Strings, comments and IRIs are skipped: they may contain `<<`. Escapes also occur in names.
_TURTLE = re.compile(
    rb'\\.|"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    rb"|#[^\n]*|<<|>>|<[^<>\s]*>",
    re.DOTALL,
)


def check_limits(data: bytes, form: ox.RdfFormat, path: str) -> None:
    """Reject a file that exceeds the limits or is not of its format."""
    if form == ox.RdfFormat.JSON_LD:
        _Json(path).check(data)
    elif form == ox.RdfFormat.RDF_XML:
        _check_xml(data, path)
    elif data.count(b"<<") > MAX_LEVELS:
        _check_triples(data, path)


def check_size(size: int, path: str) -> None:
    if size > MAX_BYTES:
        _refuse(path, "bytes of a file of knowledge", MAX_BYTES, "split it into several files")


def _refuse(path: str, name: str, limit: int, fix: str) -> NoReturn:
    raise error("LIMIT", what=f"the file '{path}'", limit_name=name, limit=f"{limit:,}", fix=fix)


def _malformed(path: str, form: ox.RdfFormat, why: str, fix: str = "correct the file") -> PresageError:
    return error("KNOWLEDGE_NOT_RDF", path=path, format=form.name, why=why, fix=fix)


# -- Turtle and its kin ----------------------------------------------------------------------------


def _check_triples(data: bytes, path: str) -> None:
    depth = 0
    for token in _TURTLE.finditer(data):
        if token[0] in (b"<<", b">>"):
            depth += 1 if token[0] == b"<<" else -1
            if depth > MAX_LEVELS:
                _refuse(path, "triples in each other", MAX_LEVELS, "name the inner triples with rdf:reifies")


# -- XML -------------------------------------------------------------------------------------------


def _check_xml(data: bytes, path: str) -> None:
    """Parse without output. Entities for plain text are allowed: ontologies abbreviate namespaces by them."""
    depth = replaced = 0

    def begin(name: str, attributes: Any) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_LEVELS:
            _refuse(path, "levels of elements", MAX_LEVELS, "name inner nodes with rdf:about, and move them out")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def entity(name: str, of_dtd: bool, value: str | None, *elsewhere: Any) -> None:
        nonlocal replaced
        if of_dtd or value is None or "&" in value:
            why = f"the entity '{name}' contains others, or is in another file"
            raise _malformed(path, ox.RdfFormat.RDF_XML, why, "write out what it stands for")
        replaced += data.count(f"&{name};".encode()) * len(value.encode())
        if replaced > MAX_ENTITY_BYTES:
            _refuse(path, "bytes after entities are replaced", MAX_ENTITY_BYTES, "use shorter entities")

    parser = expat.ParserCreate("utf-8")  # what Oxigraph reads
    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = begin, end, entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as failure:
        why = f"line {failure.lineno}, column {failure.offset + 1}: {expat.ErrorString(failure.code)}"
        raise _malformed(path, ox.RdfFormat.RDF_XML, why, "correct the file; it is read as UTF-8") from failure


# -- JSON-LD ---------------------------------------------------------------------------------------


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs: a name may occur twice."""

    __slots__ = ()


class _Json:
    """Counts the work that a document causes in the parser."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read = 0  # terms of contexts, at every use
        self._scoped: dict[str, int] = {}  # the number of terms in the scoped context of a term

    def check(self, data: bytes) -> None:
        if len(data) > MAX_JSON_BYTES:
            _refuse(self._path, "bytes of a JSON-LD file", MAX_JSON_BYTES, "save it as Turtle or N-Triples")
        try:
            text = data.decode("utf-8-sig")
            root = json.loads(text, object_pairs_hook=_Object, parse_int=str, parse_float=str, strict=False)
        except RecursionError:
            self._too_deep()
        except json.JSONDecodeError as failure:
            why = f"line {failure.lineno}, column {failure.colno}: {failure.msg}"
            raise _malformed(self._path, ox.RdfFormat.JSON_LD, why) from failure
        except UnicodeDecodeError as failure:
            raise _malformed(self._path, ox.RdfFormat.JSON_LD, "it is not UTF-8", "save it as UTF-8") from failure
        self._collect(root)
        self._walk(root)

    def _descend(self, parts: Callable[..., Iterator[tuple[Any, ...]]], *root: Any) -> None:
        """Run `parts` on every object and array, depth first and without recursion."""
        levels = [parts(*root)]
        while levels:
            part = next(levels[-1], None)
            if part is None:
                levels.pop()
            elif isinstance(part[0], list):
                levels.append(parts(*part))
                if len(levels) > MAX_LEVELS + 1:
                    self._too_deep()

    def _too_deep(self) -> NoReturn:
        _refuse(self._path, "levels of JSON", MAX_LEVELS, "name inner objects with @id, and move them out")

    def _collect(self, root: Any) -> None:
        """Collect the scoped contexts of terms, and check the chains of definitions."""

        def parts(value: Any, inside: bool) -> Iterator[tuple[Any, bool]]:
            if not isinstance(value, _Object):
                yield from ((part, inside) for part in value)
                return
            if inside:
                self._check_chain(value)
            for name, part in value:
                if inside and isinstance(part, _Object):
                    own = sum(_terms(p) for n, p in part if n == _CONTEXT)
                    self._scoped[name] = max(self._scoped.get(name, 0), own)
                yield part, inside or name == _CONTEXT

        self._descend(parts, [root], False)

    def _check_chain(self, context: _Object) -> None:
        links = {name: [*_used_in(part)] for name, part in context}
        length: dict[str, int] = {}
        for first in links:
            way = [first]
            while way:
                name = way[-1]
                unknown = [n for n in links[name] if n in links and n not in length and n not in way[-MAX_CHAIN:]]
                if unknown and len(way) <= MAX_CHAIN:
                    way.append(unknown[0])
                    continue
                length[name] = 1 + max((length.get(n, 0) for n in links[name]), default=0)
                if length[name] > MAX_CHAIN:
                    limit_name = "terms of a context defined through each other"
                    _refuse(self._path, limit_name, MAX_CHAIN, "write their IRIs out")
                way.pop()

    def _walk(self, root: Any) -> None:
        """Count the terms in force, level by level."""

        def parts(value: Any, active: int, held: int) -> Iterator[tuple[Any, int, int]]:
            """The parts, with the terms in force there and those held by this level and all around it."""
            if isinstance(value, _Object):
                own = sum(_terms(part) for name, part in value if name == _CONTEXT)
                active += self._taken(own + sum(self._scoped.get(t, 0) for _, p in value for t in _texts(p)), active)
            held += active
            if held > MAX_HELD:
                name = "terms of contexts, for every level"
                _refuse(self._path, name, MAX_HELD, "put one context around all objects")
            for pair in value:
                if not isinstance(value, _Object):
                    yield pair, active, held
                elif pair[0] != _CONTEXT:
                    yield pair[1], active + self._taken(self._scoped.get(pair[0], 0), active), held

        self._descend(parts, [root], 0, 0)

    def _taken(self, terms: int, active: int) -> int:
        """Count terms that come into force; the active ones are copied."""
        self._read += 2 * terms + active if terms else 0
        if self._read > MAX_READ:
            _refuse(self._path, "terms of contexts that are read", MAX_READ, "put one context around all objects")
        return terms


def _terms(context: Any) -> int:
    """The number of terms that a context and its scoped contexts define; at least one, since it takes time."""
    count, open_ = 1, [context]
    while open_:
        value = open_.pop()
        if isinstance(value, list):
            count += len(value)
            open_ += [part for _, part in value] if isinstance(value, _Object) else value
    return count


def _texts(value: Any) -> list[str]:
    """The texts that could name a type: @type may have an alias."""
    several = value if isinstance(value, list) and not isinstance(value, _Object) else [value]
    return [each for each in several if isinstance(each, str)]


def _used_in(definition: Any) -> Iterator[str]:
    """The terms that a definition may refer to."""
    parts = [part for _, part in definition] if isinstance(definition, _Object) else [definition]
    for text in parts:
        if isinstance(text, str):
            yield from {text, text.partition(":")[0]}
