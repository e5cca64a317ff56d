"""The views of single things: a map that moves, an alert and its revisions, what is known, why an event made no row."""

from __future__ import annotations

from pathlib import Path

from browser.chromium import Page, keep_picture
from browser.page_checks import faults, too_faint
from browser.served import Served, moment
from browser.world import RECALLING, furnish
from presage.console.plans import read_plan

FLOOR = """<svg xmlns="http://www.w3.org/2000/svg" width="100" height="60">
<rect width="100" height="60" fill="#e8e2d0"/><path d="M0 60 L100 0" stroke="#b09a60"/></svg>"""
PLAN = """{ "streams": ["Cart"], "image": "floor.svg", "bounds": [0, 0, 1000, 600], "rooms": [
  { "name": "Hall", "outline": [[50, 50], [500, 50], [500, 300], [300, 300], [300, 550], [50, 550]] },
  { "name": "Lab", "box": [700, 50, 1000, 300] }, { "name": "Store", "box": [700, 300, 1000, 550] } ] }"""


def test_a_map_shows_where_things_are_and_moves_with_them(furnished: Served, page: Page) -> None:
    page.goto(f"{furnished.address}/#/map")
    page.wait_for_selector(".map .dot")
    assert page.locator(".map .object").count() == 6
    before = page.locator(".map .object").first.get_attribute("style")
    update = {"cart": "c0", "x_value": 777.0, "x_rate": 0.0, "y_value": 333.0, "y_rate": 0.0, "at": moment(500)}
    furnished.load("Cart", [update])
    page.wait_for_selector(".card:has-text('09:08:20')")
    assert page.locator(".map .object").first.get_attribute("style") != before
    # The others told nothing for longer than what they told holds.
    assert page.locator(".map .object.silent").count() == 5
    page.click("text=Show as a list")
    page.wait_for_selector("li:text-is('c0: x 777.0, y 333.0')")


