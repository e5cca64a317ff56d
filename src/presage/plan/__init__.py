"""The logical plan: typed nodes and expressions. Independent of the language and of Spark."""
