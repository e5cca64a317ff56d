"""JSON-LD contexts: the properties that attributes stand for, and the entities that values name.

The rules are those of JSON-LD 1.1 (create term definition, IRI expansion), as far as flat events need them. Features
that events cannot use (reverse properties, lists, scoped contexts, languages) are rejected by name, and nothing is
fetched. Two rules are narrower than a processor's, so that `spellings` is the exact inverse of `entity_of`: a relative
value with a segment `.` or `..` is no entity, nor is a blank node.

In `Context.terms` a name that the context unmaps (`"name": null`) has the empty text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NoReturn

from presage.errors import error
from presage.model.semantics import ENTITY, LITERAL, TERM, Context, Meaning

UNMAPPED = ""
MAX_CHAIN = 100  # names that are defined through each other

_KEYWORD = re.compile(r"@[A-Za-z]+\Z")
_GENERAL_DELIMITERS = tuple(":/?#[]@")
# Schemes whose IRIs have no `//`. Any other `word:rest` in a context counts as an undefined prefix.
_SCHEMES = frozenset(
    {"ark", "arn", "cid", "data", "did", "doi", "file", "geo", "hdl", "info", "isbn", "mailto", "mid", "ni", "oid"}
    | {"pkg", "sip", "swh", "tag", "tel", "urn", "uuid"}
)
_WITHOUT_SUPPORT = {"@language": ": texts of events have no language", "@direction": ""}
_KEYWORDS = frozenset({"@base", "@vocab", "@version", "@protected", *_WITHOUT_SUPPORT})

_NAMED = "\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16 if plane < 14 else 0xE1000)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 15)
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_UNRESERVED = rf"A-Za-z0-9\-._~!$&'()*+,;={_NAMED}"
_ESCAPED = "%[0-9A-Fa-f]{2}"
_DOTS = re.compile(r"(?:[^?#]*/)?\.\.?(?:[/?#]|\Z)")
_FIRST_SEGMENT_WITH_COLON = re.compile("[^/?#]*:")


@cache  # compiled at the first use: it takes as long as a tenth of `presage check`
def _iri() -> re.Pattern[str]:
    # Possessive quantifiers: no part can begin like the one after it, so matching takes linear time.
    return re.compile(
        rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*+):"
        rf"(?://(?P<authority>(?:(?:[{_UNRESERVED}:]++|{_ESCAPED})*+@)?"
        rf"(?:\[[0-9A-Za-z:.]++\]|(?:[{_UNRESERVED}]++|{_ESCAPED})*+)(?::[0-9]*+)?)(?=[/?#]|\Z)|(?!//))"
        rf"(?P<path>(?:[{_UNRESERVED}:@/]++|{_ESCAPED})*+)"
        rf"(?P<query>\?(?:[{_UNRESERVED}:@/?{_PRIVATE}]++|{_ESCAPED})*+)?"
        rf"(?P<fragment>\#(?:[{_UNRESERVED}:@/?]++|{_ESCAPED})*+)?"
    )


# -- meanings of a context -----------------------------------------------------------------------


def meaning_of(context: Context, attribute: str) -> Meaning | None:
    """The meaning of an attribute; `@vocab` completes a name that the context does not list."""
    if attribute in context.terms:
        return context.meanings.get(attribute)
    iri = _expand(context, attribute, terms=True, relative=False)
    return Meaning(iri) if iri is not None else None


def class_of(context: Context, stream: str) -> str | None:
    """The class that the context gives to the events of a stream, by the stream's name."""
    return _expand(context, stream, terms=True, relative=True)


def entity_of(context: Context, meaning: Meaning, value: str) -> str | None:
    """The IRI of the entity that a value of the attribute stands for, if it stands for one."""
    if not meaning.is_entity:
        return None
    return _expand(context, value, terms=meaning.kind == TERM, relative=True)


def spellings(context: Context, meaning: Meaning, iri: str) -> list[str]:
    """All values of the attribute that stand for this entity."""
    if not meaning.is_entity:
        return []
    found = dict.fromkeys(_candidates(context, meaning, iri))
    return [value for value in found if entity_of(context, meaning, value) == iri]


