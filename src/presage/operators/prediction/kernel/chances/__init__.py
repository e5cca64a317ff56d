"""Probabilities: chances of terms, their peaks, and the times at which they reach p."""
