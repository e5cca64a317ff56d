"""Plan -> running Spark job: session profile, types, expressions, and the batch driver."""
