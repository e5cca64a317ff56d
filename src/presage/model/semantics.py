"""What attributes mean, and what is known of the world: JSON-LD contexts and knowledge bases, as declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# What the value of an attribute stands for: an entity by its IRI, an entity by a term of the context, or itself.
ENTITY = "entity"
TERM = "term"
LITERAL = "literal"


@dataclass(frozen=True)
class Meaning:
    """What an attribute means: the property's IRI, what its values stand for, and the datatype where one is given."""

    term: str
    kind: str = LITERAL
    datatype: str | None = None

    @property
    def is_entity(self) -> bool:
        return self.kind != LITERAL


@dataclass(frozen=True)
class Context:
    """A JSON-LD context: what names mean. `base` and `vocab` complete relative values; `terms` are all names that it
    maps, prefixes among them, to IRIs; `meanings` are the names that can be attributes. `text`: what its file said."""

    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    base: str | None = None
    vocab: str | None = None
    text: str = field(default="", compare=True, repr=False)
    path: str = field(default="", compare=False)


@dataclass(frozen=True)
class Knowledge:
    """A knowledge base: its files, already resolved under the roots, whether it is closed, and which reading it is.

    `files` are the contents as read, by digest, parallel to `paths`: the home keeps them, so that what was known at a
    position of the log can be known again. `since`: when its files were read, by the wall clock.
    """

    name: str
    paths: tuple[str, ...]
    reasoning: str | None = None
    files: tuple[str, ...] = ()
    since: int = 0
