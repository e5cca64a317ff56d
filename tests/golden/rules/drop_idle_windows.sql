SELECT k, x
FROM Temp#time(1 min)
WHERE n > 0;
