"""`presage demo`: the smart building of the EPL paper: its events, five queries, their rows."""

from __future__ import annotations

from presage.cli.failures import reported
from presage.cli.options import Debug


def demo(debug: Debug = False) -> None:
    """Show a smart building: events of cameras and thermometers, five queries and what they find."""
    with reported(debug=debug):
        # Here, since the other commands need none of it.
        from presage.cli.demonstration import demonstrate

        demonstrate()
