"""The pictures of the console in the documentation, made of a small campus; `make pictures` puts them there."""

from __future__ import annotations

from itertools import islice

import pytest

from browser.chromium import Page, keep_picture
from browser.page_checks import faults
from browser.served import Served
from presage.demo.campus_live import DECLARATIONS, STATEMENTS, LiveCampus
from presage.demo.campus_ontology import read
from presage.live.deployment import Deployment

SENSORS, MINUTES = 2_000, 40


@pytest.fixture
def campus(served: Served) -> LiveCampus:
    """The campus of `presage demo campus`, a day old, with its statements."""
    assert served.engine is not None
    made = LiveCampus(SENSORS)
    made.write(served.engine.home)
    served.engine.execute(read(DECLARATIONS), DECLARATIONS)
    for stream, events in made.history():
        served.engine.load(stream, events)
    served.engine.execute(read(STATEMENTS), STATEMENTS)
    return made


def test_the_pictures_of_the_documentation(campus: LiveCampus, served: Served, page: Page) -> None:
    engine = served.engine
    assert engine is not None
    page.set_viewport_size({"width": 1340, "height": 560})
    page.goto(f"{served.address}/#/board")
    page.wait_for_selector("text=warm_rooms")
    for minute in islice(campus.minutes(), MINUTES):
        for stream, rows in minute.items():
            engine.load(stream, rows)
        for deployment in engine.deployments.values():
            if deployment.status.state == "running":
                deployment.drain()
        page.wait_for_timeout(300)
    page.wait_for_selector("tr:has-text('peaks_since_yesterday'):has-text('finished')")
    assert page.locator("tr:has-text('running')").count() == 8
    keep_picture(page, "console-board")
    assert faults(page) == []

    page.set_viewport_size({"width": 1280, "height": 960})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{served.address}/#/map")
    page.wait_for_selector(".map .dot")
    page.wait_for_timeout(1_200)
    keep_picture(page, "console-map")

    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme="light")
    page.goto(f"{served.address}/#/alerts")
    page.click("tr:has-text('power_as_before') a:has-text('T09:') >> nth=0")
    page.wait_for_selector("h3:text-is('Has this happened before?')")
    keep_picture(page, "console-alert")

    page.goto(f"{served.address}/#/why/air_surges/{_met_its_own_key(engine.deployments['air_surges'])}")
    page.wait_for_selector("tr:has-text('b=AirflowReport') li:has(.no)")
    keep_picture(page, "console-why")


def _met_its_own_key(pattern: Deployment) -> int:
    """The number of an event that met a partial match of its sensor: one comparison holds, the other fails."""
    for number in pattern.why()[0].numbers:
        for chance in pattern.why_event(number)[0].chances:
            if chance.so_far and any(answer.holds for answer in chance.answers):
                return number
    raise AssertionError("no event met a partial match of its key")
