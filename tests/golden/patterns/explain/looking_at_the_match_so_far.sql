SELECT *
FROM Temp MATCH_RECOGNIZE (
  MEASURES FIRST(A.x) AS a, count(C.*) AS c
  PATTERN ((A | B)* C{2,3} {- D -}?) WITHIN 5 min GAP 1 min EMIT TIMEOUT
  DEFINE A AS x > 3, B AS x > avg(A.x), C AS upper(C.k) = concat(A.k, B.k)
);
