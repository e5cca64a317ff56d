SELECT e.sid, e.bw, r.mean, r.n, q.m FROM Overload e
RECALL LAST 4 weeks ( SELECT avg(h.bw) AS mean, stddev(h.bw) AS sd, count(*) AS n FROM Traffic h JOIN Room x ON x.sid = h.sid
  WHERE h.sid = e.sid AND h.bw > 0 GROUP BY x.room ) AS r
RECALL LAST 1 hour ( SELECT median(g.bw) AS m FROM Traffic g WHERE g.bw < r.mean ) AS q
WHERE e.bw > 10 AND e.bw > r.mean + 2 * r.sd
