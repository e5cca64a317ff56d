SELECT k, max(n) AS top FROM Kept#time(2 sec) WHERE n > 1 GROUP BY k;