def _candidates(context: Context, meaning: Meaning, iri: str) -> Iterator[str]:
    """Candidates for the spellings of the IRI: every branch of `_expand`, backwards."""
    starts = [""]
    if meaning.kind == TERM:
        yield from (term for term, target in context.terms.items() if target == iri)
        if context.vocab is not None:
            starts.append(context.vocab)
    for prefix, start in context.prefixes.items():
        if iri.startswith(start):
            yield f"{prefix}:{iri[len(start) :]}"
    if context.base is not None:
        starts.extend(_base(context.base).starts)
    for start in starts:
        if iri.startswith(start):
            yield iri[len(start) :]


def _expand(context: Context, value: str, *, terms: bool, relative: bool) -> str | None:
    """IRI expansion of JSON-LD 1.1; `terms` is its flag `vocab`, `relative` its flag `document relative`."""
    if _KEYWORD.match(value):
        return None
    # An unmapped name names nothing: in JSON-LD if it is a term, in Oxigraph always.
    if value in context.terms and (terms or context.terms[value] == UNMAPPED):
        return context.terms[value] or None
    if ":" in value[1:]:
        prefix, _, rest = value.partition(":")
        if prefix == "_":
            return None
        if not rest.startswith("//") and prefix in context.prefixes:
            return _valid(context.prefixes[prefix] + rest)
        if rest.startswith("//") or _is_iri(value):
            return _valid(value)
    if terms and context.vocab is not None:
        return _valid(context.vocab + value)
    if relative and context.base is not None:
        return _resolve(context.base, value)
    return None


def _resolve(base: str, value: str) -> str | None:
    if _has_dots(value) or _FIRST_SEGMENT_WITH_COLON.match(value):
        return None
    return _valid(_base(base).start_for(value) + value)


class _Base:
    """The parts of a base IRI that a relative reference is appended to (RFC 3986, 5.2.2)."""

    def __init__(self, base: str) -> None:
        parts = _iri().fullmatch(base)
        assert parts is not None, base
        authority = parts["authority"]
        self.scheme = f"{parts['scheme']}:"
        self.site = self.scheme + (f"//{authority}" if authority is not None else "")
        path = parts["path"]
        folder = path[: path.rfind("/") + 1] or ("/" if authority is not None else "")
        self.folder = self.site + folder
        self.page = self.site + path
        self.whole = self.page + (parts["query"] or "")

    @property
    def starts(self) -> tuple[str, ...]:
        return self.scheme, self.site, self.folder, self.page, self.whole

    def start_for(self, value: str) -> str:
        if value.startswith("//"):
            return self.scheme
        if value.startswith("/"):
            return self.site
        if value.startswith("?"):
            return self.page
        return self.whole if value == "" or value.startswith("#") else self.folder


@lru_cache
def _base(base: str) -> _Base:
    return _Base(base)


def _has_dots(text: str) -> bool:
    return _DOTS.match(text) is not None


@lru_cache  # the spellings of an entity lead to one IRI
def _is_iri(text: str) -> bool:
    return _iri().fullmatch(text) is not None


def _valid(text: str) -> str | None:
    return text if _is_iri(text) else None


# -- reading -------------------------------------------------------------------------------------


def read_context(text: str, path: str) -> Context:
    """The context that a file holds: `{"@context": …}`, or the context itself."""
    local = _parse(text, path)
    if isinstance(local, dict) and "@context" in local:
        outside = next((name for name in local if name != "@context"), None)
        if outside is not None:
            _refuse(
                path, f"'{outside}' is outside of \"@context\", where it has no meaning", "move it into the context"
            )
        local = local["@context"]
    elif not isinstance(local, dict):
        _refuse(path, f"its text is {_kind(local)}, not an object", 'write {"@context": {…}}')
    merged = _Merged(path)
    for part in local if isinstance(local, list) else [local]:
        merged = _Merged(path) if part is None else merged.add(part)
    return merged.context(text)


def _parse(text: str, path: str) -> Any:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for name, value in found:
            if name in seen:
                _refuse(path, f"the name '{name}' occurs twice in one object", "remove one of them")
            seen[name] = value
        return seen

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as failure:
        _refuse(path, f"line {failure.lineno}, column {failure.colno} is not JSON: {failure.msg}", "correct it there")
    except RecursionError:
        _refuse(path, "it is nested too deeply", "a context needs no more than three levels")


def _refuse(path: str, why: str, fix: str) -> NoReturn:
    raise error("BAD_CONTEXT", path=path, why=why, fix=fix)


def _refuse_remote(path: str, what: str) -> NoReturn:
    _refuse(path, f"a context on the network is not fetched: '{what}'", "put its content into the file")


