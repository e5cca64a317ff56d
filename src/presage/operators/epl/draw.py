"""The drawing of a PATTERN: a tree of its terms from left to right, whose leaves are the events.

Arrows connect the operands of `->` from top to bottom, in the order of time.
"""

from __future__ import annotations

from dataclasses import dataclass

from presage.lang.identifiers import spell_name
from presage.operators.epl.explain import term_title
from presage.operators.epl.kernel.spec import Node as Term
from presage.operators.epl.nodes import PatternMatch
from presage.operators.svg import Drawing, escaped, shortened, text_width
from presage.plan.display import show

MOST_TERMS = 400
MOST_CHARACTERS = 46
LINE_LENGTH = 110
HEIGHT = 30.0
ROW = 46.0
CORRIDOR = 40.0


@dataclass(frozen=True)
class _Place:
    x: float  # left
    y: float  # middle
    width: float


def draw_pattern(node: PatternMatch) -> Drawing:
    drawing = Drawing()
    if len(node.tables.nodes) <= MOST_TERMS:
        _Tree(node, drawing).draw()
    else:
        drawing.text(0, 0, f"{len(node.tables.nodes):,} terms are too many to draw", "soft", "start")
    drawing.text(drawing.left, drawing.top - 26, shortened(heading(node), LINE_LENGTH), "bold", "start")
    return drawing


def heading(node: PatternMatch) -> str:
    notes = ("@DiscardPartialsOnMatch " if node.tables.discard else "") + (
        "@SuppressOverlappingMatches " if node.tables.suppress else ""
    )
    keys = f" by [{', '.join(map(show, node.key_of(0)))}]" if any(node.partition) else ""
    return f"PATTERN {notes}[{node.text}]{keys}"


class _Tree:
    def __init__(self, node: PatternMatch, drawing: Drawing) -> None:
        self.tables = node.tables
        self.drawing = drawing
        self.titles = [self._title(term) for term in self.tables.nodes]
        self.places: dict[int, _Place] = {}
        self.next_row = 0.0
        depth = self._depths()
        widths = [text_width(title) + 22 for title in self.titles]
        # Leaves may be wide; only terms with operands move the next column to the right.
        self.lefts = [0.0]
        for level in range(max(depth.values())):
            inner = [widths[n] for n, d in depth.items() if d == level and self.tables.nodes[n].children]
            self.lefts.append(self.lefts[-1] + max(inner) + CORRIDOR)
        self.depth, self.widths = depth, widths
        self._place(0)

    def _title(self, term: Term) -> str:
        words = {"followed": "->", "and": "AND", "or": "OR", "not": "NOT", "every": "EVERY"}
        return shortened(words.get(term.kind) or term_title(term, self.tables), MOST_CHARACTERS)

    def _depths(self) -> dict[int, int]:
        depth = {0: 0}
        # Children have greater numbers than their parents.
        for number, term in enumerate(self.tables.nodes):
            depth.update(dict.fromkeys(term.children, depth[number] + 1))
        return depth

    def _place(self, number: int) -> None:
        children = self.tables.nodes[number].children
        for child in children:
            self._place(child)
        if children:
            y = (self.places[children[0]].y + self.places[children[-1]].y) / 2
        else:
            y, self.next_row = self.next_row, self.next_row + ROW
        self.places[number] = _Place(self.lefts[self.depth[number]], y, self.widths[number])

    def draw(self) -> None:
        for number, term in enumerate(self.tables.nodes):
            for child in term.children:
                self._branch(self.places[number], self.places[child])
            if term.kind == "followed":
                for i, (first, then) in enumerate(zip(term.children, term.children[1:], strict=False)):
                    self._then(self.places[first], self.places[then], term.limits[i])
        absent = self._under_not()
        for number, term in enumerate(self.tables.nodes):
            self._term(number, term, number in absent)

    def _under_not(self) -> set[int]:
        absent: set[int] = set()
        for number, term in enumerate(self.tables.nodes):
            if term.kind == "not" or number in absent:
                absent.update((number, *term.children))
        return absent

    def _branch(self, parent: _Place, child: _Place) -> None:
        x0, x1 = parent.x + parent.width, child.x
        middle = x1 - CORRIDOR / 2
        self.drawing.path(
            f"M{x0:.1f} {parent.y:.1f}H{middle - 8:.1f}"
            f"C{middle + 4:.1f} {parent.y:.1f} {middle - 4:.1f} {child.y:.1f} {x1:.1f} {child.y:.1f}",
            [],
        )

    def _then(self, first: _Place, then: _Place, limit: int) -> None:
        x = first.x + 20
        y0, y1 = first.y + HEIGHT / 2, then.y - HEIGHT / 2
        self.drawing.path(f"M{x:.1f} {y0:.1f}V{y1 - 4:.1f}", [], "edge then")
        self.drawing.arrow_head(x, y1 - 1, 0, 1)
        if limit >= 0:
            self.drawing.label(x, (y0 + y1) / 2 - 2, f"at most {limit}")

    def _term(self, number: int, term: Term, absent: bool) -> None:
        place, title = self.places[number], self.titles[number]
        x = place.x + place.width / 2
        leaf = not term.children
        kind = "dashed" if absent else "node"
        self.drawing.box(x, place.y, place.width, HEIGHT, kind, term.text, 4 if leaf else HEIGHT / 2)
        tag = spell_name(self.tables.tags[term.tag].name) if term.tag >= 0 else ""
        if tag and title.startswith(f"{tag}="):
            markup = f'<tspan class="bold">{escaped(tag)}</tspan>{escaped(title.removeprefix(tag))}'
            self.drawing.rich_text(place.x + 11, place.y, markup, title, anchor="start")
        else:
            self.drawing.text(x, place.y, title)


def _titled(node: PatternMatch) -> tuple[Drawing, str]:
    return draw_pattern(node), f"Terms of {heading(node)}"


DRAW = {PatternMatch: _titled}
