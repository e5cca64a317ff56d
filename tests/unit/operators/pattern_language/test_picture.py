"""Pictures of automata and patterns: well-formed, complete, safe, and without lines through positions."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.svg import picture, picture_of_all
from presage.plan.nodes import Node
from presage.plan.picture import Picture
from unit.declared import bind, refusals

SVG = "{http://www.w3.org/2000/svg}"
RESET = "CREATE STREAM Reset (reason STRING) INHERITS CameraEvent;"


def match_plan(pattern: str, define: str = "A AS x > 1", bounds: str = "") -> Node:
    clauses = f"PARTITION BY camera MEASURES count(*) AS c PATTERN ({pattern}) {bounds} DEFINE {define}"
    return bind(f"SELECT * FROM Motion MATCH_RECOGNIZE ({clauses})").plan


def pattern_plan(pattern: str) -> Node:
    return bind(f"SELECT 1 AS one FROM PATTERN [ {pattern} ]", RESET).plan


def drawn(plan: Node) -> ElementTree.Element:
    svg = picture(plan)
    assert svg is not None
    return ElementTree.fromstring(svg)


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def boxes(root: ElementTree.Element, kind: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom."""
    found = []
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("class") == kind:
            x, y, width, height = (float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def shift(root: ElementTree.Element, number: int = 0) -> tuple[float, float]:
    """By how much a drawing is moved on the page."""
    group = root.findall(f"{SVG}g")[number]
    across, down = (group.get("transform") or "").removeprefix("translate(").removesuffix(")").split()
    return float(across), float(down)


# -- MATCH_RECOGNIZE --------------------------------------------------------------------------------------


def test_every_position_has_its_variables_name() -> None:
    shown = texts(drawn(match_plan("A B{2} (C | D)*")))
    assert [shown.count(name) for name in "ABCD"] == [1, 2, 1, 1]
    assert shown.count("start") == shown.count("match") == 1


def test_every_way_on_has_an_arrow() -> None:
    root = drawn(match_plan("A B{1,2}"))
    assert len(root.findall(f".//{SVG}polygon")) == len(root.findall(f".//{SVG}path")) == 5


def test_preferences_are_numbered_where_there_is_a_choice() -> None:
    numbers = [text for text in texts(drawn(match_plan("A B?"))) if text.isdigit()]
    assert numbers == ["1", "2"]
    assert not [text for text in texts(drawn(match_plan("A B"))) if text.isdigit()]


def test_the_match_is_a_double_circle() -> None:
    (ring,) = boxes(drawn(match_plan("A")), "ring")
    assert any(left < ring[0] and right > ring[2] for left, _, right, _ in boxes(drawn(match_plan("A")), "node"))


def test_excluded_positions_are_dashed() -> None:
    root = drawn(match_plan("A {- B C -} A"))
    assert (len(boxes(root, "dashed")), len(boxes(root, "node"))) == (2, 3)


def test_anchors_are_labels() -> None:
    shown = texts(drawn(match_plan("^ A B? $")))
    assert {"^", "1", "2 $", "$"} <= set(shown)


def test_conditions_stand_below_the_automaton_and_bounds_above_it() -> None:
    shown = texts(drawn(match_plan("A B", bounds="WITHIN 5 min GAP 1 sec")))
    assert {"A AS x > 1", "B: any row", "PATTERN (A B) WITHIN 5 min GAP 1 sec by [Motion.camera]"} <= set(shown)


def test_an_automaton_that_is_too_large_is_told_and_not_drawn() -> None:
    shown = texts(drawn(match_plan("A{500}")))
    assert "500 positions are too many to draw" in shown
    assert "A AS x > 1" in shown


REGEX = st.recursive(
    st.sampled_from(["A", "B", "C"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]} | {parts[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?"])).map(lambda p: f"({p[0]}){p[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(REGEX)
def test_positions_stand_apart_and_within_the_picture(pattern: str) -> None:
    root = drawn(match_plan(f"A {pattern}"))
    x, y, width, height = (float(part) for part in (root.get("viewBox") or "").split())
    across, down = shift(root)
    found = boxes(root, "node")
    for i, (left, top, right, bottom) in enumerate(found):
        assert x <= left + across
        assert right + across <= x + width
        assert y <= top + down
        assert bottom + down <= y + height
        for other in found[:i]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top


@settings(max_examples=60, deadline=None)
@given(REGEX)
def test_level_lines_pass_above_and_below_positions(pattern: str) -> None:
    root = drawn(match_plan(f"A {pattern}"))
    found = boxes(root, "node")
    for path in root.iter(f"{SVG}path"):
        for first, y, last in level_lines(path.get("d") or ""):
            for left, top, right, bottom in found:
                crossed = min(first, last) < right and max(first, last) > left and top < y < bottom
                # A line ends at the border of the position that it leads to.
                assert not crossed or min(right, max(first, last)) - max(left, min(first, last)) < 1


def level_lines(path: str) -> list[tuple[float, float, float]]:
    """(from x, y, to x) of the level pieces of a path."""
    found, x, y = [], 0.0, 0.0
    for letter, arguments in re.findall(r"([MVHCLqh])([^MVHCLqh]*)", path):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", arguments)]
        match letter:
            case "H":
                found.append((x, y, numbers[0]))
                x = numbers[0]
            case "h":
                found.append((x, y, x + numbers[0]))
                x += numbers[0]
            case "V":
                y = numbers[0]
            case "q":
                x, y = x + numbers[2], y + numbers[3]
            case _:
                x, y = numbers[-2:]
    return found


# -- PATTERN ----------------------------------------------------------------------------------------------


def test_a_pattern_shows_its_terms_tags_and_filters() -> None:
    plan = pattern_plan(
        "EVERY a=Motion -> (b=Fault(camera = a.camera) AND NOT Reset(camera = a.camera)) WHERE timer:within(30 sec)"
    )
    root = drawn(plan)
    shown = set(texts(root))
    assert {"->", "EVERY", "a=Motion", "within 30 sec", "AND", "NOT", "b=Fault(camera = a.camera)"} <= shown
    assert [span.text for span in root.iter(f"{SVG}tspan")] == ["a", "b"]
    assert len(boxes(root, "dashed")) == 2  # NOT and what must not come


def test_operands_of_an_arrow_are_joined_by_arrows() -> None:
    root = drawn(pattern_plan("a=Motion -[4]> b=Fault -> c=Reset"))
    assert len(root.findall(f".//{SVG}polygon")) == 2
    assert "at most 4" in texts(root)


def test_long_filters_are_shortened_and_told_in_full_beside() -> None:
    long = " AND ".join(f"log <> 'text number {i}'" for i in range(20))
    root = drawn(pattern_plan(f"b=Fault({long})"))
    assert all(len(text) <= 110 for text in texts(root))
    assert any("text number 19" in "".join(title.itertext()) for title in root.iter(f"{SVG}title"))


# -- both -------------------------------------------------------------------------------------------------

HOSTILE = "`<script>alert(1)</script>&\"'`"


def test_hostile_names_are_text_and_nothing_else() -> None:
    for plan in (match_plan(f"A {HOSTILE}"), pattern_plan(f"{HOSTILE}=Motion -> b=Fault(log = '</text>]]>')")):
        root = drawn(plan)
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg",
            "title",
            "style",
            "rect",
            "text",
            "tspan",
            "path",
            "polygon",
            "g",
        }
        assert any("<script>" in text for text in texts(root))


def test_characters_that_XML_cannot_hold_are_replaced() -> None:
    shown = texts(drawn(match_plan("A", "A AS camera = 'bell \x07'")))
    assert "A AS camera = 'bell \ufffd'" in shown


def test_the_picture_tells_screen_readers_what_it_shows() -> None:
    root = drawn(match_plan("A B+"))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == root.get("aria-label") == "Automaton of PATTERN (A B+) by [Motion.camera]"
    assert root.get("role") == "img"


def test_style_reaches_no_further_than_the_picture_and_knows_dark_mode() -> None:
    style = drawn(match_plan("A")).findtext(f"{SVG}style") or ""
    rules = re.findall(r"([^{}]+)\{", style.replace("@media (prefers-color-scheme:dark){", ""))
    assert "prefers-color-scheme:dark" in style
    assert rules
    assert all(rule.startswith(".presage-picture ") for rule in rules)


def test_a_plan_without_an_automaton_has_no_picture() -> None:
    assert picture(bind("SELECT x FROM Motion").plan) is None


def test_several_plans_stand_below_each_other() -> None:
    plans = [match_plan("A"), bind("SELECT x FROM Motion").plan, pattern_plan("a=Motion")]
    svg = picture_of_all(plans)
    assert svg is not None
    root = ElementTree.fromstring(svg)
    assert len(root.findall(f"{SVG}g")) == 2
    assert shift(root, 1)[1] > shift(root, 0)[1] + 50


def test_notebooks_draw_a_picture() -> None:
    made = Picture("<svg/>")
    assert (str(made), made._repr_svg_(), made.svg) == ("<svg/>",) * 3
    assert "<svg/>" in made._repr_html_()


def test_checking_refuses_a_picture_of_what_has_no_automaton() -> None:
    (refused,) = refusals("EXPLAIN SELECT x FROM Motion FORMAT svg")
    assert refused.code == "UNSUPPORTED"
    assert "without MATCH_RECOGNIZE and PATTERN" in refused.render()
    assert "EXPLAIN without FORMAT svg" in refused.render()
    assert not refusals("EXPLAIN SELECT 1 AS one FROM PATTERN [ a=Motion ] FORMAT svg")
