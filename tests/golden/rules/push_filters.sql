SELECT s.k, r.floor
FROM Sensor#time(2 sec) AS s, Warm#length(2) AS w, Room AS r
WHERE s.n > 0 AND w.x > 0.5 AND s.k = w.k AND r.k = s.k AND r.floor > 1;
