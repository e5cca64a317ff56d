"""The picture of a plan as SVG: what its capabilities draw of their nodes. Text alone: no library draws.

Texts come from users: all are escaped. Colours follow light or dark mode; all style rules are limited to the picture's
own class, because a notebook embeds the picture into its page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from presage.operators.registry import parts
from presage.plan.nodes import Node

CLASS = "presage-picture"
FONT_SIZE = 13
WIDTH_OF_A_CHARACTER = 7.4
BOLDER = 1.2
MARGIN = 16
ARROW = 8
# Between the pictures of several nodes.
GAP = 36
TITLE_LENGTH = 300
# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_LIGHT = {"paper": "#ffffff", "ink": "#24292f", "soft": "#6e7781", "fill": "#eef4fb", "edge": "#57606a"}
_DARK = {"paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "fill": "#1c2a3c", "edge": "#a5adb7"}


def escaped(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", " ".join(text.split())))


def attribute(text: str) -> str:
    """A text as the quoted value of an attribute."""
    return quoteattr(_FORBIDDEN.sub("\ufffd", " ".join(text.split())))


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """The approximate width of a text: the font of the viewer is not known."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    capital = sum(character.isupper() for character in text)
    return (len(text) + wide + 0.2 * capital) * WIDTH_OF_A_CHARACTER * size / FONT_SIZE


def shortened(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


@dataclass
class Drawing:
    """Parts of a picture and their bounding box, which grows with them."""

    parts: list[str] = field(default_factory=list)
    left: float = 0.0
    top: float = 0.0
    right: float = 0.0
    bottom: float = 0.0

    def cover(self, x: float, y: float) -> None:
        self.left, self.right = min(self.left, x), max(self.right, x)
        self.top, self.bottom = min(self.top, y), max(self.bottom, y)

    def box(
        self, x: float, y: float, width: float, height: float, kind: str, title: str = "", round_: float = 0
    ) -> None:
        """A box centred at (x, y)."""
        left, top = x - width / 2, y - height / 2
        title_tag = f"<title>{escaped(title)}</title>" if title else ""
        self.parts.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{round_:.1f}">{title_tag}</rect>'
        )
        self.cover(left - 2, top - 2)
        self.cover(left + width + 2, top + height + 2)

    def text(
        self, x: float, y: float, text: str, kind: str = "", anchor: str = "middle", size: float = FONT_SIZE
    ) -> None:
        """A text centred vertically at `y`."""
        self.rich_text(x, y, escaped(text), text, kind, anchor, size)

    def rich_text(
        self,
        x: float,
        y: float,
        markup: str,
        text: str,
        kind: str = "",
        anchor: str = "middle",
        size: float = FONT_SIZE,
    ) -> None:
        """`markup` is escaped already; `text` is its plain text, to measure it."""
        named = f' class="{kind}"' if kind else ""
        line = y + size * 0.35
        self.parts.append(
            f'<text{named} x="{x:.1f}" y="{line:.1f}" text-anchor="{anchor}" font-size="{size:g}">{markup}</text>'
        )
        width = text_width(text, size) * (BOLDER if kind == "bold" else 1.0)
        first = x - (width / 2 if anchor == "middle" else 0)
        self.cover(first, y - size * 0.7)
        self.cover(first + width, y + size * 0.7)

    def path(self, points: str, reach: list[tuple[float, float]], kind: str = "edge") -> None:
        """A path; `reach` are the corners of its bounding box."""
        self.parts.append(f'<path class="{kind}" d="{points}"/>')
        for x, y in reach:
            self.cover(x, y)

    def arrow_head(self, x: float, y: float, dx: float, dy: float) -> None:
        """A head whose tip is at (x, y) and that points along the unit vector (dx, dy)."""
        back_x, back_y = x - dx * ARROW, y - dy * ARROW
        side_x, side_y = -dy * ARROW * 0.45, dx * ARROW * 0.45
        points = ((x, y), (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y))
        self.parts.append(f'<polygon class="head" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')

    def label(self, x: float, y: float, text: str) -> None:
        """A small text on a line, on a patch of paper."""
        width = text_width(text, 10) + 4
        self.parts.append(
            f'<rect class="patch" x="{x - width / 2:.1f}" y="{y - 6.5:.1f}" width="{width:.1f}" height="13" rx="3"/>'
        )
        self.text(x, y, text, "soft", size=10)

    def append_below(self, other: Drawing, gap: float) -> None:
        down, across = self.bottom - other.top + gap if self.parts else 0.0, self.left - other.left
        self.parts.append(f'<g transform="translate({across:.1f} {down:.1f})">{"".join(other.parts)}</g>')
        self.cover(other.left + across, other.top + down)
        self.cover(other.right + across, other.bottom + down)


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


def document(drawing: Drawing, title: str) -> str:
    """A whole SVG."""
    left, top = drawing.left - MARGIN, drawing.top - MARGIN
    width, height = drawing.right + MARGIN - left, drawing.bottom + MARGIN - top
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" role="img" aria-label={attribute(title)} '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="{left:.1f} {top:.1f} {width:.1f} {height:.1f}">',
            f"<title>{escaped(title)}</title>",
            f"<style>{_style()}</style>",
            f'<rect class="paper" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>',
            *drawing.parts,
            "</svg>",
        ]
    )


def _style() -> str:
    fixed = {
        "text": "font-family:ui-sans-serif,system-ui,'Segoe UI','DejaVu Sans',sans-serif",
        ".edge": "fill:none;stroke-width:1.3",
        ".node": "stroke-width:1.4",
        ".dashed": "stroke-width:1.4;stroke-dasharray:4 3",
        ".bold": "font-weight:600",
    }
    rules = [f".{CLASS} {name}{{{style}}}" for name, style in fixed.items()]
    dark = "".join(_coloured(_DARK))
    return "".join([*rules, *_coloured(_LIGHT), f"@media (prefers-color-scheme:dark){{{dark}}}"])


def _coloured(colours: dict[str, str]) -> list[str]:
    paper, ink, soft, fill, edge = (colours[name] for name in ("paper", "ink", "soft", "fill", "edge"))
    rules = {
        ".paper": f"fill:{paper}",
        ".patch": f"fill:{paper}",
        "text": f"fill:{ink}",
        "text.soft": f"fill:{soft}",
        ".edge": f"stroke:{edge}",
        ".head": f"fill:{edge}",
        ".dot": f"fill:{ink}",
        ".node": f"fill:{fill};stroke:{ink}",
        ".dashed": f"fill:{paper};stroke:{ink}",
        ".ring": f"fill:none;stroke:{ink}",
    }
    return [f".{CLASS} {name}{{{style}}}" for name, style in rules.items()]
