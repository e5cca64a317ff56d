"""The drawing of a MATCH_RECOGNIZE automaton.

Positions are in columns from left to right. Edges to the next column are straight; longer ones pass the columns between
in a lane above or below, and edges back use a lane below. Edges to the same position share a lane. So no line crosses a
position. Where a position has several edges, numbers show the order of preference.
"""

from __future__ import annotations

from math import sqrt

from presage.lang.identifiers import spell_name
from presage.operators.match.kernel.spec import ACCEPT, Edge
from presage.operators.match.layers import columns
from presage.operators.match.nodes import Match, gap_text, within_text
from presage.operators.svg import Drawing, shortened, text_width
from presage.plan.display import show

START = -2
MOST_POSITIONS = 400
MOST_CHARACTERS = 18
LINE_LENGTH = 110
HEIGHT = 36.0  # of a position
ROW = 66.0  # from one position to the next below it
CORRIDOR, NARROW = 64.0, 38.0  # between columns
LANE = 20.0
FOOT = 12.0  # distance from the middle at which lines leave a position at its bottom
LOOP = 26.0
ABOVE, BELOW, BACK = "above", "below", "back"  # kinds of lanes


def draw_match(node: Match) -> Drawing:
    drawing = Drawing()
    automaton = node.tables.automaton
    if len(automaton.labels) <= MOST_POSITIONS:
        _Layout(node, drawing).draw()
    else:
        drawing.text(0, 0, f"{len(automaton.labels):,} positions are too many to draw", "soft", "start")
    _describe(node, drawing)
    return drawing


def heading(node: Match) -> str:
    tables = node.tables
    by_name = {n.name: n.expr for n in node.prepared}
    text = f"PATTERN ({node.text})"
    text += f" WITHIN {within_text(tables)}" if tables.within is not None else ""
    text += f" GAP {gap_text(tables)}" if tables.gap is not None else ""
    return text + (f" by [{', '.join(show(by_name[key]) for key in tables.keys)}]" if tables.keys else "")


def _describe(node: Match, drawing: Drawing) -> None:
    """The pattern above the automaton, and the conditions of the variables below it."""
    left, top, y = drawing.left, drawing.top, drawing.bottom + 24
    drawing.text(left, top - 26, shortened(heading(node), LINE_LENGTH), "bold", "start")
    tables = node.tables
    for name, condition in zip(tables.automaton.variables, tables.conditions, strict=True):
        text = condition.text.removeprefix("DEFINE ") or f"{spell_name(name)}: any row"
        drawing.text(left, y, shortened(text, LINE_LENGTH), "soft", "start", size=11)
        y += 17


