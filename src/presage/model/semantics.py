"""JSON-LD contexts, which give attributes a meaning, and knowledge bases, as declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# Kinds of attribute values: an entity by its IRI, an entity by a term of the context, a literal.
ENTITY = "entity"
TERM = "term"
LITERAL = "literal"


@dataclass(frozen=True)
class Meaning:
    """The meaning of an attribute: the property's IRI, the kind of its values, and the datatype if given."""

    term: str
    kind: str = LITERAL
    datatype: str | None = None

    @property
    def is_entity(self) -> bool:
        return self.kind != LITERAL


@dataclass(frozen=True)
class Context:
    """A JSON-LD context. `base` and `vocab` complete relative values; `terms` are all names that it maps to IRIs,
    including prefixes; `meanings` are the names that can be attributes. `text`: the content of its file."""

    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    vocab: str | None = None
    text: str = field(default="", compare=True, repr=False)
    path: str = field(default="", compare=False)


@dataclass(frozen=True)
class Knowledge:
    """A knowledge base: its files, resolved under the roots, and the reasoning over them.

    `files` are digests of the contents, parallel to `paths`: the home stores the contents, so that the knowledge at an
    offset of the log can be restored. `since`: when the files were read, by the wall clock.
    """

    name: str
    paths: tuple[str, ...]
    reasoning: str | None = None
    files: tuple[str, ...] = ()
    since: int = 0
