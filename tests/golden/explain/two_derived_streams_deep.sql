SELECT k, sum(v) AS total
FROM Counts#length(3)
WHERE v > 0;
