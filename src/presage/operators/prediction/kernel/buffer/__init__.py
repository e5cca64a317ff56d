"""The bounded buffer of update-tuples, and the versions of their intervals."""
