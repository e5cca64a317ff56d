"""The parser of RDF files: their triples, or an error with its place. Nothing is fetched from the network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

import pyoxigraph as ox

from presage.errors import PresageError, error
from presage.model.paths import ANYWHERE, Roots
from presage.operators.knowledge.rdf_limits import check_limits, check_size

Format = ox.RdfFormat

_BY_EXTENSION = {
    ".ttl": Format.TURTLE,
    ".nt": Format.N_TRIPLES,
    ".n3": Format.N3,
    ".nq": Format.N_QUADS,
    ".trig": Format.TRIG,
    ".jsonld": Format.JSON_LD,
    ".json": Format.JSON_LD,
    ".rdf": Format.RDF_XML,
}
_SNIFFED = (".owl", ".xml", ".rdf")  # tools write different formats under these names

_XML = re.compile(rb"\s*<(?:\?xml|!DOCTYPE|!--|[\w.-]+:RDF[\s>]|RDF[\s>]|Ontology[\s>])")
_OWL_XML = re.compile(rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!DOCTYPE.*?(?:\]\s*)?>\s*)*<Ontology[\s>]", re.DOTALL)
_PLACE = re.compile(r"^Parser error at line (\d+) (?:column|between columns) (\d+)(?: and (?:line \d+ column )?\d+)?: ")


def read_source(path: Path, roots: Roots = ANYWHERE) -> bytes:
    """The content of a file of a knowledge base."""
    try:
        with roots.opened(path) as file:
            check_size(os.fstat(file.fileno()).st_size, str(path))
            return file.read()
    except FileNotFoundError as failure:
        raise error("FILE_NOT_FOUND", path=path, fix="check the path of the knowledge base") from failure
    except OSError as failure:
        fix = "check that it is a file, and its permissions"
        raise error("FILE_UNREADABLE", path=path, why=failure.strerror or str(failure), fix=fix) from failure


def check_source(data: bytes, path: str) -> int:
    """The number of triples; an error if it is not RDF. `path` is for messages, the format and the base IRI."""
    return sum(1 for _ in parse_source(data, path))


def parse_source(data: bytes, path: str) -> Iterator[ox.Quad]:
    """The triples of a file, those of named graphs included: the knowledge bases are one graph.

    Relative IRIs are resolved against `file:///` and the file's name, so that the graph does not depend on the folder.
    """
    form = format_of(data, path)
    check_limits(data, form, path)
    base = f"file:///{quote(Path(path).name)}"
    parsed = iter(_parsed(data, form, base, path))
    while True:
        try:
            quad = next(parsed, None)
        except SyntaxError as failure:
            _refuse(path, form, failure)
        if quad is None:
            return
        if form == Format.N3 and quad.graph_name != ox.DefaultGraph():
            raise _not_rdf(path, form, "a formula { … } is no triple", "write the triples alone")
        yield quad


def _parsed(data: bytes, form: Format, base: str, path: str) -> Iterable[ox.Quad]:
    try:
        return ox.parse(data, form, base_iri=base)
    except SyntaxError as failure:
        _refuse(path, form, failure)


def format_of(data: bytes, path: str) -> Format:
    """The format by the file's extension, or by its content where the extension is ambiguous."""
    extension = Path(path).suffix.lower()
    if extension in _BY_EXTENSION and extension not in _SNIFFED:
        return _BY_EXTENSION[extension]
    data = data.removeprefix(b"\xef\xbb\xbf")
    if _OWL_XML.match(data):
        why = "it is OWL/XML, which is another language"
        raise _not_rdf(path, Format.RDF_XML, why, "save it as Turtle or RDF/XML")
    if _XML.match(data):
        return Format.RDF_XML
    if extension in _SNIFFED:
        return Format.TURTLE
    if data.lstrip()[:1] in (b"{", b"[") and _is_json(data):
        return Format.JSON_LD
    # TriG includes Turtle and N-Triples.
    return Format.TRIG


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(path: str, form: Format, failure: SyntaxError) -> NoReturn:
    reason = failure.msg or str(failure)
    if "LoadDocumentCallback" in reason:
        why = "a JSON-LD context on the network is not fetched"
        raise _not_rdf(path, form, why, "put its content into the file") from failure
    place = _PLACE.match(reason)
    if place:
        reason = f"line {place[1]}, column {place[2]}: {reason[place.end() :]}"
    raise _not_rdf(path, form, reason, "correct the file, or give it the extension of its format") from failure


def _not_rdf(path: str, form: Format, why: str, fix: str) -> PresageError:
    return error("KNOWLEDGE_NOT_RDF", path=path, format=form.name, why=why, fix=fix)
