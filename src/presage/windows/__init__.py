"""The windows room: EPL's windows, aggregates, window joins, DISTINCT and the output rate."""
