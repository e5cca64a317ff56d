SELECT t.k, r.floor, t.v
FROM Tick AS t JOIN Room AS r ON t.k = r.k
WHERE t.v > 1 AND r.floor < 3;
