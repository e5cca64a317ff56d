"""Windows over streams: what they hold, aggregates and joins over it, and how an extension registers its own."""

from presage.operators.windows.window_types import WindowType, register_window

__all__ = ["WindowType", "register_window"]
