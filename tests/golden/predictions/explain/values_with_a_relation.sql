SELECT t.id, r.name, t.temp
FROM PREDICTED Temp(temp > 50) t JOIN Room r ON r.id = t.id
WHERE t.id <> 7 AND valid_to - valid_from > 5
VALIDATE EVERY 1 min;
