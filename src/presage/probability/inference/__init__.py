"""Readings in, probabilistic streams out: hidden Markov models of a JSON file, filtered, smoothed or sampled."""
