"""Texts that are in the language: the examples of its description, and one for each form that they leave out."""

from __future__ import annotations

DECLARATIONS = [
    "CREATE SCHEMA CameraEvent (camera STRING, at TIMESTAMP) EVENT TIME at",
    "CREATE STREAM Motion (x DOUBLE, y DOUBLE) INHERITS CameraEvent",
    """CREATE STREAM Fault  (log STRING, tags ARRAY<STRING>, where STRUCT<room STRING, floor INT>)
       INHERITS CameraEvent WITH (source = 'kafka', topic = 'faults', max_delay = '5 sec')""",
    "CREATE RELATION Hall (location STRING) FROM 'hall.csv'          -- small, static",
    "CREATE RELATION CRoom (location STRING) VALUES ('c1'), ('c2')",
    "create schema Event",
    "create schema Empty ()",
    "CREATE STREAM S KEY (a, b) WITH (archive = false, period = -1.5, n = 3, kafka.group.id = 'g') INHERITS A, B",
    "CREATE STREAM S (m MAP<STRING, ARRAY<ARRAY<STRUCT<x INT, y MAP<LONG, BOOLEAN>>>>>, select INT, from LONG)",
    "CREATE STREAM S (at TIMESTAMP) WITH (max_delay = 1 hour 30 min) EVENT TIME at",
    "CREATE STREAM `odd name` (`a b` INT, größe DOUBLE, time TIMESTAMP) EVENT TIME time",
    """CREATE STREAM At (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person)
       PROBABILISTIC (location)            -- or: PROBABILISTIC MARKOV (location)""",
    "CREATE STREAM At KEY (model) PROBABILISTIC MARKOV (markov, `odd name`) WITH (max_delay = '5 sec')",
    "CREATE STREAM At (x STRING) FROM INFERENCE OVER Reading USING MODEL floor (FILTER)",
    "CREATE STREAM At PROBABILISTIC (x) FROM INFERENCE OVER filter USING MODEL smooth SMOOTH EVENT TIME at",
    "create stream At from inference over over using model model (particles 500)",
    "CREATE STREAM At FROM INFERENCE OVER Reading USING MODEL floor VITERBI KEY (person)",
    "CREATE MODEL floor FROM 'floor.json'",
    """CREATE STREAM Gps (car STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
       PREDICTED (x, y) WITH (threshold = 25, period = '30 sec', max_delay = '2 sec')""",
    "CREATE STREAM predicted predicted (predicted, window, `odd name`) WITH (threshold.`odd name` = 0.5, buffer = 3)",
    "CREATE RELATION Limit (sym STRING, low DOUBLE, high DOUBLE) VALUES ('A', -1.5, 2e3), ('B', NULL, 1 + 2 * 3)",
]
QUERIES = [
    "SELECT * FROM Tick",
    "SELECT a.*, b.* FROM A a, B AS b",
    "SELECT sym, avg(price) FROM Tick#time(1 min) GROUP BY sym",
    "SELECT sym, avg(price) AS mean FROM Tick#win:time(5min) GROUP BY sym HAVING avg(price) > 10",
    "SELECT count(*), count(DISTINCT sym), window(price), window(t.*) FROM Tick#length(10) t",
    "SELECT first(price), last(price), min(price), max(price), hour(at) FROM Tick#length_batch(3)",
    "SELECT at, key, count, time, source, all, every, event, values, stream, min, sec, day, month FROM Tick",
    "INSERT INTO Spikes SELECT DISTINCT sym FROM Tick(price > 100, volume > 5)#keepall()",
    "SELECT TENTATIVE sym FROM Tick#groupwin(sym)#length(10)",
    "SELECT sym FROM Tick#unique(sym)#keepall AS t WITHIN [now, ) WHERE t.price > 5",
    "SELECT sym FROM Tick WITHIN [2012-05-07T09:00, )",
    "SELECT sym FROM Tick WITHIN (2012-05-07T09:00:30.25+02:00, '2012-05-08 10:00Z']",
    "SELECT sym FROM Tick WITHIN (, now]",
    "SELECT sym FROM Tick WITHIN [now - 1 hour 30 min, now + 5min)",
    "SELECT sym FROM Tick WITHIN [2012-05-07,2012-05-08)",
    "SELECT sym FROM Tick WITHIN (,)",
    "SELECT sym FROM Tick OUTPUT EVERY 5 sec",
    "SELECT sym FROM Tick OUTPUT LAST EVERY 1.5 hours",
    "SELECT p FROM At WHERE Person(p) WITH PROBABILITY >= 0.3",
    "SELECT p FROM At WITH PROBABILITY > .5 APPROXIMATE (ERROR 0.05, CONFIDENCE 0.95)",
    "SELECT p FROM At APPROXIMATE (CONFIDENCE 0.9)",
    "SELECT a.x FROM A#time(5 min) a JOIN B#lastevent b ON a.k = b.k ANALYSIS EVENT JOIN C ON C.k = 1 ANALYSIS PRESENT",
    "SELECT a.x FROM A#std:firstunique(k) a INNER JOIN Rooms ON a.room = Rooms.name, D",
    "PREFIX bd: <http://cei.usc.edu/Building.owl#> PREFIX : <urn:x;y> SELECT e.x FROM A AS e",
    "SELECT a.where.room, a.tags[0], a.tags.firstOf(), a.tags.lastOf().x, a.m['k'].end FROM Fault a",
    "SELECT CASE WHEN x > 1 THEN 'a' WHEN x > 2 THEN 'b' ELSE 'c' END, CASE x WHEN 1 THEN 2 END FROM T",
    "SELECT CAST(x AS DOUBLE), cast(y as array<struct<a int>>) FROM T",
    "SELECT x FROM T WHERE a IN (1, 2) AND b NOT IN ('x') OR c BETWEEN 1 AND 2 AND d NOT BETWEEN 3 AND 4",
    "SELECT x FROM T WHERE NOT a LIKE 'x%' AND b NOT LIKE '_' AND c IS NULL AND d IS NOT NULL",
    "SELECT x FROM T WHERE (a AND b) AND (c OR d) OR NOT (e OR f)",
    "SELECT -x - -y + +z, - -1, 1 - (2 - 3), (1 - 2) - 3, a || b || c, 7 % 3 * 2 / 1 FROM T",
    "SELECT (a = b) = c, (a < b) IS NULL, (a OR b)[0] FROM T",
    "SELECT 'it''s', \"say \"\"hi\"\"\", 'a\\nb\\\\', \"it's\", '\\d+' FROM T",
    "SELECT 1, 1.5, .5, 1e3, 1E-7, 12345678901234567890, TRUE, false, NULL FROM T",
    "SELECT x FROM T WHERE t1 - t2 > 5 AND d = 500 msec AND e < 1 day 2 hours",
    "SELECT x != 1, x <> 1, x == 1, x = 1, x <= 1, x >= 1 FROM T",
    "SELECT `select`, `odd name`.`a``b` AS `from`, x AS where FROM `group` AS `by`",
    "/* a */ select /* ; */ x -- ;\n from T -- end",
    """SELECT a.camera, b.log
FROM PATTERN [ EVERY a=Motion
               -> (b=Fault(camera = a.camera) AND NOT Reset(camera = a.camera)) WHERE timer:within(30 sec) ]""",
    "SELECT * FROM PATTERN @DiscardPartialsOnMatch @SuppressOverlappingMatches [ a=A OR NOT B ]#time(5 min) AS p, C c",
    "SELECT a[0].x, a.lastOf().x FROM PATTERN [ [2:3] a=A UNTIL b=B(x > 1, y < 2)@consume(2) -[5]> c=C WHILE (c.x > 0) ]",  # noqa: E501
    "SELECT 1 FROM PATTERN [ EVERY-DISTINCT(a.x, a.y, 1 month 2 days) a=A -> [(a.n):(a.m)] B UNTIL timer:interval(5) ]",
    "SELECT 1 FROM PATTERN [ timer:interval(a.v seconds) WHERE timer:withinmax(1 hour, 3) AND [:2] A UNTIL ([3:] B UNTIL C) ]",  # noqa: E501
    "SELECT 1 FROM PATTERN [ EVERY [2] (a=A -> EVERY b=B(b.x IN [0:a.x] AND b.y NOT IN [1:2])) ]",
    """SELECT * FROM Crypto MATCH_RECOGNIZE ( PARTITION BY Crypto.id
         MEASURES B.id AS id, max(A.v) AS M, ((A.firstOf().ts) - (A.lastOf().ts))/86400 AS d
         AFTER MATCH SKIP pastLast PATTERN (A* B)
         DEFINE A AS A.amount >= 1.20 * prev(A.amount) DEFINE B AS B.amount < 0.80 * A.lastOf().amount )""",
    """SELECT m.x FROM T#keepall MATCH_RECOGNIZE ( ORDER BY at, n DESC MEASURES FINAL LAST(A.x, 2) AS x,
         RUNNING sum(x) AS y, PREV(RUNNING FIRST(x), 3) AS z, A[1].x AS w, count(A.*) AS n, CLASSIFIER() AS c,
         MATCH_NUMBER() AS k
         ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO FIRST U
         PATTERN (^ (A | B)*? {- C{2,3} -} PERMUTE(D, E F) () G? H+ I{4} J{,5}? K[2] L[1,] "!" $)
         INTERVAL 5 sec OR TERMINATED GAP 2 sec EMIT TIMEOUT
         SUBSET U = (A, B), V = (C) DEFINE A AS running > 1 ) AS m""",
    "SELECT 1 FROM T MATCH_RECOGNIZE ( PATTERN (MATCH_RECOGNIZE_PERMUTE(A, B)) WITHIN 10 ALL ROWS PER MATCH OMIT EMPTY MATCHES )",  # noqa: E501
    """SELECT p FROM SEQUENCE [ At(p, l1) ; At(p, l2)+{p | Hall(l2)} ; At(p, l3) ]
       WHERE Person(p) AND Office(p, l1) AND CRoom(l3)
       WITH PROBABILITY >= 0.3""",
    "SELECT * FROM SEQUENCE [ At('joe', _, -1.5, 2, TRUE, `_`) ; (B(x) WHERE x > 1 OR y)+ ; C()+{| x IN [1:2]} ] BY MLE",  # noqa: E501
    "SELECT x FROM sequence /* ; */ [ A(x)+{} ; A(x)+{x, y} ; ((A(x) WHERE x + 1 > 2) WHERE y) ; B(x) ] by map WHERE x = 1",  # noqa: E501
    "SELECT sequence[0], probability, error, model, filter, markov, particles FROM sequence AS inference",
    """SELECT a.car, b.car FROM PREDICTED Gps a JOIN PREDICTED Gps b WINDOW 3 sec
       ON ABS(a.x - b.x) <= 400 AND ABS(a.y - b.y) <= 400""",
    "SELECT s.id FROM PREDICTED Temp s WHERE MAY (s.temp > 50) AND MUST (s.temp < 70) VALIDATE EVERY 1 min",
    "select tentative id from predicted Temp(temp > 5, id <> 3) as t, predicted Temp window 1.5 sec with probability > 1",  # noqa: E501
    "SELECT predicted.validate, x AS every FROM predicted, predicted AS p, PREDICTED /* a */ predicted, PREDICTED `as` q",  # noqa: E501
    "SELECT x FROM PREDICTED -- a stream\n Temp WITHIN [now, ) WHERE may = 1 AND must(x) VALIDATE EVERY 500 msec",
    """SELECT e.sid, e.bw, r.mean FROM Overload e
       RECALL LAST 4 weeks ( SELECT avg(h.bw) AS mean, stddev(h.bw) AS sd FROM Traffic h WHERE h.sid = e.sid ) AS r
       WHERE e.bw > r.mean + 2 * r.sd""",
    """SELECT e.*, s.* FROM Failure e
       RECALL SIMILAR 5 ( CONTEXT SELECT u.user FROM Login u WINDOW 5 min,
                          CONTEXT SELECT p.proc, p.load FROM Running p WINDOW 5 min ) AS s""",
    """SELECT 1 FROM A#time(5 min) AS e EVENT ID (e.a, e.b + 1) FINAL RECALL LAST 1 day (
         SELECT DISTINCT h.x FROM T h LEFT OUTER JOIN U AS u WINDOW 3 sec ON u.x = h.x, (SELECT * FROM V) v
         WHERE x IN (SELECT y FROM W) AND NOT EXISTS (SELECT 1) AND h.z > (SELECT max(q) FROM Q) WINDOW 5 min
         GROUP BY h.x HAVING count(*) > 1 ORDER BY running DESC NULLS LAST, y LIMIT 5 ) REPORT EVERY 5 sec r DROP AFTER 1 min
       RECALL SIMILAR 3 ( CONTEXT SELECT e.a, e.b, WITH w AS SELECT * FROM Z BEFORE 5 min AFTER 3 min,
         BANDWIDTH (load = 0.5) ) PAUSE EVERY 4 CHUNKS AS s JOIN Ping#lastevent p ON p.x = s.x ANALYSIS PRESENT""",  # noqa: E501
    "SELECT exists(x), bandwidth(y), bandwidth (z), limit, before, after, similar, left, nulls, of FROM A event",
    "SELECT recalls, order FROM report, pause, drop AS cancel, last id, limit left, event EVENT ID (id) WHERE running",
    "SELECT температура, 温度 FROM Größe",
]
LOOKING = [
    "EXPLAIN SELECT x FROM T",
    "SHOW STREAMS",
    "show statements",
    "SHOW RELATIONS",
    "SHOW MODELS",
    "SHOW RECALLS",
    "CANCEL RECALL 'd1 2012-05-07T09:00:00Z' OF overloads",
    "accelerate recall 'it''s'",
    "CONTINUE RECALL 'x' OF select",
    "DESCRIBE Tick",
    "DROP STREAM Tick",
    "DROP SCHEMA Tick",
    "DROP RELATION Tick",
    "drop statement spikes",
    "DROP MODEL select",
]
ACTING = [
    "CREATE STATEMENT warm AS SELECT room FROM T WHERE x > 1",
    "PREFIX c: <http://e.org/c#> CREATE OR REPLACE STATEMENT warm AS SELECT room FROM T WHERE T.c:heat > 1",
    "create or replace statement `a b` as INSERT INTO X SELECT room FROM T",
    "INSERT INTO T VALUES ('a', 1, '2024-01-01'), ('b', -2.5, NULL)",
    "INSERT INTO T (room, select, at) VALUES ('a', 1, '2024-01-01')",
    "ADVANCE TO '2024-01-01T09:00'",
    "advance advance to '2024-01-01'",
    "ADVANCE `to` TO '2024-01-01'",
    "SCENARIO 'a warm room'",
    "INCLUDE 'rules.epl'",
    "ASSERT warm EMPTY",
    "ASSERT count COUNT 5",
    "ASSERT empty VALUES ('a')",
    "ASSERT warm (room, x) VALUES ('a', 1), ('b', 2) IN ANY ORDER TOLERANCE 0.1",
    "SELECT assert, scenario, advance, include, empty, tolerance, any FROM count",
]
ALL = [*DECLARATIONS, *QUERIES, *LOOKING, *ACTING]
