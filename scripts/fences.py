"""A hook of MkDocs: a page's Markdown in, the same without the marks that only the tests of the examples read.

The Markdown library takes ```sql fails=SYNTAX for plain text, because of the second word.
"""

from __future__ import annotations

import re
from typing import Any

MARKED = re.compile(r"^```(\w+) .*$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return MARKED.sub(r"```\1", markdown)
