SELECT r.floor, sum(t.v) AS total
FROM Tick#time(4 sec) AS t JOIN Room AS r ON t.k = r.k
GROUP BY r.floor;
