"""Types, the catalog of event types, time, permissions, operator state. Imports only `errors` and `logging`."""
