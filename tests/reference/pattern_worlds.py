"""Random patterns and streams for the laws of patterns."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from presage.arrays.programs import code as op
from presage.operators.epl.kernel.spec import TIME
from reference.pattern_terms import (
    FLAGS,
    SOURCES,
    Compared,
    Of,
    Term,
    both,
    distinct,
    either,
    event,
    every,
    followed,
    interval,
    no,
    numbered,
    row,
    until,
    whilst,
    within,
)

NUMBERS = st.sampled_from([None, 0, 1, 2, 2, 3])
TEXTS = st.sampled_from([None, "a", "b", "c"])
DOUBLES = st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")])


class Scope:
    """Tags that a condition may speak of: name, source, whether repeated."""

    def __init__(self) -> None:
        self.made = 0
        self.tags: list[tuple[str, int, bool]] = []

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3) -> Term:
    return _term(draw, Scope(), depth, [], False)


def _value(draw: st.DrawFn, tags: list[tuple[str, int, bool]], column: str) -> Any:
    tag, source, repeated = draw(st.sampled_from(tags))
    return Of(tag, f"{column}{source}", draw(st.sampled_from([None, 0, 1, -1])) if repeated else None)


def _filter(draw: st.DrawFn, scope: Scope, seen: list[tuple[str, int, bool]], repeated: bool) -> Term:
    source = draw(st.integers(0, SOURCES - 1))
    tag = scope.name() if draw(st.integers(0, 3)) else None
    choice = draw(st.sampled_from(["none", "none", "number", "tag", "text", "double"]))
    where: Any = None
    if choice == "number":
        where = Compared(draw(st.sampled_from([op.EQ_I, op.GT_I])), Of(None, f"v{source}"), draw(st.integers(0, 2)))
    elif choice == "tag" and seen:
        where = Compared(draw(st.sampled_from([op.EQ_I, op.NE_I])), Of(None, f"v{source}"), _value(draw, seen, "v"))
    elif choice == "text" and seen:
        where = Compared(draw(st.sampled_from([op.EQ_I, op.LT_I])), Of(None, f"k{source}"), _value(draw, seen, "k"))
    elif choice == "double" and seen:
        where = Compared(op.EQ_F, Of(None, f"x{source}"), _value(draw, seen, "x"))
    flag = draw(st.sampled_from([None, None, *FLAGS]))
    consume = draw(st.sampled_from([0, 0, 0, 0, 1, 2]))
    if tag is not None:
        scope.tags.append((tag, source, repeated))
    return event(source, tag, where, flag, consume=consume)


def _period(draw: st.DrawFn, seen: list[tuple[str, int, bool]]) -> Any:
    kind = draw(st.sampled_from(["constant"] * 4 + ["event", "double"]))
    if kind == "constant" or not seen:
        return draw(st.sampled_from([0, 1_000_000, 2_000_000, 3_000_000, 5_000_000]))
    return _value(draw, seen, "v" if kind == "event" else "x")


def _term(draw: st.DrawFn, scope: Scope, depth: int, seen: list[tuple[str, int, bool]], repeated: bool) -> Term:
    if depth == 0:
        return _filter(draw, scope, seen, repeated)
    kinds = ["filter", "followed", "followed", "and", "or", "not", "every", "every", "distinct", "until", "within"]
    kind = draw(st.sampled_from([*kinds, "while", "interval"]))

    def below(visible: list[tuple[str, int, bool]] | None = None, inside: bool = repeated) -> Term:
        return _term(draw, scope, depth - 1, seen if visible is None else visible, inside)

    if kind == "filter":
        return _filter(draw, scope, seen, repeated)
    if kind == "followed":
        terms: list[Term] = []
        visible = list(seen)
        for _ in range(draw(st.integers(2, 3))):
            before = len(scope.tags)
            terms.append(below(visible))
            visible = visible + scope.tags[before:]
        limits = draw(st.sampled_from([(), (), tuple(draw(st.sampled_from([-1, 1, 2])) for _ in terms[1:])]))
        return followed(*terms, limits=limits)
    if kind in ("and", "or"):
        terms = [below() for _ in range(draw(st.integers(2, 3)))]
        if kind == "and" and draw(st.booleans()):
            terms[-1] = no(terms[-1])
        return both(*terms) if kind == "and" else either(*terms)
    if kind == "not":
        return no(below())
    if kind == "every":
        return every(below())
    if kind == "interval":
        return interval(_period(draw, seen))
    before = len(scope.tags)
    if kind == "until":
        inner = below(inside=True)
        ending = below() if draw(st.booleans()) else None
        low = draw(st.sampled_from([-1, 0, 1, 2])) if ending else draw(st.integers(1, 3))
        high = draw(st.sampled_from([-1, max(low, 1), max(low, 1) + 1])) if ending else low
        return until(inner, ending, low, high)
    inner = below()
    own = scope.tags[before:]
    if kind == "within":
        return within(inner, _period(draw, seen), draw(st.sampled_from([-1, -1, 0, 1, 2])))
    if not own:
        return every(inner)
    if kind == "while":
        return whilst(inner, Compared(op.NE_I, _value(draw, own, "v"), draw(st.integers(0, 2))))
    columns = draw(st.lists(st.sampled_from("vkx"), min_size=1, max_size=2))
    period = draw(st.sampled_from([None, 2_000_000, 4_000_000]))
    return distinct([_value(draw, own, column) for column in columns], inner, period)


@st.composite
def streams(draw: st.DrawFn, most: int = 9) -> list[dict[str, Any]]:
    """Events in order, with ties, nulls and views of one event by several sources."""
    rows, time = [], draw(st.integers(-2, 2)) * 1_000_000
    for _ in range(draw(st.integers(0, most))):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 4])) * 1_000_000
        sources = draw(st.sampled_from([[0], [0], [1], [1], [2], [0, 1], [2, 0]]))
        for n, source in enumerate(sources):
            flags = {name: draw(st.sampled_from([True, True, False, None])) for name in FLAGS}
            line = row(time, source, draw(NUMBERS), draw(TEXTS), draw(DOUBLES), **flags)
            rows.append(line | {"same": n > 0})
    return numbered(rows)


def cuts_of(draw: st.DrawFn, rows: list[dict[str, Any]], end: int) -> list[tuple[int, int]]:
    """Steps: up to which row, and the clock that is reported with it."""
    places = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    steps: list[tuple[int, int]] = []
    for place in places:
        while 0 < place < len(rows) and rows[place]["_seq"] == rows[place - 1]["_seq"]:
            place += 1
        later = rows[place][TIME] if place < len(rows) else end
        if place == 0:
            steps.append((0, later - draw(st.sampled_from([0, 500_000, 3_000_000]))))
            continue
        steps.append((place, draw(st.integers(rows[place - 1][TIME], later))))
    clocks: list[tuple[int, int]] = []
    for place, clock in steps:
        clocks.append((place, max(clock, clocks[-1][1] if clocks else clock)))
    return [*clocks, (len(rows), end)]