def _kind(value: object) -> str:
    kinds = {bool: "a boolean", str: "a text", dict: "an object", list: "an array"}
    return "null" if value is None else kinds.get(type(value), "a number")


@dataclass
class _Merged:
    """The contexts of the file so far, merged."""

    path: str
    base: str | None = None
    vocab: str | None = None
    terms: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, Meaning] = field(default_factory=dict)

    def context(self, text: str = "") -> Context:
        return Context(self.meanings, self.terms, self.prefixes, self.base, self.vocab, text, self.path)

    def add(self, local: object) -> _Merged:
        if isinstance(local, str):
            _refuse_remote(self.path, local)
        if not isinstance(local, dict):
            _refuse(self.path, f"a context is {_kind(local)}", "a context is an object, or an array of objects")
        if "@import" in local:
            _refuse_remote(self.path, str(local["@import"]))
        for name in local:
            if name.startswith("@") and name not in _KEYWORDS:
                self._refuse_keyword(name)
        # In the order in which JSON-LD applies them.
        if "@base" in local:
            self._read_base(local["@base"])
        if "@vocab" in local:
            self._read_vocab(local["@vocab"])
        for name, why in _WITHOUT_SUPPORT.items():
            if local.get(name) is not None:
                _refuse(self.path, f"{name} is not supported{why}", "leave it out")
        if local.get("@version", 1.1) != 1.1:
            _refuse(self.path, f"@version is {local['@version']}", "write 1.1")
        _Definitions(self, {name: value for name, value in local.items() if not name.startswith("@")}).read_all()
        return self

    def _refuse_keyword(self, name: str) -> NoReturn:
        if name in ("@propagate", "@type", "@none"):
            _refuse(self.path, f"'{name}' in a context is not supported", "leave it out")
        _refuse(self.path, f"'{name}' is no keyword of a context", "write @base, @vocab, or a name without @")

    def _read_base(self, value: object) -> None:
        if value is not None and not isinstance(value, str):
            _refuse(self.path, f"@base is {_kind(value)}", "write an IRI or null")
        if value is None:
            self.base = None
        elif _is_iri(value):
            self.base = value
        else:
            base = _resolve(self.base, value) if self.base is not None else None
            if base is None:
                _refuse(self.path, f"@base is '{value}', which is not an absolute IRI", "write for example http://…/")
            self.base = base
        if self.base is not None and _has_dots(self.base):
            _refuse(self.path, f"@base is '{value}', which has a segment . or ..", "write it without")

    def _read_vocab(self, value: object) -> None:
        if value is None:
            self.vocab = None
            return
        if not isinstance(value, str):
            _refuse(self.path, f"@vocab is {_kind(value)}", "write an IRI or null")
        vocab = _expand(self.context(), value, terms=True, relative=True)
        if vocab is None:
            why = f"@vocab is '{value}', which is not an absolute IRI"
            _refuse(self.path, why, "write for example http://…/terms#")
        self.vocab = vocab


