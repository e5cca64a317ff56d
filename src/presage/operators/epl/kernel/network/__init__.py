"""The compiled loop of EPL patterns: a network of running terms."""
