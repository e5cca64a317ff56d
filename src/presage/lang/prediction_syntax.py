"""Syntax node of prediction: the predicted attributes of a declaration."""

from __future__ import annotations

from presage.lang.syntax import Node
from presage.records import dataclass


@dataclass(frozen=True)
class Predicted(Node):
    """`PREDICTED (x, y)`: attributes that come as functions of time."""

    attributes: tuple[str, ...]
