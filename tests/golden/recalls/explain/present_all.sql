SELECT e.sid, q.bw FROM Overload e
FINAL RECALL ( SELECT max(h.bw) AS most FROM Traffic h WHERE h.sid = e.sid ) AS r
JOIN Traffic q ON q.bw = r.most ANALYSIS PRESENT
