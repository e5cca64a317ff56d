"""Names, scopes and types of expressions: what every capability binds its clauses with."""
