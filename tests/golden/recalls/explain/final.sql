SELECT e.sid, r.worst FROM Overload e
FINAL RECALL ( SELECT h.sid AS worst FROM Traffic h WHERE h.bw > (SELECT avg(g.bw) AS mean FROM Traffic g WHERE g.sid = e.sid)
  ORDER BY h.bw DESC LIMIT 3 ) AS r
