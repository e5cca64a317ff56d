SELECT k, max(n) AS most
FROM Sensor#time_batch(2 sec)
GROUP BY k
HAVING count(*) > 1;
