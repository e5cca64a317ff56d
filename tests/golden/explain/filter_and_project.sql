SELECT k, n * 2 AS twice, tags.lastOf() AS tag
FROM Temp#time(1 min)
WHERE x > 0.5 * 2 - 1 AND k IN ('a', 'b') AND NOT Room(k, 4);