class _Layout:
    def __init__(self, node: Match, drawing: Drawing) -> None:
        self.node = node
        self.drawing = drawing
        automaton = node.tables.automaton
        self.ways: dict[int, tuple[Edge, ...]] = {START: automaton.first, ACCEPT: ()}
        self.ways |= dict(enumerate(automaton.follow))
        self.column = columns({n: [edge.target for edge in ways] for n, ways in self.ways.items()}, START)
        self.column[ACCEPT] = max(self.column.get(ACCEPT, 0), 1 + max(c for n, c in self.column.items() if n != ACCEPT))
        self.width = {n: self._width(n) for n in self.column}
        self.y: dict[int, float] = {}
        self.members: list[list[int]] = [[] for _ in range(1 + max(self.column.values()))]
        for n in sorted(self.column, key=lambda n: (n == ACCEPT, n)):
            self.members[self.column[n]].append(n)
        self._place_rows()
        self.column_width = [max(self.width[n] for n in members) for members in self.members]
        self.x: dict[int, float] = {}
        right = 0.0
        for number, members in enumerate(self.members):
            for n in members:
                self.x[n] = right + self.column_width[number] / 2
            right += self.column_width[number] + self._corridor(number)
        self.lanes = self._lanes()

    # -- layout -----------------------------------------------------------------------------

    def _name(self, n: int) -> str:
        automaton = self.node.tables.automaton
        return spell_name(automaton.variables[automaton.labels[n]])

    def _width(self, n: int) -> float:
        if n == START:
            return 14.0
        return HEIGHT if n == ACCEPT else max(HEIGHT, text_width(shortened(self._name(n), MOST_CHARACTERS)) + 20)

    def _place_rows(self) -> None:
        """Places each position near its predecessors, without overlaps."""
        for number, members in enumerate(self.members):
            wanted: dict[int, float] = {}
            for n in members:
                before = [
                    self.y[m] for m in self.y if self.column[m] < number and any(e.target == n for e in self.ways[m])
                ]
                wanted[n] = sum(before) / len(before) if before else 0.0
            members.sort(key=wanted.__getitem__)
            row = ROW + (LOOP if any(map(self._loops, members[1:-1])) else 0)
            at = float("-inf")
            for n in members:
                at = max(wanted[n], at + row)
                self.y[n] = at
            off = sum(wanted[n] - self.y[n] for n in members) / max(1, len(members))
            for n in members:
                self.y[n] += off

    def _corridor(self, number: int) -> float:
        """The space after a column; narrow where single edges lead straight on."""
        ways = [self.ways[n] for n in self.members[number]]
        straight = all(len(w) == 1 and not (w[0].at_start or w[0].at_end) for w in ways)
        after = set(self.members[number + 1]) if number + 1 < len(self.members) else set()
        others = (n for n in self.column if self.column[n] != number)
        met = any(edge.target in after and edge.target != n for n in others for edge in self.ways[n])
        return NARROW if straight and not met else CORRIDOR

    def _loops(self, n: int) -> bool:
        return any(edge.target == n for edge in self.ways[n])

    def _is_lowest(self, n: int) -> bool:
        return self.members[self.column[n]][-1] == n

    def _loop_below(self, n: int) -> bool:
        return self._is_lowest(n) and len(self.members[self.column[n]]) > 1

    def _top(self, number: int) -> float:
        n = self.members[number][0]
        return self.y[n] - HEIGHT / 2 - (LOOP if self._loops(n) and not self._loop_below(n) else 0)

    def _bottom(self, number: int) -> float:
        n = self.members[number][-1]
        return self.y[n] + HEIGHT / 2 + (LOOP if self._loops(n) and self._loop_below(n) else 0)

    def _lanes(self) -> dict[tuple[int, str], float]:
        """The height of the lanes, by target and kind; short lanes are nearest to the positions."""
        spans: dict[tuple[int, str], tuple[int, int]] = {}
        for n, ways in self.ways.items():
            for edge in ways if n in self.column else ():
                here, there = self.column[n], self.column[edge.target]
                if there < here:
                    span, kind = (there, here), BACK
                elif there > here + 1:
                    span, kind = (here + 1, there - 1), self._side(n, edge.target)
                else:
                    continue
                first, last = spans.get((edge.target, kind), span)
                spans[edge.target, kind] = min(first, span[0]), max(last, span[1])
        heights: dict[tuple[int, str], float] = {}
        for lane, (first, last) in sorted(spans.items(), key=lambda s: (s[1][1] - s[1][0], s[0])):
            upwards = lane[1] == ABOVE
            others = [k for k in heights if (k[1] == ABOVE) == upwards]
            near = [heights[k] for k in others if spans[k][0] <= last + 1 and spans[k][1] >= first - 1]
            passed = range(first, last + 1)
            if upwards:
                heights[lane] = min([*map(self._top, passed), *near]) - LANE
            else:
                heights[lane] = max([*map(self._bottom, passed), *near]) + LANE
        return heights

    def _side(self, n: int, target: int) -> str:
        """Whether an edge passes the columns between above or below, whichever is nearer."""
        passed = range(self.column[n] + 1, self.column[target])
        top, bottom = min(map(self._top, passed)) - LANE, max(map(self._bottom, passed)) + LANE
        up = abs(self.y[n] - top) + abs(self.y[target] - top)
        down = abs(self.y[n] - bottom) + abs(self.y[target] - bottom)
        return BELOW if down < up - 1 else ABOVE

    # -- drawing --------------------------------------------------------------------------------------

    def draw(self) -> None:
        for n, ways in self.ways.items():
            if n in self.column:
                for rank, edge in enumerate(ways, 1):
                    label = [str(rank)] if len(ways) > 1 else []
                    label += ["^"] * edge.at_start + ["$"] * edge.at_end
                    self._edge(n, edge.target, " ".join(label))
        for n in self.column:
            self._position(n)

    def _position(self, n: int) -> None:
        x, y, drawing = self.x[n], self.y[n], self.drawing
        if n == START:
            drawing.box(x, y, 14, 14, "dot", "start", 7)
            drawing.text(x, y + 18, "start", "soft", size=10)
        elif n == ACCEPT:
            drawing.box(x, y, HEIGHT, HEIGHT, "node", "match", HEIGHT / 2)
            drawing.box(x, y, HEIGHT - 9, HEIGHT - 9, "ring", "match", HEIGHT / 2)
            drawing.text(x, y + HEIGHT / 2 + 10, "match", "soft", size=10)
        else:
            automaton = self.node.tables.automaton
            kind = "dashed" if automaton.excluded[n] else "node"
            hint = self.node.tables.conditions[automaton.labels[n]].text or f"{self._name(n)}: any row"
            drawing.box(x, y, self.width[n], HEIGHT, kind, hint, HEIGHT / 2)
            drawing.text(x, y, shortened(self._name(n), MOST_CHARACTERS))

    def _edge(self, n: int, target: int, label: str) -> None:
        here, there = self.column[n], self.column[target]
        if n == target:
            self._self_loop(n, label)
        elif here == there:
            self._within_column(n, target, label)
        elif there == here + 1:
            self._to_next(n, target, label)
        elif there > here:
            self._over(n, target, label)
        else:
            self._back(n, target, label)

    def _right(self, n: int) -> float:
        return self.x[n] + self.width[n] / 2

    def _left(self, n: int) -> float:
        return self.x[n] - self.width[n] / 2

    def _column_left(self, number: int) -> float:
        return self.x[self.members[number][0]] - self.column_width[number] / 2

    def _column_right(self, number: int) -> float:
        return self._column_left(number) + self.column_width[number]

    def _border(self, n: int, across: float) -> float:
        """Distance of a position's border below its middle, `across` from the middle."""
        half = HEIGHT / 2
        over = abs(across) - (self.width[n] / 2 - half)
        return half if over <= 0 else sqrt(max(0.0, half * half - over * over))

    def _to_next(self, n: int, target: int, label: str) -> None:
        x0, y0, x1, y1 = self._right(n), self.y[n], self._left(target), self.y[target]
        middle = (x0 + x1) / 2
        self.drawing.path(f"M{x0:.1f} {y0:.1f}C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1 - 4:.1f} {y1:.1f}", [])
        self.drawing.arrow_head(x1 - 1, y1, 1, 0)
        self._label(label, *_along(x0, y0, x1, y1, 0.45))

    def _over(self, n: int, target: int, label: str) -> None:
        x0, y0, x1, y1, lane = (
            self._right(n),
            self.y[n],
            self._left(target),
            self.y[target],
            self.lanes[target, self._side(n, target)],
        )
        up, down = self._column_left(self.column[n] + 1), self._column_right(self.column[target] - 1)
        first, last = (x0 + up) / 2, (down + x1) / 2
        self.drawing.path(
            f"M{x0:.1f} {y0:.1f}C{first:.1f} {y0:.1f} {first:.1f} {lane:.1f} {up:.1f} {lane:.1f}H{down:.1f}"
            f"C{last:.1f} {lane:.1f} {last:.1f} {y1:.1f} {x1 - 4:.1f} {y1:.1f}",
            [(up, lane - 2), (up, lane + 2)],
        )
        self.drawing.arrow_head(x1 - 1, y1, 1, 0)
        self._label(label, *_along(x0, y0, up, lane, 0.7))

    def _back(self, n: int, target: int, label: str) -> None:
        lane, turn = self.lanes[target, BACK], 12.0
        if self._is_lowest(n):
            x0 = self.x[n] + FOOT
            y0 = self.y[n] + self._border(n, FOOT)
            path = f"M{x0:.1f} {y0:.1f}V{lane - turn:.1f}q0 {turn} {-turn} {turn}"
            corner = x0
        else:
            x0, y0 = self._right(n), self.y[n]
            aside = self._column_right(self.column[n]) + 8 - x0
            path = f"M{x0:.1f} {y0:.1f}h{aside:.1f}q{turn} 0 {turn} {turn}V{lane - turn:.1f}q0 {turn} {-turn} {turn}"
            corner = x0 + aside + turn
        if self._is_lowest(target):
            x1, y1 = self.x[target] - FOOT, self.y[target] + self._border(target, FOOT)
            path += f"H{x1 + turn:.1f}q{-turn} 0 {-turn} {-turn}V{y1 + 4:.1f}"
            tip, along = (x1, y1 + 1), (0.0, -1.0)
        else:
            x1, y1 = self._left(target), self.y[target]
            aside = self._column_left(self.column[target]) - 8 - turn
            path += (
                f"H{aside + turn:.1f}q{-turn} 0 {-turn} {-turn}V{y1 + turn:.1f}q0 {-turn} {turn} {-turn}H{x1 - 4:.1f}"
            )
            tip, along = (x1 - 1, y1), (1.0, 0.0)
        self.drawing.path(path, [(x0, lane + 2)])
        self.drawing.arrow_head(*tip, *along)
        # Lines that leave together separate at their lanes.
        self._label(label, corner - 22, lane)

    def _self_loop(self, n: int, label: str) -> None:
        x, side = self.x[n], 1 if self._loop_below(n) else -1
        y = self.y[n] + side * self._border(n, 7)
        far = y + side * (LOOP + 4)
        self.drawing.path(
            f"M{x - 7:.1f} {y:.1f}C{x - 17:.1f} {far:.1f} {x + 17:.1f} {far:.1f} {x + 8:.1f} {y + side * 3:.1f}", []
        )
        self.drawing.cover(x, y + side * LOOP)
        self.drawing.arrow_head(x + 7, y + side, -0.3, -side * 0.954)
        self._label(label, x, y + side * (LOOP - 4))

    def _within_column(self, n: int, target: int, label: str) -> None:
        """An edge within a column: down on the right, up on the left."""
        members = self.members[self.column[n]]
        down = self.y[target] > self.y[n]
        side = 1 if down else -1
        if abs(members.index(n) - members.index(target)) == 1:
            x0, x1 = self.x[n] + side * FOOT, self.x[target] + side * FOOT
            y0, y1 = self.y[n] + side * self._border(n, FOOT), self.y[target] - side * self._border(target, FOOT)
            self.drawing.path(f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1 - side * 4:.1f}", [])
            self.drawing.arrow_head(x1, y1 - side, 0, side)
            self._label(label, (x0 + x1) / 2, (y0 + y1) / 2 - side * 3)
            return
        x0, x1 = (self._right(n), self._right(target)) if down else (self._left(n), self._left(target))
        y0, y1, bulge = self.y[n], self.y[target], 34.0 * side
        self.drawing.path(
            f"M{x0:.1f} {y0:.1f}C{x0 + bulge:.1f} {y0:.1f} {x1 + bulge:.1f} {y1:.1f} {x1 + 4 * side:.1f} {y1:.1f}",
            [(x0 + bulge, y0)],
        )
        self.drawing.arrow_head(x1 + side, y1, -side, 0)
        self._label(label, x0 + bulge * 0.74, y0 + (y1 - y0) * 0.6)

    def _label(self, label: str, x: float, y: float) -> None:
        if label:
            self.drawing.label(x, y, label)


def _along(x0: float, y0: float, x1: float, y1: float, t: float) -> tuple[float, float]:
    """A point of the curve, which is level at both ends."""
    middle, back = (x0 + x1) / 2, 1 - t
    x = x0 * back**3 + 3 * middle * back * t * (back + t) + x1 * t**3
    return x, y0 + (y1 - y0) * t * t * (3 - 2 * t)


def _titled(node: Match) -> tuple[Drawing, str]:
    return draw_match(node), f"Automaton of {heading(node)}"


DRAW = {Match: _titled}
