SELECT e.sid, r.mean, x.room, p.packets, q.bw FROM Overload e
RECALL LAST 4 weeks ( SELECT avg(h.bw) AS mean FROM Traffic h WHERE h.sid = e.sid ) AS r
JOIN Traffic#time(5 min) p ON p.sid = e.sid AND p.bw > r.mean ANALYSIS EVENT
JOIN Room x ON x.sid = e.sid AND e.bw > r.mean ANALYSIS PRESENT
JOIN Traffic#unique(sid) q ON q.sid = p.sid ANALYSIS PRESENT
WHERE q.bw > 10 AND e.note IS NOT NULL
