"""A bounded buffer of update-tuples, and the versions of intervals that it leads to."""
