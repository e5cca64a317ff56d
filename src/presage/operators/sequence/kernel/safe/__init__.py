"""Safe sequences by the algebra of intervals, for many bindings of variables at once."""
