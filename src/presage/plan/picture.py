"""A picture of a plan as SVG, which notebooks display."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """`svg` is the text of a whole SVG file."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'
