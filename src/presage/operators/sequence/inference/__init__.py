"""Inferred streams: hidden Markov models from JSON files, by filtering, smoothing, Viterbi or particles."""
