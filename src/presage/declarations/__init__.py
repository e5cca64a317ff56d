"""CREATE and DROP against the catalog: streams, relations, models, knowledge bases, sinks, statements."""