def test_a_floor_plan_lies_under_the_map(served: Served, page: Page, tmp_path: Path, colours: str) -> None:
    (tmp_path / "floor.svg").write_text(FLOOR)
    (tmp_path / "plan.json").write_text(PLAN)
    served.stop()
    served.plans = [read_plan(str(tmp_path / "plan.json"))]
    served.begin()
    furnish(served)
    page.emulate_media(color_scheme=colours)
    page.goto(f"{served.address}/#/map")
    page.wait_for_selector(".map .dot")
    assert page.locator(".map polygon.room").count() == 3
    drawn = page.locator(".map image")
    size = page.evaluate(
        "async (href) => { const i = new Image(); i.src = href; await i.decode(); return i.width }",
        drawn.get_attribute("href"),
    )
    assert size == 100
    # An object in the middle of a room is drawn inside of that room's outline.
    update = {"cart": "c0", "x_value": 850.0, "x_rate": 0.0, "y_value": 150.0, "y_rate": 0.0, "at": moment(500)}
    served.load("Cart", [update])
    page.wait_for_selector(".card:has-text('09:08:20')")
    page.click("text=Show as a list")
    page.wait_for_selector("li:text-is('c0: x 850.0, y 150.0, in Lab')")
    page.wait_for_timeout(1_200)
    keep_picture(page, f"plan-{colours}")
    assert faults(page) == []
    assert too_faint(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    keep_picture(page, f"plan-narrow-{colours}")


def test_an_event_that_made_no_row_says_what_it_lacks(informed: Served, page: Page) -> None:
    page.goto(f"{informed.address}/#/statement/offices")
    page.click("text=Why did events make no row?")
    page.wait_for_selector("h2:text-is('Why not? offices')")
    page.wait_for_selector("td.bad:text-is('AF999')")
    row = page.locator("tr:has(td:text-is('AF106'))").first
    assert "fails a condition" in row.inner_text()
    assert page.locator("tr.passes td:text-is('AF105')").count() >= 1
    fails = page.get_by_role("button", name="fails a condition")
    assert fails.get_attribute("aria-pressed") == "true"
    fails.press("Enter")
    assert page.locator("tr:has-text('fails a condition')").count() == 0


def test_an_event_that_advanced_no_partial_match_says_which_comparison_failed(furnished: Served, page: Page) -> None:
    page.goto(f"{furnished.address}/#/why/rising")
    page.wait_for_selector("h3:has-text('b=Temp')")
    # Of both filters the same event: the table tells it alone, its page beside the others.
    page.locator("section:has(h3:has-text('b=Temp')) tbody a").first.press("Enter")
    page.wait_for_selector("h2:text-is('Why not? An event of Temp')")
    failed = page.locator("tr:has-text('b=Temp') li:has(.no)").first.inner_text()
    assert "celsius > a.celsius + 2" in failed or "room = a.room" in failed
    assert " is " in failed
    page.set_viewport_size({"width": 390, "height": 800})
    keep_picture(page, "why-event-narrow")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("text=All newest events")
    page.wait_for_selector("h2:text-is('Why not? rising')")


def test_a_row_that_is_in_no_match_says_which_variable_failed(furnished: Served, page: Page) -> None:
    page.goto(f"{furnished.address}/#/why/climbing/234")
    page.wait_for_selector("tr:has-text('C AS C.celsius < A.celsius') .no")
    ways = page.locator("tr:has-text('B AS B.celsius > PREV(B.celsius)')").first
    assert "PREV(B.celsius) is" in ways.inner_text()
    page.goto(f"{furnished.address}/#/why/inside/402")
    page.wait_for_selector("text=the sequence has probability")
    assert "At(p, 'hall')" in page.inner_text(".chances")


def test_a_match_shows_its_events_at_their_own_times(furnished: Served, page: Page) -> None:
    page.goto(f"{furnished.address}/#/statement/rising")
    page.wait_for_selector("svg circle.event")
    assert page.locator("svg circle.event").count() == 2 * page.locator("svg .match").count()
    assert {"a", "b"} <= set(page.locator("svg text.event").all_text_contents())
    page.click("text=Show as a list")
    before = page.locator(".matches li").count()
    hotter = [{"room": "R0", "celsius": c, "at": moment(1_300 + i)} for i, c in enumerate((30.0, 40.0))]
    furnished.load("Temp", [*hotter, {"room": "R0", "celsius": 1.0, "at": moment(1_400)}])
    page.wait_for_selector(".matches li:text-is('a 09:21:40, b 09:21:41')")
    assert page.locator(".matches li").count() >= before


def test_what_is_known_can_be_walked_through(informed: Served, page: Page) -> None:
    page.goto(f"{informed.address}/#/knowledge")
    page.wait_for_selector("h3:text-is('What offices selects')")
    assert page.locator("tbody tr").count() == 1
    page.fill("#find", "r10")
    page.click(".things a:text-is('R106')")
    page.wait_for_selector("h2:text-is('R106')")
    assert "Lab" in page.inner_text("table >> nth=0")
    page.click("td a:text-is('AF106')")
    page.wait_for_selector("h2:text-is('AF106')")


def test_the_editor_tells_what_a_path_selects_before_it_stands(informed: Served, page: Page) -> None:
    page.goto(f"{informed.address}/#/ask")
    typed = "SELECT e.rate FROM Air e WHERE PATH { ?e c:hasSource/c:hasLocation/a c:Lab }"
    page.fill("textarea", f"PREFIX c: <http://example.org/c#>\n{typed}")
    page.get_by_role("button", name="What it selects").press("Enter")
    page.wait_for_selector("h3:text-is('What its PATHs select')")
    page.wait_for_selector("td a:text-is('R106')")
    assert page.locator("td a:text-is('R105')").count() == 0
    keep_picture(page, "ask-selects")
    assert faults(page) == []
    assert too_faint(page) == []
    page.fill("textarea", "SELECT rate FROM Air")
    page.get_by_role("button", name="What it selects").click()
    page.wait_for_selector("text=The query has no PATH")


def test_an_alert_has_its_revisions_similar_ones_and_buttons(furnished: Served, page: Page, colours: str) -> None:
    assert furnished.engine is not None
    furnished.engine.execute(RECALLING)
    hot = [{"room": "R3", "celsius": 41.0 + i, "at": moment(1_300 + i)} for i in range(3)]
    furnished.load("Temp", [*hot, {"room": "R3", "celsius": 20.0, "at": moment(1_400)}])
    page.emulate_media(color_scheme=colours)
    page.goto(f"{furnished.address}/#/alerts")
    page.wait_for_selector("td:text-is('1 of 8 chunks')")
    keep_picture(page, f"alerts-open-{colours}")
    assert faults(page) == []
    assert too_faint(page) == []
    event = f"R3/{moment(1_302).replace('+00:00', 'Z')}"
    page.click(f"a:text-is('{event}') >> nth=0")
    page.wait_for_selector("h3:text-is('All revisions')")
    assert page.locator("tbody tr").count() == 1
    with page.expect_response("**/api/recalls/continue"):
        page.get_by_role("button", name="Go on").press("Enter")
    furnished.load("Temp", [{"room": "R4", "celsius": 20.0, "at": moment(1_500)}])
    page.wait_for_selector("tbody tr >> nth=1")
    assert faults(page) == []
    assert too_faint(page) == []
    keep_picture(page, f"alert-{colours}")
    with page.expect_response("**/api/recalls/cancel"):
        page.get_by_role("button", name="Cancel").press("Enter")
    furnished.load("Temp", [{"room": "R4", "celsius": 20.0, "at": moment(1_600)}])
    page.wait_for_selector(".card:has-text('done')")
    page.goto(f"{furnished.address}/#/alert/alike/{event.replace('/', '%2F')}")
    page.wait_for_selector("h3:text-is('Has this happened before?')")
    keep_picture(page, f"alike-{colours}")
    assert faults(page) == []
    assert too_faint(page) == []
