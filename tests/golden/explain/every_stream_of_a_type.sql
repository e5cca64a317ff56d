SELECT k, count(*) AS events
FROM Sensor#unique(k, n)
GROUP BY k;
