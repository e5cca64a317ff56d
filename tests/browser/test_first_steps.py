"""What a new user sees first: an empty home, the menu, a file that was loaded, completed names, a crowded line."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.chromium import Page, keep_picture
from browser.served import Served, moment
from browser.test_loading import DOORS

VIEWS = ("board", "ask", "map", "alerts", "knowledge", "streams")
# Texts of a picture that lie over each other.
OVERPRINTED = """
() => {
  const found = [...document.querySelectorAll("figure svg text")];
  const texts = found.map((text) => [text.textContent, text.getBoundingClientRect()]);
  const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5;
  const meet = (a, b) => across(a, b) && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const over = ([, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([two]) => `${texts[i][0]} / ${two}`);
  return texts.flatMap(over);
}
"""


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_that_is_missing_is_spelled_out(served: Served, page: Page, view: str) -> None:
    page.goto(f"{served.address}/#/{view}")
    page.wait_for_selector("h2")
    page.wait_for_timeout(200)
    keep_picture(page, f"empty-{view}")
    words = page.inner_text("body").split()
    assert not {"null", "undefined", "NaN", "[object"} & set(words)


@pytest.mark.parametrize(
    ("address", "lit"),
    [
        ("", "Board"),
        ("#/nothing", "Board"),
        ("#/statement/hot", "Board"),
        ("#/why/hot", "Board"),
        ("#/knowledge", "Knowledge"),
        ("#/streams", "Streams"),
        ("#/ask", "Ask"),
    ],
)
def test_the_menu_lights_where_one_is(furnished: Served, page: Page, address: str, lit: str) -> None:
    page.goto(f"{furnished.address}/{address}")
    page.wait_for_selector("h2")
    assert page.locator("nav a[aria-current=page]").all_inner_texts() == [lit]


def test_a_file_that_was_loaded_is_listed_at_once(served: Served, page: Page, tmp_path: Path) -> None:
    (tmp_path / "doors.csv").write_text(DOORS, encoding="utf-8")
    page.goto(f"{served.address}/#/streams")
    page.wait_for_selector("text=No stream is declared yet")
    page.set_input_files("#file", tmp_path / "doors.csv")
    page.get_by_role("button", name="Load").click()
    page.wait_for_selector("text=3 events loaded into Doors.")
    page.wait_for_selector("td:text-is('Doors')")
    assert page.locator("text=No stream is declared yet").count() == 0
    # Where its events come from, which is not where they are kept: the home is on a disk.
    assert "memory" not in page.inner_text("main")
    keep_picture(page, "loaded")
    (tmp_path / "more.csv").write_text(DOORS, encoding="utf-8")
    page.set_input_files("#file", tmp_path / "more.csv")
    page.wait_for_selector("#into option:text-is('Doors')", state="attached")


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("SELECT in", "indoors"),
        ("SELECT indoors FROM Ra", "Rain"),
        ("SE", "SELECT"),
        ("SELECT indoors FROM Rain WHERE in", "indoors"),
        ("SELECT indoors FROM Rain WHER", "WHERE"),
    ],
)
def test_the_only_column_is_offered_before_words_of_the_language(
    served: Served, page: Page, typed: str, first: str
) -> None:
    assert served.engine is not None
    served.engine.execute("CREATE STREAM Rain (indoors STRING, at TIMESTAMP) EVENT TIME at;")
    page.goto(f"{served.address}/#/ask")
    page.wait_for_selector("textarea:focus")
    page.keyboard.type(typed)
    page.wait_for_selector(".choices li")
    assert page.locator(".choices li").first.inner_text().split()[0] == first


def test_names_on_a_crowded_line_of_time_do_not_overprint(served: Served, page: Page) -> None:
    assert served.engine is not None
    served.engine.execute("""
        CREATE STREAM Temp (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at KEY (room);
        CREATE STATEMENT pairs AS SELECT beginning.room AS room
        FROM PATTERN [ EVERY beginning=Temp -> continuation=Temp(room = beginning.room) ];
    """)
    served.load("Temp", [{"room": f"R{i % 20}", "celsius": 1.0, "at": moment(7 * i)} for i in range(120)])
    page.goto(f"{served.address}/#/statement/pairs")
    page.wait_for_selector("svg text.event")
    page.wait_for_timeout(1_000)
    keep_picture(page, "crowded")
    assert page.locator("svg text.event").count() > 5
    assert page.evaluate(OVERPRINTED) == []


def test_times_of_years_do_not_overprint(served: Served, page: Page) -> None:
    assert served.engine is not None
    served.engine.execute("""
        CREATE STREAM Temp (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at KEY (room);
        CREATE STATEMENT all_of_it AS SELECT room, celsius FROM Temp;
    """)
    served.load(
        "Temp",
        [
            {"room": "R1", "celsius": 1.0, "at": f"{year}-0{month}-01T00:00:00Z"}
            for year in range(2015, 2024)
            for month in range(1, 10)
        ],
    )
    page.goto(f"{served.address}/#/statement/all_of_it")
    page.wait_for_selector("svg .past")
    keep_picture(page, "years")
    assert page.locator("figure svg text").count() > 3
    assert page.evaluate(OVERPRINTED) == []
