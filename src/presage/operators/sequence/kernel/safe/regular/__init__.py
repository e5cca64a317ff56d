"""The first goals of a safe plan by one automaton, over any number of chains."""
