SELECT a.car, b.car
FROM PREDICTED Gps a JOIN PREDICTED Gps b WINDOW 3 sec ON ABS(a.x - b.x) <= 400 AND ABS(a.y - b.y) <= 400
WHERE a.car < b.car AND a.x > 1000
WITH PROBABILITY >= 0.5;
