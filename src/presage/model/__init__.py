"""The nouns of Presage: types, event types with inheritance, time. Imports nothing else of the project."""
