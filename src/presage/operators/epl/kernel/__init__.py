"""The kernel of EPL patterns."""
