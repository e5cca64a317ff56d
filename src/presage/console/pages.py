"""HTML of the pages: the head that all share, and the body of each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"
HEAD = "head.html"
PAGES = {"/": "index.html", "/api": "api.html"}  # by path; none of them holds data


@cache
def page(name: str) -> str:
    """Files of pages begin where their heads differ."""
    return (STATIC / HEAD).read_text("utf-8") + (STATIC / name).read_text("utf-8")
