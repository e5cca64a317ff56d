"""The filter step: pairs of boxes that overlap in time and space, by a grid of cells."""
