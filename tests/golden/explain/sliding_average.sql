SELECT k, avg(x) AS mean, count(*) AS events
FROM Temp#time(3 sec)
WHERE x IS NOT NULL
GROUP BY k;
