"""Regions of (t_a, t_b): lines, strips of values, and the intervals of time at which two segments match."""
