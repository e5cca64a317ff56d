"""Syntax node of prediction: the predicted attributes of a declaration."""

from __future__ import annotations

from dataclasses import dataclass

from presage.lang.syntax import Node


@dataclass(frozen=True)
class Predicted(Node):
    """`PREDICTED (x, y)`: attributes that come as functions of time."""

    attributes: tuple[str, ...]
