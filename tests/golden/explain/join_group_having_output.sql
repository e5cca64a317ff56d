SELECT t.k, count(*) AS pairs, max(d.n) AS most
FROM Temp#time(3 sec) AS t JOIN Door#time(3 sec) AS d ON t.k = d.k
GROUP BY t.k
HAVING count(*) > 1
OUTPUT LAST EVERY 2 sec;
