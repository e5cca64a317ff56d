"""History: every event meets what came before it (LANGUAGE §9)."""
