SELECT t.k, count(*) AS pairs
FROM Temp#time(2 sec) AS t JOIN Busy#length(2) AS b ON t.k = b.k
GROUP BY t.k;
