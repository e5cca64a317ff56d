SELECT k, count(*) AS v FROM Kept#time(2 sec) GROUP BY k;