@dataclass
class _Definitions:
    """The term definitions of one context. They may use each other, in any order, but not in a circle."""

    into: _Merged
    local: Mapping[str, object]
    open: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def read_all(self) -> None:
        for name in self.local:
            self.define(name)

    def define(self, name: str) -> None:
        if name in self.done or name not in self.local:
            return
        if name in self.open:
            circle = " -> ".join([*self.open[self.open.index(name) :], name])
            _refuse(self.into.path, f"the definition of '{name}' depends on itself: {circle}", "break the cycle")
        if len(self.open) >= MAX_CHAIN:
            _refuse(
                self.into.path, f"more than {MAX_CHAIN} names are defined through each other", "write their IRIs out"
            )
        self.open.append(name)
        # The definition of an earlier context no longer holds, even while this one is read.
        self.into.terms.pop(name, None)
        self.into.prefixes.pop(name, None)
        self.into.meanings.pop(name, None)
        self._define(name, self.local[name])
        self.open.pop()
        self.done.add(name)

    def _define(self, name: str, value: object) -> None:
        if name == "":
            self._refuse(name, "is empty", "give it a name")
        simple = isinstance(value, str)
        definition = {"@id": value} if value is None or simple else value
        if not isinstance(definition, dict):
            self._refuse(name, f"is {_kind(value)}", "write an IRI, an object or null")
        self._check_entries(name, definition)
        if "@id" in definition and definition["@id"] is None:
            self.into.terms[name] = UNMAPPED
            return
        iri = self._iri(name, definition)
        # The term before its type: the type may use the term.
        self.into.terms[name] = iri
        if self._is_prefix(name, iri, definition, simple):
            self.into.prefixes[name] = iri
        kind, datatype = self._type(name, definition)
        self.into.meanings[name] = Meaning(iri, kind, datatype)

    def _check_entries(self, name: str, definition: Mapping[str, object]) -> None:
        if "@context" in definition:
            context = definition["@context"]
            if isinstance(context, str):
                _refuse_remote(self.into.path, context)
            self._refuse(name, "has a context of its own", "say it in the outer context")
        if "@reverse" in definition:
            fix = "map it to the inverse property, and declare owl:inverseOf"
            self._refuse(name, "is a reverse property (@reverse)", fix)
        if definition.get("@language") is not None:
            self._refuse(name, "has a @language; texts of events have none", "leave it out")
        for entry, value in definition.items():
            if entry not in _ENTRIES:
                self._refuse(name, f"has '{entry}', which is not supported", f"use {', '.join(sorted(_ENTRIES))}")
            if entry in ("@id", "@type") and not isinstance(value, str) and (value is not None or entry == "@type"):
                self._refuse(name, f"has as {entry} {_kind(value)}", "write an IRI")
            if entry in ("@prefix", "@protected") and not isinstance(value, bool):
                self._refuse(name, f"has as {entry} {_kind(value)}", "write true or false")
        container = definition.get("@container", "@set")
        if container not in ("@set", ["@set"], None):
            self._refuse(name, f"has the container {container}", "an array gives one fact per element: write @set")

    def _iri(self, name: str, definition: Mapping[str, Any]) -> str:
        written = definition.get("@id", name)
        if written != name:
            iri = self._expand(name, written)
            if (":" in name[1:-1] or "/" in name) and iri != self._expand(name, name, itself=True):
                self._refuse(name, f"has the form of an IRI and is mapped to another, '{iri}'", "rename it")
            return iri
        return self._expand(name, name, itself=True)

    def _expand(self, name: str, written: str, *, itself: bool = False) -> str:
        """The IRI that a text in the definition of `name` stands for."""
        if _KEYWORD.match(written):
            self._refuse(name, f"is another name for '{written}'", "an attribute maps to a property")
        if not itself:
            self.define(written)
        prefix, colon, rest = written.partition(":")
        if prefix and colon and not rest.startswith("//"):
            self.define(prefix)
            self._check_prefix(name, prefix, written)
        iri = _expand(self.into.context(), written, terms=True, relative=False)
        if iri is None:
            fix = "write an absolute IRI, a compact one with a prefix of the context, or add @vocab"
            self._refuse(name, f"is mapped to '{written}', which is no IRI", fix)
        return iri

    def _check_prefix(self, name: str, prefix: str, written: str) -> None:
        if prefix in self.into.prefixes or prefix.lower() in _SCHEMES or written in self.into.terms:
            return
        if self.into.terms.get(prefix):
            why = f"uses the prefix '{prefix}' in '{written}', but its IRI '{self.into.terms[prefix]}' is no prefix"
            self._refuse(name, why, 'end it with / or #, or write {"@id": …, "@prefix": true}')
        if prefix != "_":
            why = f"uses the prefix '{prefix}' in '{written}', which the context does not define"
            self._refuse(name, why, f'add "{prefix}": "http://…#" to the context')

    def _is_prefix(self, name: str, iri: str, definition: Mapping[str, object], simple: bool) -> bool:
        if ":" in name or "/" in name:
            if definition.get("@prefix"):
                self._refuse(name, "cannot be a prefix: it has a ':' or a '/'", "rename it")
            return False
        if "@prefix" in definition:
            return bool(definition["@prefix"])
        return simple and iri.endswith(_GENERAL_DELIMITERS)

    def _type(self, name: str, definition: Mapping[str, Any]) -> tuple[str, str | None]:
        written = definition.get("@type")
        if written is None:
            return LITERAL, None
        if written in ("@id", "@vocab"):
            return (ENTITY if written == "@id" else TERM), None
        if written.startswith("@"):
            self._refuse(name, f"has the type '{written}', which is not supported", "write @id, @vocab or a datatype")
        return LITERAL, self._expand(name, written)

    def _refuse(self, name: str, why: str, fix: str) -> NoReturn:
        _refuse(self.into.path, f"the name '{name}' {why}", fix)


_ENTRIES = frozenset({"@id", "@type", "@container", "@prefix", "@protected", "@language"})
