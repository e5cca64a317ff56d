SELECT a.v AS earlier, b.v AS later
FROM Tick#keepall AS a JOIN Tick#lastevent AS b ON a.k = b.k
WHERE a.v < b.v;
