"""Inferred streams: hidden Markov models of a JSON file, whose readings are filtered, smoothed or sampled."""
