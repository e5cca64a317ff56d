"""Probabilities: chances of terms, their peaks, and the times that are likely enough."""
