"""Searches for matches: memoised, depth first, and every match of every start row."""
