"""examples/servers: alerts out of the usual range, and past incidents that were alike."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

from pyspark.sql import SparkSession

from presage import Engine
from presage.scenarios import run_scenarios

FOLDER = Path(__file__).parents[2] / "examples" / "servers"


def test_the_cause_of_an_alert_is_that_of_the_incidents_most_like_it(spark: SparkSession) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        import picture
        import servers

        month = servers.simulate(seed=2, servers=2, incidents=150)
        with Engine(spark) as engine:
            alerts = servers.alerts_of(month, engine)
        told = [servers.told(alert) for alert in alerts]
        words = [servers.words(alerts[0], row) for row in alerts[0].similar]
        load = [row for row in month.events["Load"] if row["server"] == alerts[0].server]
        drawn = ElementTree.fromstring(picture.draw_alert(alerts[0], load, words))
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("picture", "servers", "simulator"):
            sys.modules.pop(name, None)
    assert len(alerts) >= 2
    assert all(len(alert.similar) == 5 and alert.usual["cpu"] > alert.usual["mean"] for alert in alerts)
    assert sum(alert.likely == alert.cause for alert in alerts) >= 0.8 * len(alerts)
    assert all("likely: " in text and "1. " in text for text in told)
    assert len(drawn.findall("{*}rect")) == 2 + 2 * len(alerts[0].similar)
    assert all(same for same, _ in words), "a similar incident has something in common with the alert"


def test_the_questions_about_servers_find_what_they_are_meant_to(spark: SparkSession) -> None:
    make = lambda: Engine(spark, live=False, driven=False, roots=[str(FOLDER)])  # noqa: E731
    outcomes = list(run_scenarios(FOLDER / "servers.test.epl", engine=make))
    assert [outcome.title for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) == 2
