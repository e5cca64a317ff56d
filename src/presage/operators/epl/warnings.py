"""The checks of EPL patterns that warn; apart from their binding, which a statement without patterns does not load."""

from __future__ import annotations

from presage.operators.epl.guard_cover import check_guards

WARNINGS = (check_guards,)
