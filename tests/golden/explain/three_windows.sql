SELECT t.k, d.n, v
FROM Temp#length(2) AS t, Door#unique(k) AS d, Tick#time(5 sec) AS c
WHERE t.k = d.k AND d.k = c.k;
