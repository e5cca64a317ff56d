SELECT t.k, sum(t.x) AS total
FROM Temp#time(2 sec) AS t JOIN Door#groupwin(k)#length(1) AS d ON d.k = t.k
GROUP BY t.k;
