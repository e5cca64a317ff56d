SELECT k, count(*) AS events
FROM Sensor#time_batch(2 sec)
WITHIN (2024-03-01T09:00:01, 2024-03-01T09:00:09)
GROUP BY k;
