SELECT t.k, t.x, d.spot.room AS room
FROM Temp#time(3 sec) AS t JOIN Door#time(2 sec) AS d ON t.k = d.k AND t.n <= d.n
WHERE d.open;
