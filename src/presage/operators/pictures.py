"""The picture of a plan as SVG: what its capabilities draw of their nodes. Text alone: no library draws."""

from __future__ import annotations

from collections.abc import Sequence

from presage.operators.registry import parts
from presage.operators.svg import Drawing, document, shortened
from presage.plan.nodes import Node

GAP = 36
TITLE_LENGTH = 300


def picture(plan: Node) -> str | None:
    """What can be drawn of a plan; None if there is nothing."""
    return picture_of_all([plan])


def picture_of_all(plans: Sequence[Node]) -> str | None:
    """Those of several plans, one below the other."""
    page, titles = Drawing(), []
    draws = {kind: draw for part in parts("draw").values() for kind, draw in part.DRAW.items()}
    for node in (node for plan in plans for node in plan.walk()):
        if type(node) in draws:
            drawing, title = draws[type(node)](node)
            page.append_below(drawing, GAP)
            titles.append(title)
    return document(page, shortened("; ".join(titles), TITLE_LENGTH)) if titles else None
