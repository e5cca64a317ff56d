"""The syntax tree of prediction: what a declaration says of predicted attributes (LANGUAGE §8)."""

from __future__ import annotations

from dataclasses import dataclass

from presage.lang.syntax import Node


@dataclass(frozen=True)
class Predicted(Node):
    """`PREDICTED (x, y)`: attributes that come as functions of time."""

    attributes: tuple[str, ...]
