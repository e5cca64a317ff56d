"""Hidden Markov models: filter, smoother, most likely path and particles."""
