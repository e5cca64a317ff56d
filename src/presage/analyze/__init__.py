"""Names, scopes and types of expressions, shared by the binders of all capabilities."""
