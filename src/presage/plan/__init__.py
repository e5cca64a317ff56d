"""The logical plan: typed nodes and expressions. Knows neither the language nor Spark."""
