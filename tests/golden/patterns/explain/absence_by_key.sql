SELECT a.k, b.x
FROM PATTERN [ EVERY a=Tick(v > 3) -> (b=Temp(k = a.k AND x > 1) AND NOT Door(k = a.k)) WHERE timer:within(30 sec) ];
