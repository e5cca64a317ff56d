"""One more goal after the input of a safe plan."""
