SELECT a.k, b[0].x
FROM PATTERN [ EVERY-DISTINCT(a.k) a=Tick -> b=Temp(n > a.v) UNTIL c=Door(open) ];
