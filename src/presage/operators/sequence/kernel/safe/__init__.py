"""Safe sequences: the algebra of intervals, for many bindings of variables at once."""
