"""The same ticks and the same pattern for Presage, Flink SQL and Esper: seconds in one run, side by side."""
