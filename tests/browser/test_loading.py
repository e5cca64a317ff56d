"""A file of one's own, from the disk to an answer, in the browser."""

from __future__ import annotations

from pathlib import Path

from browser.chromium import Page, keep_picture
from browser.page_checks import faults, too_faint
from browser.served import Served

DOORS = """Door,Card No,Result,Time
A1,00417,ok,2024-03-01 08:59:12
A1,00981,denied,2024-03-01 09:00:03
B2,00417,ok,2024-03-01 09:02:00
"""


def test_a_file_is_declared_loaded_and_asked(served: Served, page: Page, tmp_path: Path, colours: str) -> None:
    (tmp_path / "doors.csv").write_text(DOORS, encoding="utf-8")
    page.emulate_media(color_scheme=colours)
    page.goto(f"{served.address}/#/streams")
    page.set_input_files("#file", tmp_path / "doors.csv")
    page.wait_for_selector("li:text-is('doors.csv: 3 events')")
    assert "`Card No` STRING" in page.input_value("textarea")
    assert (faults(page), too_faint(page)) == ([], [])
    keep_picture(page, f"load-{colours}")
    page.get_by_role("button", name="Load").press("Enter")
    page.wait_for_selector("text=3 events loaded into Doors.")
    page.click("text=Ask Doors")
    page.wait_for_selector("textarea:focus")
    assert page.input_value("textarea") == "SELECT * FROM Doors"


def test_a_file_goes_into_a_stream_that_there_is_and_a_wrong_one_says_why(
    served: Served, page: Page, tmp_path: Path
) -> None:
    assert served.engine is not None
    served.engine.execute("CREATE STREAM Doors (Door STRING, Time TIMESTAMP) EVENT TIME Time;")
    (tmp_path / "more.csv").write_text(DOORS + "C3,1,ok,yesterday\n", encoding="utf-8")
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    page.goto(f"{served.address}/#/streams")
    page.set_input_files("#file", tmp_path / "notes.csv")
    page.wait_for_selector("text=no column holds times as ISO 8601 writes them")
    page.set_input_files("#file", tmp_path / "more.csv")
    page.wait_for_selector("#into option:text-is('Doors')", state="attached")
    page.select_option("#into", "Doors")
    page.get_by_role("button", name="Load").click()
    page.wait_for_selector("text=3 events loaded into Doors, 1 rejected.")
