"""Notes for EXPLAIN: each rule with the text before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping

from presage.operators.knowledge.namespaces import RDF_TYPE
from presage.plan.query import RuleNote

NORMALISE, PRUNE, TRANSFORM, RELATE = "normalise_terms", "prune_constants", "transform_hops", "relate_paths"


def shortened(text: str, prefixes: Mapping[str, str]) -> str:
    """A pattern with its IRIs abbreviated by prefixes."""

    def short(found: re.Match[str]) -> str:
        iri = found[1]
        for name, start in prefixes.items():
            rest = iri[len(start) :]
            if iri.startswith(start) and re.fullmatch(r"\w[\w-]*", rest):
                return "a" if iri == RDF_TYPE else f"{name}:{rest}"
        return found[0]

    return re.sub(r"<([^<>\s]*)>", short, text)


def normalised(term: str, attributes: Mapping[str, str]) -> RuleNote:
    several = len(attributes) > 1
    after = ", ".join(f"{stream}.{name}" if several else name for stream, name in attributes.items())
    return RuleNote(NORMALISE, term, after)
