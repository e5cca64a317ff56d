SELECT TENTATIVE a.car, b.car, s.id
FROM PREDICTED Gps a JOIN PREDICTED Small b WINDOW 1 sec ON MAY (ABS(a.x - b.x) < 5)
JOIN PREDICTED Temp s ON ABS(s.temp - b.x) <> 7;
