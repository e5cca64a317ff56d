SELECT e.sid, s.rank, s.sid AS past FROM Overload e
RECALL LAST 4 weeks ( SELECT avg(h.bw) AS mean FROM Traffic h WHERE h.sid = e.sid ) AS r
RECALL SIMILAR 5 ( CONTEXT SELECT r.mean, e.note,
                   CONTEXT SELECT q.n, t.packets FROM Traffic t WINDOW 5 min RECALL LAST 1 day ( SELECT count(*) AS n FROM Overload o ) AS q
                   WHERE t.sid = e.sid ) AS s
