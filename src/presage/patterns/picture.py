"""A plan in, a picture of its automata and patterns as SVG out. Text alone: no library draws."""

from __future__ import annotations

from collections.abc import Sequence

from presage.patterns import draw_match, draw_pattern
from presage.patterns.nodes import Match, PatternMatch
from presage.patterns.svg import Drawing, document, shortened
from presage.plan.nodes import Node

GAP = 36
TITLE_LENGTH = 300


def picture(plan: Node) -> str | None:
    """The automaton of each MATCH_RECOGNIZE and the terms of each PATTERN in a plan; None if it has neither."""
    return picture_of_all([plan])


def picture_of_all(plans: Sequence[Node]) -> str | None:
    """Those of several plans, one below the other."""
    page, titles = Drawing(), []
    for node in (node for plan in plans for node in plan.walk()):
        if isinstance(node, Match):
            page.beside(draw_match.draw_match(node), GAP)
            titles.append(f"Automaton of {draw_match.heading(node)}")
        elif isinstance(node, PatternMatch):
            page.beside(draw_pattern.draw_pattern(node), GAP)
            titles.append(f"Terms of {draw_pattern.heading(node)}")
    return document(page, shortened("; ".join(titles), TITLE_LENGTH)) if titles else None
