SELECT sum(v) AS total
FROM Tick(v < 100)#length(3)
WHERE k = 'b' OR v > 2;
