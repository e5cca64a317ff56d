"""An engine in, the streams and statements that tests of the console look at."""

from __future__ import annotations

import math

from browser.served import Served, moment

STATEMENTS = """
CREATE STREAM Temp (room STRING, celsius DOUBLE, at TIMESTAMP) EVENT TIME at KEY (room);
CREATE STREAM At (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (location);
CREATE STREAM Cart (cart STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (cart)
  PREDICTED (x, y) WITH (threshold = 25, period = '30 sec');
CREATE STATEMENT hot AS SELECT room, celsius FROM Temp WHERE celsius > 24;
CREATE STATEMENT rising AS
  SELECT a.room AS room, a.celsius AS was, b.celsius AS now
  FROM PATTERN [ EVERY a=Temp(celsius > 22) -> b=Temp(room = a.room AND celsius > a.celsius + 2)
                 WHERE timer:within(5 min) ];
CREATE STATEMENT climbing AS
  SELECT room, low, high FROM Temp MATCH_RECOGNIZE (
    PARTITION BY room MEASURES A.celsius AS low, LAST(B.celsius) AS high PATTERN (A B{2,} C) WITHIN 10 min
    DEFINE B AS B.celsius > PREV(B.celsius), C AS C.celsius < A.celsius );
CREATE STATEMENT inside AS
  SELECT p FROM SEQUENCE [ At(p, 'hall') ; At(p, 'lab') ] WITH PROBABILITY >= 0.1;
CREATE STATEMENT near AS
  SELECT a.cart AS one, b.cart AS other FROM PREDICTED Cart a JOIN PREDICTED Cart b WINDOW 3 sec
  ON ABS(a.x - b.x) <= 60 AND ABS(a.y - b.y) <= 60;
"""
CONTEXT = """{ "@context": { "@vocab": "http://example.org/c#", "c": "http://example.org/c#",
  "sensor": { "@id": "c:hasSource", "@type": "@vocab" }, "rate": { "@id": "c:airflow" } } }"""
KNOWN = """
@prefix c: <http://example.org/c#> .
c:R105 a c:Office . c:R106 a c:Lab .
c:AF105 c:hasLocation c:R105 . c:AF106 c:hasLocation c:R106 .
"""
KNOWING = """
CREATE KNOWLEDGE place FROM '{home}/known.ttl' REASONING OWL_RL;
CREATE STREAM Air (sensor STRING, rate DOUBLE, at TIMESTAMP) EVENT TIME at CONTEXT '{home}/air.jsonld';
CREATE STATEMENT offices AS
  PREFIX c: <http://example.org/c#>
  SELECT e.sensor, e.rate FROM Air AS e
  WHERE e.rate > 500 AND PATH {{ ?e c:hasSource/c:hasLocation ?room . ?room a c:Office }};
"""
RECALLING = """
CREATE STATEMENT unusual AS
  SELECT e.room, e.celsius, r.mean, r.readings FROM Temp(celsius > 40) e
  RECALL LAST 1 day ( SELECT avg(h.celsius) AS mean, count(*) AS readings FROM Temp h WHERE h.room = e.room ) AS r
  PAUSE EVERY 1 CHUNKS;
CREATE STATEMENT alike AS
  SELECT e.room, e.celsius, s.rank, s.similarity, s.celsius AS past_celsius, s.at AS past_time FROM Temp(celsius > 40) e
  RECALL SIMILAR 2 ( CONTEXT SELECT e.celsius BANDWIDTH (celsius = 5) ) AS s;
"""
ROOMS, CARTS = 9, 6


def furnish(served: Served) -> None:
    """Declare all of it, and load twenty minutes."""
    assert served.engine is not None
    served.engine.execute(STATEMENTS)
    temperatures = [round(22 + 3 * math.sin(i / 40 + i % ROOMS) + i * 7 % 10 / 10, 1) for i in range(400)]
    served.load(
        "Temp",
        [{"room": f"R{i % ROOMS}", "celsius": t, "at": moment(3 * i)} for i, t in enumerate(temperatures)],
    )
    served.load("At", [row for i in range(40) for row in _whereabouts(i)])
    served.load("Cart", [_update(cart, i) for i in range(40) for cart in range(CARTS)])


def inform(served: Served) -> None:
    """Knowledge, and a statement that asks for it."""
    assert served.engine is not None
    home = served.engine.home
    (home / "known.ttl").write_text(KNOWN)
    (home / "air.jsonld").write_text(CONTEXT)
    served.engine.execute(KNOWING.format(home=home))
    sensors = ("AF105", "AF106", "AF999")
    served.load(
        "Air",
        [{"sensor": sensors[i % 3], "rate": 400.0 + 20 * i, "at": moment(i)} for i in range(12)],
    )


def _whereabouts(step: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for person, phase in (("joe", 0.0), ("sue", 2.0)):
        hall = round(0.5 + 0.45 * math.sin(step / 5 + phase), 3)
        for location, chance in (("hall", hall), ("lab", round(1 - hall, 3))):
            at = moment(10 * step)
            rows.append({"person": person, "location": location, "probability": chance, "at": at})
    return rows


def _update(cart: int, step: int) -> dict[str, object]:
    around, along = step / 6 + cart, step / 5 + 1.3 * cart
    return {
        "cart": f"c{cart}",
        "x_value": 500 + 400 * math.cos(around),
        "x_rate": -6.7 * math.sin(around),
        "y_value": 300 + 250 * math.sin(along),
        "y_rate": 5 * math.cos(along),
        "at": moment(10 * step),
    }
