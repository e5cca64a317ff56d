SELECT k, last(x) AS newest, median(x) AS middle
FROM Temp#groupwin(k)#length(2)
GROUP BY k;
