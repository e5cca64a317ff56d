SELECT k, sum(v) AS total
FROM Tick#keepall
WHERE v > 1
GROUP BY k;
